use uuid::Uuid;

use super::forms::{Badge, BadgeTexts};
use crate::{
    auth::tenants::Tenant,
    store::{self, Connection, FromRow, Transaction, Value, execute_in, now_millis, rfc3339, sql},
};

const COLUMNS: &str = "id, name, remark, icon, pendant_icon, image, created_by_name, created_at";

#[derive(Clone, Debug, FromRow)]
pub(super) struct StoredBadge {
    pub(super) id: String,
    name: String,
    remark: Option<String>,
    icon: Option<String>,
    pendant_icon: Option<String>,
    image: Option<String>,
    created_by_name: String,
    pub(super) created_at: i64,
}

impl StoredBadge {
    pub(super) fn into_texts(self) -> BadgeTexts {
        let Self { name, remark, icon, pendant_icon, image, .. } = self;
        BadgeTexts { name, remark, icon, pendant_icon, image }
    }

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

pub(super) async fn find(
    reader: &Connection,
    tenant_id: i64,
    id: &str,
) -> store::Result<Option<StoredBadge>> {
    sql(format!("SELECT {COLUMNS} FROM badges WHERE tenant_id = ? AND id = ?"), [tenant_id.into(), id.into()])
        .fetch_optional::<StoredBadge>(reader)
        .await
}

#[derive(Clone, Debug)]
pub(super) struct BadgeFilter {
    pub(super) tenant_id: i64,
    pub(super) keyword: Option<String>,
}

impl BadgeFilter {
    fn condition(&self) -> (&'static str, Vec<Value>) {
        let mut values = vec![self.tenant_id.into()];
        let Some(keyword) = &self.keyword else { return ("FROM badges WHERE tenant_id = ?", values) };
        values.push(keyword.as_str().into());
        ("FROM badges WHERE tenant_id = ? AND instr(folded, ?) > 0", values)
    }
}

pub(super) async fn count(reader: &Connection, filter: &BadgeFilter) -> store::Result<u64> {
    let (condition, values) = filter.condition();
    sql(format!("SELECT COUNT(*) AS badges {condition}"), values).count(reader).await
}

pub(super) async fn list(
    reader: &Connection,
    filter: &BadgeFilter,
    after: i64,
    offset: u32,
    limit: u64,
) -> store::Result<Vec<StoredBadge>> {
    let (condition, mut values) = filter.condition();
    values.extend([after.into(), limit.into(), offset.into()]);
    sql(
        format!("SELECT {COLUMNS} {condition} AND created_at > ? ORDER BY created_at LIMIT ? OFFSET ?"),
        values,
    )
    .fetch_all::<StoredBadge>(reader)
    .await
}

pub(super) async fn has(transaction: &Transaction, tenant_id: i64, badges: u64) -> store::Result<bool> {
    let statement = sql(
        "SELECT 1 FROM badges WHERE tenant_id = ? LIMIT 1 OFFSET ?",
        [tenant_id.into(), badges.saturating_sub(1).into()],
    );
    statement.exists(transaction).await
}

async fn give_time(transaction: &Transaction, tenant_id: i64) -> store::Result<i64> {
    let statement = sql(
        "INSERT INTO badge_times (tenant_id, last_created_at) VALUES (?, ?) ON CONFLICT (tenant_id) \
         DO UPDATE SET last_created_at = MAX(badge_times.last_created_at + 1, excluded.last_created_at) RETURNING last_created_at",
        [tenant_id.into(), now_millis().into()],
    );
    statement.fetch_value(transaction).await
}

pub(super) async fn insert(
    transaction: &Transaction,
    tenant_id: i64,
    texts: BadgeTexts,
    created_by_name: String,
) -> store::Result<StoredBadge> {
    let (id, created_at) = (Uuid::new_v4().to_string(), give_time(transaction, tenant_id).await?);
    let folded = texts.folded();
    let BadgeTexts { name, remark, icon, pendant_icon, image } = texts;
    let row = StoredBadge { id, name, remark, icon, pendant_icon, image, created_by_name, created_at };
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
    statement.execute(transaction).await?;
    Ok(row)
}

pub(super) async fn update(
    transaction: &Transaction,
    tenant_id: i64,
    id: &str,
    texts: BadgeTexts,
) -> store::Result<()> {
    let folded = texts.folded();
    let BadgeTexts { name, remark, icon, pendant_icon, image } = texts;
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
    statement.execute(transaction).await?;
    Ok(())
}

pub(super) async fn delete(transaction: &Transaction, tenant_id: i64, ids: &[String]) -> store::Result<u64> {
    let text = "DELETE FROM badges WHERE tenant_id = ? AND id";
    execute_in(transaction, text, &[tenant_id.into()], ids).await
}
