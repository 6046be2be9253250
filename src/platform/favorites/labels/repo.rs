use std::collections::HashSet;

use uuid::Uuid;

use super::forms::{Label, LabelForm, LabelIds, check_known, distinct};
use crate::{
    error::{Error, Result},
    platform::{favorites::rules::Owner, tenants},
    store::{self, Connection, Transaction, Value, find_values_in, now_millis, sql},
};

const SHOWN: &str = "favorite_labels.id, favorite_labels.name, favorite_labels.remark, \
    CAST(favorite_labels.created_at AS TEXT) AS created_at";

pub(super) async fn count(reader: &Connection, owner: &Owner) -> store::Result<u64> {
    let statement = sql(
        "SELECT COUNT(*) AS labels FROM favorite_labels WHERE tenant_id = ? AND user_id = ?",
        [owner.tenant_id.into(), owner.user_id.as_str().into()],
    );
    statement.count(reader).await
}

pub(super) async fn list(
    reader: &Connection,
    owner: &Owner,
    limit: Option<u32>,
    offset: u32,
) -> store::Result<Vec<Label>> {
    let limit = limit.map_or(i64::MAX, i64::from);
    sql(
        format!(
            "SELECT {SHOWN} FROM favorite_labels WHERE tenant_id = ? AND user_id = ? \
             ORDER BY favorite_labels.created_at, favorite_labels.id LIMIT ? OFFSET ?"
        ),
        [owner.tenant_id.into(), owner.user_id.as_str().into(), limit.into(), offset.into()],
    )
    .fetch_all::<Label>(reader)
    .await
}

async fn named(reader: &Connection, owner: &Owner, name: &str) -> store::Result<Option<String>> {
    let statement = sql(
        "SELECT id FROM favorite_labels WHERE tenant_id = ? AND user_id = ? AND name = ?",
        [owner.tenant_id.into(), owner.user_id.as_str().into(), name.into()],
    );
    statement.fetch_optional_value(reader).await
}

/// `None` if the name is taken.
pub(super) async fn insert(
    transaction: &Transaction,
    owner: &Owner,
    form: LabelForm,
) -> store::Result<Option<Label>> {
    if named(transaction, owner, &form.name).await?.is_some() {
        return Ok(None);
    }
    let (id, created_at) = (Uuid::new_v4().to_string(), now_millis());
    let statement = sql(
        "INSERT INTO favorite_labels (id, tenant_id, user_id, name, remark, source_id, source_type, source_name, created_at) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            id.as_str().into(),
            owner.tenant_id.into(),
            owner.user_id.as_str().into(),
            form.name.as_str().into(),
            form.remark.as_deref().into(),
            form.source_id.into(),
            form.source_type.into(),
            form.source_name.into(),
            created_at.into(),
        ],
    );
    statement.execute(transaction).await?;
    Ok(Some(Label { id, name: form.name, remark: form.remark, created_date: created_at.to_string() }))
}

pub(super) enum LabelRename {
    Renamed,
    Taken,
    Unknown,
}

pub(super) async fn rename(
    transaction: &Transaction,
    owner: &Owner,
    id: &str,
    name: &str,
) -> store::Result<LabelRename> {
    let of_name = named(transaction, owner, name).await?;
    if of_name.as_deref() == Some(id) {
        return Ok(LabelRename::Renamed);
    }
    if find(transaction, owner, &[id]).await?.is_empty() {
        return Ok(LabelRename::Unknown);
    }
    if of_name.is_some() {
        return Ok(LabelRename::Taken);
    }
    let statement = sql(
        "UPDATE favorite_labels SET name = ? WHERE tenant_id = ? AND user_id = ? AND id = ?",
        [name.into(), owner.tenant_id.into(), owner.user_id.as_str().into(), id.into()],
    );
    statement.execute(transaction).await?;
    Ok(LabelRename::Renamed)
}

/// Deletes a label, also from every favorite. Returns whether it existed.
pub(super) async fn delete(transaction: &Transaction, owner: &Owner, id: &str) -> store::Result<bool> {
    let statement = sql(
        "DELETE FROM favorite_labels WHERE tenant_id = ? AND user_id = ? AND id = ?",
        [owner.tenant_id.into(), owner.user_id.as_str().into(), id.into()],
    );
    Ok(statement.execute(transaction).await? == 1)
}

async fn find(reader: &Connection, owner: &Owner, ids: &[impl AsRef<str>]) -> store::Result<HashSet<String>> {
    let text = "SELECT id FROM favorite_labels WHERE tenant_id = ? AND user_id = ? AND id";
    let whose = [owner.tenant_id.into(), owner.user_id.as_str().into()];
    find_values_in(reader, text, &whose, ids).await
}

/// 400 above the limit or for unknown labels.
pub(crate) async fn replace(
    transaction: &Transaction,
    owner: &Owner,
    favorite: i64,
    ids: LabelIds,
) -> Result<()> {
    let limit = tenants::service::label_limit(transaction, owner.tenant_id).await?;
    let ids = distinct(ids, limit).map_err(Error::bad_request)?;
    check_known(&ids, &find(transaction, owner, &ids).await?).map_err(Error::bad_request)?;
    let statement = sql(
        "DELETE FROM labels_of_favorites WHERE tenant_id = ? AND favorite = ?",
        [owner.tenant_id.into(), favorite.into()],
    );
    statement.execute(transaction).await?;
    let statement = sql(
        "INSERT INTO labels_of_favorites (tenant_id, favorite, label_id, position) \
         SELECT ?, ?, value, key FROM json_each(?)",
        [owner.tenant_id.into(), favorite.into(), Value::list(&ids)],
    );
    statement.execute(transaction).await?;
    Ok(())
}

pub(crate) async fn for_favorite(
    reader: &Connection,
    owner: &Owner,
    favorite: i64,
) -> store::Result<Vec<Label>> {
    sql(
        format!(
            "SELECT {SHOWN} FROM labels_of_favorites JOIN favorite_labels ON favorite_labels.id = label_id \
             WHERE labels_of_favorites.tenant_id = ? AND favorite = ? ORDER BY position"
        ),
        [owner.tenant_id.into(), favorite.into()],
    )
    .fetch_all::<Label>(reader)
    .await
}
