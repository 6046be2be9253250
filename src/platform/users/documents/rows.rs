use serde::Deserialize;

use super::PEOPLE;
use crate::{
    error::Result,
    platform::shared::documents::DocumentRows,
    store::{FromRow, ROWS_PER_STATEMENT, Store, Transaction, Value, sql},
};

/// Rows of visible people.
pub const ROWS: DocumentRows = DocumentRows {
    table: "users",
    columns: "sequence, tenant_id, user_id, login_id, name, mobile, org_id, deputy_org_ids, secret_level, details, picture, \
        created_at",
    from: "users WHERE NOT is_hidden AND NOT is_deleted AND",
    tenant: "tenant_id",
    id: "user_id",
    sequence: "sequence",
};

const ADDRESS: &str = "pictures_below";

#[derive(Clone, Debug, FromRow)]
pub(super) struct PersonRow {
    pub(super) sequence: i64,
    pub(super) tenant_id: i64,
    pub(super) user_id: String,
    pub(super) login_id: String,
    pub(super) name: String,
    pub(super) mobile: Option<String>,
    pub(super) org_id: Option<String>,
    pub(super) deputy_org_ids: String,
    pub(super) secret_level: i64,
    pub(super) details: String,
    pub(super) picture: Option<String>,
    pub(super) created_at: i64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Details {
    pub(super) user_num: Option<String>,
    pub(super) full_name: Option<String>,
    pub(super) email: Option<String>,
    pub(super) telephone: Option<String>,
    pub(super) home_telephone: Option<String>,
    pub(super) post_description: Option<String>,
}

impl PersonRow {
    pub(super) fn departments(&self) -> Vec<String> {
        let deputies: Vec<String> = serde_json::from_str(&self.deputy_org_ids).unwrap_or_else(|error| {
            self.complain(&error);
            Vec::new()
        });
        let mut departments: Vec<String> = Vec::with_capacity(deputies.len() + 1);
        for id in self.org_id.iter().chain(&deputies) {
            if !departments.contains(id) {
                departments.push(id.clone());
            }
        }
        departments
    }

    pub(super) fn details(&self) -> Details {
        serde_json::from_str(&self.details).unwrap_or_else(|error| {
            self.complain(&error);
            Details::default()
        })
    }

    /// Whether contact details are public.
    ///
    /// Level 1, for friends only, counts as confidential.
    pub(super) fn is_public(&self) -> bool {
        self.secret_level == 0
    }

    /// One bad row must not stop indexing.
    fn complain(&self, error: &serde_json::Error) {
        tracing::error!(%error, sequence = self.sequence, "fields of a person cannot be read");
    }
}

/// Reindexes stored avatars after `public_url` changed.
pub async fn follow_public_url(store: &Store, public_url: &str) -> Result<()> {
    let known = sql("SELECT value FROM meta WHERE name = ?", [ADDRESS.into()]);
    let known: Option<String> = known.fetch_optional_value(store.reader()).await?;
    if known.as_deref() == Some(public_url) {
        return Ok(());
    }
    let address = public_url.to_owned();
    store
        .write(move |transaction| {
            Box::pin(async move {
                let ours = sql("SELECT tenant_id, user_id FROM users WHERE picture LIKE '/%'", []);
                for (tenant_id, user_id) in ours.fetch_all::<(i64, String)>(transaction).await? {
                    transaction.record_change(tenant_id, PEOPLE, &user_id);
                }
                let text = "INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value";
                sql(text, [ADDRESS.into(), address.into()]).execute(transaction).await?;
                Ok(())
            })
        })
        .await
}

/// Reindexes people of these departments, whose names they show.
pub async fn record_members(transaction: &Transaction, tenant_id: i64, org_ids: &[&str]) -> Result<()> {
    for chunk in org_ids.chunks(ROWS_PER_STATEMENT) {
        let text = format!(
            "WITH departments (org_id) AS (VALUES {}) \
             SELECT user_id FROM users WHERE tenant_id = ? AND org_id IN (SELECT org_id FROM departments) \
             UNION SELECT user_id FROM users, json_each(deputy_org_ids) WHERE tenant_id = ? AND deputy_org_ids <> '[]' \
             AND value IN (SELECT org_id FROM departments)",
            vec!["(?)"; chunk.len()].join(", ")
        );
        let values = chunk.iter().map(|id| Value::from(*id)).chain([tenant_id.into(), tenant_id.into()]);
        for id in sql(text, values).fetch_values::<String>(transaction).await? {
            transaction.record_change(tenant_id, PEOPLE, &id);
        }
    }
    Ok(())
}
