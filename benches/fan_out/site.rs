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
pub(crate) const LONG_TIMEOUT: u64 = 5_000;

pub(crate) struct Site {
    trawl: Server,
    token: String,
    _prepared: DataDirectory,
}

pub(crate) struct Source<'a> {
    /// Also its name.
    pub(crate) id: &'a str,
    pub(crate) address: SocketAddr,
    pub(crate) path: &'a str,
    /// Milliseconds.
    pub(crate) timeout: u64,
    pub(crate) hedging: bool,
    /// Filters take the same rows out of the same answer, in processes of their own.
    pub(crate) mapped: bool,
}

impl Site {
    pub(crate) fn start(settings: &[(&str, &str)]) -> Self {
        // Caching would hide the calls. The sources are local and need no token.
        let usual = [
            ("CACHE__FRESH_MS", "0"),
            ("CACHE__STALE_MS", "0"),
            ("CONNECTORS__ALLOW_HTTP_HOSTS", "127.0.0.1"),
            ("CONNECTORS__ALLOW_AUTH_NONE", "true"),
            // Source failures appear in the tables.
            ("LOG__FILTER", "error"),
        ];
        let prepared = DataDirectory::new(Kind::Admin);
        let trawl = Server::trawl(prepared.directory.path(), &[&usual, settings].concat());
        let token = trawl.token(&prepared);
        Self { trawl, token, _prepared: prepared }
    }

    /// Registers these sources, and a module of them.
    pub(crate) fn register<'a>(&self, module: &str, sources: impl IntoIterator<Item = Source<'a>>) {
        block_on(async {
            let mut connection = Connection::open(self.trawl.address).await;
            let mut ids = Vec::new();
            for Source { id, address, path, timeout, hedging, mapped } in sources {
                let mut form = json!({
                    "id": id,
                    "name": id,
                    "url": format!("http://{address}{path}"),
                    "auth": {"type": "NONE"},
                    "timeoutMs": timeout,
                    "pageSize": SOURCE_ITEMS,
                    "maxConcurrency": 64,
                });
                if hedging {
                    form["hedging"] = true.into();
                }
                if mapped {
                    form["kind"] = "mapping".into();
                    form["method"] = "GET".into();
                    form["order"] = "time".into();
                    form["mapping"] = mapping();
                }
                connection.call(&self.admin("sources", &form)).await;
                ids.push(id.to_owned());
            }
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

fn mapping() -> serde_json::Value {
    json!({
        "paging": "cursor",
        "request": {"query": "{keyword: $keyword, limit: $limit, cursor: $cursor}"},
        "answer": {
            "rows": ".data[]",
            "id": ".id",
            "title": ".title",
            "displayTime": ".displayTime",
            "action": ".action",
            "total": ".total",
            "next": ".nextCursor?",
        },
    })
}
