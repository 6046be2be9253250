use serde::Serialize;

use crate::store::{self, Connection, FromRow, Transaction, find_values_in, now_millis, sql};

/// Blacklist entry.
#[derive(Clone, Debug, PartialEq, Eq, FromRow, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BlacklistEntry {
    /// Department name.
    pub org_name: Option<String>,
    /// Name.
    pub name: String,
    /// Source user id.
    pub user_id: String,
    /// Avatar.
    pub picture: Option<String>,
    /// Source department id.
    pub org_id: Option<String>,
}

#[derive(Clone, Debug)]
pub(super) struct BlacklistOwner {
    pub(super) tenant_id: i64,
    pub(super) user_id: String,
}

pub(super) enum Addition {
    Added,
    There,
    Unknown,
}

pub(super) async fn add(
    transaction: &Transaction,
    owner: &BlacklistOwner,
    black_user_id: &str,
) -> store::Result<Addition> {
    let known = sql(
        "SELECT 1 FROM users WHERE tenant_id = ? AND user_id = ? AND NOT is_deleted AND NOT is_hidden",
        [owner.tenant_id.into(), black_user_id.into()],
    );
    if !known.exists(transaction).await? {
        return Ok(Addition::Unknown);
    }
    let inserted = sql(
        "INSERT INTO blacklist (tenant_id, user_id, black_user_id, created_at) VALUES (?, ?, ?, ?) \
             ON CONFLICT DO NOTHING",
        [owner.tenant_id.into(), owner.user_id.as_str().into(), black_user_id.into(), now_millis().into()],
    )
    .execute(transaction)
    .await?;
    Ok(if inserted == 1 { Addition::Added } else { Addition::There })
}

pub(super) async fn remove(
    transaction: &Transaction,
    owner: &BlacklistOwner,
    black_user_id: &str,
) -> store::Result<bool> {
    let removed = sql(
        "DELETE FROM blacklist WHERE tenant_id = ? AND user_id = ? AND black_user_id = ?",
        [owner.tenant_id.into(), owner.user_id.as_str().into(), black_user_id.into()],
    )
    .execute(transaction)
    .await?;
    Ok(removed == 1)
}

const SHOWN: &str = "FROM blacklist \
    JOIN users ON users.tenant_id = blacklist.tenant_id AND users.user_id = blacklist.black_user_id \
    LEFT JOIN organizations ON organizations.tenant_id = users.tenant_id AND organizations.org_id = users.org_id \
    AND NOT organizations.is_deleted AND NOT organizations.is_hidden \
    WHERE blacklist.tenant_id = ? AND blacklist.user_id = ? AND NOT users.is_deleted AND NOT users.is_hidden";

/// Entries, oldest first, and their total.
pub(super) async fn list(
    reader: &Connection,
    owner: &BlacklistOwner,
    limit: Option<u32>,
    offset: u32,
) -> store::Result<(Vec<BlacklistEntry>, u64)> {
    let whose = [owner.tenant_id.into(), owner.user_id.as_str().into()];
    let total = sql(format!("SELECT COUNT(*) AS total {SHOWN}"), whose.clone()).count(reader).await?;
    let text = format!(
        "SELECT organizations.name AS org_name, users.name, users.user_id, users.picture, organizations.org_id {SHOWN} \
         ORDER BY blacklist.created_at, blacklist.black_user_id LIMIT ? OFFSET ?"
    );
    let limit = limit.map_or(i64::MAX, i64::from);
    let values = whose.into_iter().chain([limit.into(), offset.into()]);
    let entries = sql(text, values).fetch_all::<BlacklistEntry>(reader).await?;
    Ok((entries, total))
}

/// People among these who blacklisted a person.
pub async fn listers_among(
    reader: &Connection,
    tenant_id: i64,
    black_user_id: &str,
    among: &[impl AsRef<str>],
) -> store::Result<Vec<String>> {
    let text = "SELECT user_id FROM blacklist WHERE tenant_id = ? AND black_user_id = ? AND user_id";
    find_values_in(reader, text, &[tenant_id.into(), black_user_id.into()], among).await
}
