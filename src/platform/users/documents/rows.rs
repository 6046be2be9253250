//! Rows of people as their documents need them.

use sea_orm::{ConnectionTrait, DbErr, FromQueryResult};
use serde::Deserialize;

use super::PEOPLE;
use crate::{
    error::Result,
    store::{Store, find_in, sql},
};

/// The columns that are read; `FromQueryResult` finds them by name.
const COLUMNS: &str = "sequence, tenant_id, user_id, login_id, name, mobile, org_id, deputy_org_ids, secret_level, \
     is_hidden, is_deleted, details, picture, created_at";

/// Under which name the database says what the addresses of avatars in documents begin with.
const ADDRESS: &str = "pictures_below";

/// One person.
#[derive(Clone, Debug, FromQueryResult)]
pub(super) struct Row {
    pub(super) sequence: i64,
    pub(super) tenant_id: i64,
    pub(super) user_id: String,
    pub(super) login_id: String,
    pub(super) name: String,
    pub(super) mobile: Option<String>,
    pub(super) org_id: Option<String>,
    pub(super) deputy_org_ids: String,
    pub(super) secret_level: i64,
    pub(super) is_hidden: bool,
    pub(super) is_deleted: bool,
    pub(super) details: String,
    pub(super) picture: Option<String>,
    pub(super) created_at: i64,
}

/// What documents need of the fields that no rule asks for.
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

impl Row {
    /// His departments, the main one first, each once.
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

    /// Whether everybody may know how to reach him; "visible to friends" is treated as confidential (decisions 9.6).
    pub(super) fn is_public(&self) -> bool {
        self.secret_level == 0
    }

    /// One row that cannot be read is no reason not to index all others.
    fn complain(&self, error: &serde_json::Error) {
        tracing::error!(%error, sequence = self.sequence, "fields of a person cannot be read");
    }
}

/// The tenant's people with these ids, as far as they are there.
pub(super) async fn find<C: ConnectionTrait>(
    reader: &C,
    tenant_id: i64,
    ids: &[String],
) -> Result<Vec<Row>, DbErr> {
    let text = format!("SELECT {COLUMNS} FROM users WHERE tenant_id = ? AND user_id");
    find_in(reader, &text, &[tenant_id.into()], ids).await
}

/// Up to `limit` people of all tenants after `sequence`, in the order of that.
pub(super) async fn scan<C: ConnectionTrait>(
    reader: &C,
    sequence: i64,
    limit: u64,
) -> Result<Vec<Row>, DbErr> {
    Row::find_by_statement(sql(
        format!("SELECT {COLUMNS} FROM users WHERE sequence > ? ORDER BY sequence LIMIT ?"),
        [sequence.into(), limit.into()],
    ))
    .all(reader)
    .await
}

/// How many documents a scan from the beginning gives.
pub async fn count<C: ConnectionTrait>(reader: &C) -> Result<i64> {
    let statement = sql("SELECT COUNT(*) AS people FROM users WHERE is_hidden = 0 AND is_deleted = 0", []);
    Ok(reader.query_one_raw(statement).await?.map_or(Ok(0), |row| row.try_get("", "people"))?)
}

/// Has the documents that show avatars of our own be made anew where these have another address than when they were made.
pub async fn follow_public_url(store: &Store, public_url: &str) -> Result<()> {
    let known = sql("SELECT value FROM meta WHERE name = ?", [ADDRESS.into()]);
    let known = store.reader().query_one_raw(known).await?;
    let known: Option<String> = known.map(|row| row.try_get("", "value")).transpose()?;
    if known.as_deref() == Some(public_url) {
        return Ok(());
    }
    let address = public_url.to_owned();
    store
        .write(move |transaction| {
            Box::pin(async move {
                let ours = sql("SELECT tenant_id, user_id FROM users WHERE picture LIKE '/%'", []);
                for row in transaction.query_all_raw(ours).await? {
                    let user_id: String = row.try_get("", "user_id")?;
                    transaction.record_change(row.try_get("", "tenant_id")?, PEOPLE, &user_id);
                }
                let text = "INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value";
                transaction.execute_raw(sql(text, [ADDRESS.into(), address.into()])).await?;
                Ok(())
            })
        })
        .await
}
