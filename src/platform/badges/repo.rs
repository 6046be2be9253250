//! Rows of badges.

use sea_orm::{ConnectionTrait, DbErr, FromQueryResult, Value};
use uuid::Uuid;

use super::model::{Badge, Texts};
use crate::{
    auth::tenants::Tenant,
    store::{ROWS_PER_STATEMENT, Transaction, now_millis, placeholders, rfc3339, sql},
};

/// The columns that are read; `FromQueryResult` finds them by name.
const COLUMNS: &str = "id, name, remark, icon, pendant_icon, image, created_by_name, created_at";

/// One kept badge.
#[derive(Clone, Debug, FromQueryResult)]
pub(super) struct Row {
    pub(super) id: String,
    name: String,
    remark: Option<String>,
    icon: Option<String>,
    pendant_icon: Option<String>,
    image: Option<String>,
    created_by_name: String,
    pub(super) created_at: i64,
}

impl Row {
    /// What callers said of it.
    pub(super) fn into_texts(self) -> Texts {
        let Self { name, remark, icon, pendant_icon, image, .. } = self;
        Texts { name, remark, icon, pendant_icon, image }
    }

    /// As it is shown.
    pub(super) fn into_badge(self, tenant: &Tenant) -> Badge {
        Badge {
            id: self.id,
            name: self.name,
            remark: self.remark,
            icon: self.icon,
            pendant_icon: self.pendant_icon,
            image: self.image,
            e_code: tenant.code.clone(),
            created_by_name: self.created_by_name,
            created_date: rfc3339(self.created_at),
        }
    }
}

/// The tenant's badge with this id.
pub(super) async fn find<C: ConnectionTrait>(
    reader: &C,
    tenant_id: i64,
    id: &str,
) -> Result<Option<Row>, DbErr> {
    Row::find_by_statement(sql(
        format!("SELECT {COLUMNS} FROM badges WHERE tenant_id = ? AND id = ?"),
        [tenant_id.into(), id.into()],
    ))
    .one(reader)
    .await
}

/// Which badges of a tenant.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    pub(super) tenant_id: i64,
    /// What the name or the description holds, folded.
    pub(super) keyword: Option<String>,
}

impl Wanted {
    fn condition(&self) -> (&'static str, Vec<Value>) {
        let mut values = vec![self.tenant_id.into()];
        let Some(keyword) = &self.keyword else { return ("FROM badges WHERE tenant_id = ?", values) };
        values.push(keyword.as_str().into());
        ("FROM badges WHERE tenant_id = ? AND instr(folded, ?) > 0", values)
    }
}

/// How many there are.
pub(super) async fn count<C: ConnectionTrait>(reader: &C, wanted: &Wanted) -> Result<u64, DbErr> {
    let (condition, values) = wanted.condition();
    let row = reader.query_one_raw(sql(format!("SELECT COUNT(*) AS badges {condition}"), values)).await?;
    let badges: i64 = row.map_or(Ok(0), |row| row.try_get("", "badges"))?;
    Ok(u64::try_from(badges).unwrap_or_default())
}

/// Up to `limit` of those created after the time `after`, oldest first, without the first `offset` of them.
pub(super) async fn list<C: ConnectionTrait>(
    reader: &C,
    wanted: &Wanted,
    after: i64,
    offset: u32,
    limit: u64,
) -> Result<Vec<Row>, DbErr> {
    let (condition, mut values) = wanted.condition();
    values.extend([after.into(), limit.into(), offset.into()]);
    Row::find_by_statement(sql(
        format!("SELECT {COLUMNS} {condition} AND created_at > ? ORDER BY created_at LIMIT ? OFFSET ?"),
        values,
    ))
    .all(reader)
    .await
}

/// Whether the tenant has so many badges or more.
pub(super) async fn has(transaction: &Transaction, tenant_id: i64, badges: u64) -> Result<bool, DbErr> {
    let statement = sql(
        "SELECT 1 FROM badges WHERE tenant_id = ? LIMIT 1 OFFSET ?",
        [tenant_id.into(), badges.saturating_sub(1).into()],
    );
    Ok(transaction.query_one_raw(statement).await?.is_some())
}

/// A time for a badge of the tenant: not before now, and after every one that was given before.
async fn give_time(transaction: &Transaction, tenant_id: i64) -> Result<i64, DbErr> {
    let statement = sql(
        "INSERT INTO badge_times (tenant_id, last_created_at) VALUES (?, ?) ON CONFLICT (tenant_id) \
         DO UPDATE SET last_created_at = MAX(last_created_at + 1, excluded.last_created_at) RETURNING last_created_at",
        [tenant_id.into(), now_millis().into()],
    );
    let row = transaction.query_one_raw(statement).await?;
    row.ok_or_else(|| DbErr::RecordNotFound("the time of a badge".to_owned()))?.try_get("", "last_created_at")
}

/// Creates a badge.
pub(super) async fn insert(
    transaction: &Transaction,
    tenant_id: i64,
    texts: Texts,
    created_by_name: String,
) -> Result<Row, DbErr> {
    let (id, created_at) = (Uuid::new_v4().to_string(), give_time(transaction, tenant_id).await?);
    let folded = texts.folded();
    let Texts { name, remark, icon, pendant_icon, image } = texts;
    let row = Row { id, name, remark, icon, pendant_icon, image, created_by_name, created_at };
    let values: [Value; 10] = [
        row.id.as_str().into(),
        tenant_id.into(),
        row.name.as_str().into(),
        row.remark.as_deref().into(),
        row.icon.as_deref().into(),
        row.pendant_icon.as_deref().into(),
        row.image.as_deref().into(),
        row.created_by_name.as_str().into(),
        created_at.into(),
        folded.into(),
    ];
    let statement = sql(
        "INSERT INTO badges (id, tenant_id, name, remark, icon, pendant_icon, image, created_by_name, created_at, folded) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        values,
    );
    transaction.execute_raw(statement).await?;
    Ok(row)
}

/// Writes what is said of a badge.
pub(super) async fn update(
    transaction: &Transaction,
    tenant_id: i64,
    id: &str,
    texts: Texts,
) -> Result<(), DbErr> {
    let folded = texts.folded();
    let Texts { name, remark, icon, pendant_icon, image } = texts;
    let values: [Value; 8] = [
        name.into(),
        remark.into(),
        icon.into(),
        pendant_icon.into(),
        image.into(),
        folded.into(),
        tenant_id.into(),
        id.into(),
    ];
    let statement = sql(
        "UPDATE badges SET name = ?, remark = ?, icon = ?, pendant_icon = ?, image = ?, folded = ? \
         WHERE tenant_id = ? AND id = ?",
        values,
    );
    transaction.execute_raw(statement).await?;
    Ok(())
}

/// Deletes those of these badges that the tenant has; answers how many.
pub(super) async fn delete(transaction: &Transaction, tenant_id: i64, ids: &[String]) -> Result<u64, DbErr> {
    let mut deleted = 0;
    for portion in ids.chunks(ROWS_PER_STATEMENT) {
        let text =
            format!("DELETE FROM badges WHERE tenant_id = ? AND id IN ({})", placeholders(portion.len()));
        let values = [tenant_id.into()].into_iter().chain(portion.iter().map(|id| id.as_str().into()));
        deleted += transaction.execute_raw(sql(text, values)).await?.rows_affected();
    }
    Ok(deleted)
}
