//! Audit log: a row in the action's transaction, an event after commit.
//!
//! Neither holds secrets. Rows outlive their objects.

pub mod records;

use std::sync::Arc;

use serde::Serialize;
use serde_json::Map;

use crate::{
    error::{Error, Result},
    identity::tenant::Tenant,
    store::{self, ROWS_PER_STATEMENT, Transaction, Value, now_millis, sql},
};

/// The author of an action.
#[derive(Clone, Debug, Default)]
pub struct Actor {
    /// Application; `None` for the command line.
    client_id: Option<Arc<str>>,
    /// The person behind the call or the session, by synchronised id.
    user_id: Option<String>,
}

impl Actor {
    /// An application, and the person it acts for.
    pub fn new(client_id: Arc<str>, user_id: Option<String>) -> Self {
        Self { client_id: Some(client_id), user_id }
    }

    /// An application authenticated without a token.
    pub fn application(client_id: &str) -> Self {
        Self { client_id: Some(client_id.into()), user_id: None }
    }

    /// The command line of the data directory.
    pub fn command_line() -> Self {
        Self::default()
    }
}

/// One audited action.
#[derive(Clone, Debug)]
pub struct AuditEvent {
    /// The action: `create`, `change`, `delete`, `freeze`, `rotate` …
    pub action: &'static str,
    /// The kind of object: `tenant`, `application`, `user`, `department`, `device`, `signing-key` …
    pub object_kind: &'static str,
    /// Object id.
    pub object_id: String,
    /// Details, such as names of changed fields; never a secret.
    pub details: Map<String, serde_json::Value>,
}

impl AuditEvent {
    /// An action without details.
    pub fn new(action: &'static str, object_kind: &'static str, object_id: impl Into<String>) -> Self {
        Self { action, object_kind, object_id: object_id.into(), details: Map::new() }
    }

    /// A change with the names of its fields; `None` if none differs.
    ///
    /// # Errors
    /// 500 if the object is not JSON.
    pub fn change<T: Serialize>(
        object_kind: &'static str,
        object_id: impl Into<String>,
        before: &T,
        after: &T,
    ) -> Result<Option<Self>> {
        let fields = |object: &T| serde_json::to_value(object).map_err(Error::internal);
        let (before, after) = (fields(before)?, fields(after)?);
        let names = after.as_object().into_iter().flat_map(Map::keys);
        let changed: Vec<&str> =
            names.map(String::as_str).filter(|name| before.get(name) != after.get(name)).collect();
        let event = || Self::new("change", object_kind, object_id).with("fields", changed.as_slice());
        Ok((!changed.is_empty()).then(event))
    }

    /// Adds a detail.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<serde_json::Value>) -> Self {
        self.details.insert(name.to_owned(), value.into());
        self
    }
}

/// Above this number per request, only their count is logged.
const LOGGED_ONE_BY_ONE: usize = 10;

/// Records the actions in this transaction.
pub async fn record(
    transaction: &Transaction,
    actor: &Actor,
    tenant: &Tenant,
    events: Vec<AuditEvent>,
) -> store::Result<()> {
    let at = now_millis();
    for portion in events.chunks(ROWS_PER_STATEMENT) {
        let text = format!(
            "INSERT INTO audit (at, tenant_id, tenant_code, client_id, user_id, action, object_kind, object_id, details) \
             VALUES {}",
            vec!["(?, ?, ?, ?, ?, ?, ?, ?, ?)"; portion.len()].join(", ")
        );
        let values = portion.iter().flat_map(|event| {
            [
                Value::from(at),
                tenant.id.into(),
                tenant.code.as_str().into(),
                actor.client_id.as_deref().into(),
                actor.user_id.as_deref().into(),
                event.action.into(),
                event.object_kind.into(),
                event.object_id.as_str().into(),
                serde_json::Value::Object(event.details.clone()).to_string().into(),
            ]
        });
        sql(text, values).execute(transaction).await?;
    }
    let (actor, tenant) = (actor.clone(), tenant.code.clone());
    transaction.after_commit(move || log(&actor, &tenant, &events));
    Ok(())
}

fn log(actor: &Actor, tenant: &str, events: &[AuditEvent]) {
    let client_id = actor.client_id.as_deref().unwrap_or("command line");
    let user_id = actor.user_id.as_deref();
    if events.len() > LOGGED_ONE_BY_ONE {
        tracing::info!(
            target: "trawl::audit", client_id, user_id, tenant, deeds = events.len(),
            "many audit records at once; the audit table lists each"
        );
        return;
    }
    for AuditEvent { action, object_kind, object_id, details } in events {
        let details = serde_json::Value::Object(details.clone());
        tracing::info!(target: "trawl::audit", client_id, user_id, tenant, action, object_kind, object_id, %details, "done");
    }
}
