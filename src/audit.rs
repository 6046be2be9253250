//! Who did what to which tenant, application, user or secret: a row in the deed's own transaction, and a log event once that
//! is durable.
//!
//! Neither ever holds a secret. Rows outlive what they tell of.

pub mod kept;

use std::sync::Arc;

use sea_orm::{ConnectionTrait, DbErr, Value};
use serde_json::Map;

use crate::{
    auth::{caller::Caller, tenants::Tenant},
    store::{ROWS_PER_STATEMENT, Transaction, now_millis, sql},
};

/// Who does something.
#[derive(Clone, Debug, Default)]
pub struct Actor {
    /// The application; without it, it is the command line of the data directory.
    client_id: Option<Arc<str>>,
    /// The person for whom it acts, or who operates the server: the id on the synchronising side.
    user_id: Option<String>,
}

impl Actor {
    /// The caller of a request.
    pub fn caller(caller: &Caller) -> Self {
        Self { client_id: Some(Arc::clone(&caller.client_id)), user_id: caller.user_id().map(str::to_owned) }
    }

    /// An application that has proved itself without a token.
    pub fn application(client_id: &str) -> Self {
        Self { client_id: Some(client_id.into()), user_id: None }
    }

    /// Whoever may write to the data directory.
    pub fn command_line() -> Self {
        Self::default()
    }
}

/// One thing that was done.
#[derive(Clone, Debug)]
pub struct Deed {
    /// What was done: `create`, `change`, `delete`, `freeze`, `rotate` …
    pub action: &'static str,
    /// To what: `tenant`, `application`, `user`, `department`, `device`, `signing-key` …
    pub object_kind: &'static str,
    /// To which one.
    pub object_id: String,
    /// What else there is to say: names of changed fields, never a secret.
    pub details: Map<String, serde_json::Value>,
}

impl Deed {
    /// A deed of which nothing else is to be said.
    pub fn new(action: &'static str, object_kind: &'static str, object_id: impl Into<String>) -> Self {
        Self { action, object_kind, object_id: object_id.into(), details: Map::new() }
    }

    /// With one thing more to say.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<serde_json::Value>) -> Self {
        self.details.insert(name.to_owned(), value.into());
        self
    }
}

/// Deeds of one request that are each a log event of their own; of more, their number is logged.
const LOGGED_ONE_BY_ONE: usize = 10;

/// Keeps what is done in this transaction.
pub async fn record(
    transaction: &Transaction,
    actor: &Actor,
    tenant: &Tenant,
    deeds: Vec<Deed>,
) -> Result<(), DbErr> {
    let at = now_millis();
    for portion in deeds.chunks(ROWS_PER_STATEMENT) {
        let text = format!(
            "INSERT INTO audit (at, tenant_id, tenant_code, client_id, user_id, action, object_kind, object_id, details) \
             VALUES {}",
            vec!["(?, ?, ?, ?, ?, ?, ?, ?, ?)"; portion.len()].join(", ")
        );
        let values = portion.iter().flat_map(|deed| {
            [
                Value::from(at),
                tenant.id.into(),
                tenant.code.as_str().into(),
                actor.client_id.as_deref().into(),
                actor.user_id.as_deref().into(),
                deed.action.into(),
                deed.object_kind.into(),
                deed.object_id.as_str().into(),
                serde_json::Value::Object(deed.details.clone()).to_string().into(),
            ]
        });
        transaction.execute_raw(sql(text, values)).await?;
    }
    let (actor, tenant) = (actor.clone(), tenant.code.clone());
    transaction.after_commit(move || log(&actor, &tenant, &deeds));
    Ok(())
}

fn log(actor: &Actor, tenant: &str, deeds: &[Deed]) {
    let client_id = actor.client_id.as_deref().unwrap_or("command line");
    let user_id = actor.user_id.as_deref();
    if deeds.len() > LOGGED_ONE_BY_ONE {
        tracing::info!(target: "trawl::audit", client_id, user_id, tenant, deeds = deeds.len(), "many deeds; the audit table has each");
        return;
    }
    for Deed { action, object_kind, object_id, details } in deeds {
        let details = serde_json::Value::Object(details.clone());
        tracing::info!(target: "trawl::audit", client_id, user_id, tenant, action, object_kind, object_id, %details, "done");
    }
}
