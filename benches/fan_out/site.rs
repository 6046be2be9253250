//! A trawl server with registered external sources.

use std::net::SocketAddr;

use serde_json::json;
use trawl::auth::applications::Kind;

use crate::{
    common::{
        data_directory::DataDirectory,
        load::{Connection, NUMBER, Target, block_on},
        server::Server,
    },
    peers::SOURCE_ITEMS,
};

/// Milliseconds; never reached.
const SOURCE_TIMEOUT: u64 = 5_000;

pub(crate) struct Site {
    trawl: Server,
    token: String,
    _prepared: DataDirectory,
}

impl Site {
    pub(crate) fn start() -> Self {
        // Caching would hide the calls. The sources are local and need no token.
        let settings = [
            ("CACHE__FRESH_MS", "0"),
            ("CACHE__STALE_MS", "0"),
            ("CONNECTORS__ALLOW_HTTP_HOSTS", "127.0.0.1"),
            ("CONNECTORS__ALLOW_AUTH_NONE", "true"),
            // Source failures appear in the tables.
            ("LOG__FILTER", "error"),
        ];
        let prepared = DataDirectory::new(Kind::Admin);
        let trawl = Server::trawl(prepared.directory.path(), &settings);
        let token = trawl.token(&prepared);
        Self { trawl, token, _prepared: prepared }
    }

    /// Registers sources, given by id and path, and a module of them.
    pub(crate) fn register(&self, module: &str, address: SocketAddr, sources: &[(String, String)]) {
        block_on(async {
            let mut connection = Connection::open(self.trawl.address).await;
            for (id, path) in sources {
                let form = json!({
                    "id": id,
                    "name": id,
                    "url": format!("http://{address}{path}"),
                    "auth": {"type": "NONE"},
                    "timeoutMs": SOURCE_TIMEOUT,
                    "pageSize": SOURCE_ITEMS,
                    "maxConcurrency": 64,
                });
                connection.call(&self.admin("sources", &form)).await;
            }
            let ids: Vec<&str> = sources.iter().map(|(id, _)| id.as_str()).collect();
            let form = json!({"name": module, "code": module, "type": 100, "sources": ids});
            connection.call(&self.admin("modules", &form)).await;
        });
    }

    fn admin(&self, what: &str, form: &serde_json::Value) -> Target {
        Target {
            address: self.trawl.address,
            method: "POST",
            path: format!("/admin/v1/{what}"),
            token: Some(self.token.clone()),
            body: Some(form.to_string()),
            expected: "\"code\":200".to_owned(),
        }
    }

    /// Each search has its own keyword, so that no call is shared.
    pub(crate) fn search(&self, module: &str, timeout: u64, expected: String) -> Target {
        Target {
            address: self.trawl.address,
            method: "POST",
            path: format!(
                "/contents/search?moduleId={module}&keyword=contract{NUMBER}&limit={SOURCE_ITEMS}&timeout={timeout}"
            ),
            token: Some(self.token.clone()),
            body: None,
            expected,
        }
    }
}
