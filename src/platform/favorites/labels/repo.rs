//! Rows of labels, and of which favorite has which.

use std::collections::HashSet;

use sea_orm::{ConnectionTrait, DbErr, FromQueryResult};
use uuid::Uuid;

use super::model::{Label, LabelForm, check_known, distinct};
use crate::{
    error::{Error, Result},
    platform::{favorites::model::Owner, tenants},
    store::{Transaction, find_in, now_millis, sql},
};

/// What becomes a [`Label`].
const SHOWN: &str = "favorite_labels.id, favorite_labels.name, favorite_labels.remark, \
    CAST(favorite_labels.created_at AS TEXT) AS created_at";

/// How many labels the person has.
pub(super) async fn count<C: ConnectionTrait>(reader: &C, owner: &Owner) -> Result<u64, DbErr> {
    let statement = sql(
        "SELECT COUNT(*) AS labels FROM favorite_labels WHERE tenant_id = ? AND user_id = ?",
        [owner.tenant_id.into(), owner.user_id.as_str().into()],
    );
    let labels: i64 =
        reader.query_one_raw(statement).await?.map_or(Ok(0), |row| row.try_get("", "labels"))?;
    Ok(u64::try_from(labels).unwrap_or_default())
}

/// The person's labels, oldest first; without a limit all of them.
pub(super) async fn list<C: ConnectionTrait>(
    reader: &C,
    owner: &Owner,
    limit: Option<u32>,
    offset: u32,
) -> Result<Vec<Label>, DbErr> {
    // A negative limit is none, to SQLite.
    let limit = limit.map_or(-1, i64::from);
    Label::find_by_statement(sql(
        format!(
            "SELECT {SHOWN} FROM favorite_labels WHERE tenant_id = ? AND user_id = ? \
             ORDER BY favorite_labels.created_at, favorite_labels.id LIMIT ? OFFSET ?"
        ),
        [owner.tenant_id.into(), owner.user_id.as_str().into(), limit.into(), offset.into()],
    ))
    .all(reader)
    .await
}

/// The label that the person has by this name.
async fn named<C: ConnectionTrait>(reader: &C, owner: &Owner, name: &str) -> Result<Option<String>, DbErr> {
    let statement = sql(
        "SELECT id FROM favorite_labels WHERE tenant_id = ? AND user_id = ? AND name = ?",
        [owner.tenant_id.into(), owner.user_id.as_str().into(), name.into()],
    );
    reader.query_one_raw(statement).await?.map(|row| row.try_get("", "id")).transpose()
}

/// Makes a label; `None` where the person has one of this name.
pub(super) async fn insert(
    transaction: &Transaction,
    owner: &Owner,
    form: LabelForm,
) -> Result<Option<Label>, DbErr> {
    if named(&**transaction, owner, &form.name).await?.is_some() {
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
    transaction.execute_raw(statement).await?;
    Ok(Some(Label { id, name: form.name, remark: form.remark, created_date: created_at.to_string() }))
}

/// What became of a label that was to be named otherwise.
pub(super) enum Renaming {
    /// That is its name now.
    Renamed,
    /// Another one has it.
    Taken,
    /// The person has no such label.
    Unknown,
}

/// Names a label otherwise.
pub(super) async fn rename(
    transaction: &Transaction,
    owner: &Owner,
    id: &str,
    name: &str,
) -> Result<Renaming, DbErr> {
    let of_name = named(&**transaction, owner, name).await?;
    if of_name.as_deref() == Some(id) {
        return Ok(Renaming::Renamed);
    }
    if find(&**transaction, owner, &[id]).await?.is_empty() {
        return Ok(Renaming::Unknown);
    }
    if of_name.is_some() {
        return Ok(Renaming::Taken);
    }
    let statement = sql(
        "UPDATE favorite_labels SET name = ? WHERE tenant_id = ? AND user_id = ? AND id = ?",
        [name.into(), owner.tenant_id.into(), owner.user_id.as_str().into(), id.into()],
    );
    transaction.execute_raw(statement).await?;
    Ok(Renaming::Renamed)
}

/// Deletes a label, and takes it off every favorite; answers whether it was there.
pub(super) async fn delete(transaction: &Transaction, owner: &Owner, id: &str) -> Result<bool, DbErr> {
    let statement = sql(
        "DELETE FROM favorite_labels WHERE tenant_id = ? AND user_id = ? AND id = ?",
        [owner.tenant_id.into(), owner.user_id.as_str().into(), id.into()],
    );
    Ok(transaction.execute_raw(statement).await?.rows_affected() == 1)
}

#[derive(FromQueryResult)]
struct Known {
    id: String,
}

/// Which of these labels the person has.
async fn find<C: ConnectionTrait>(
    reader: &C,
    owner: &Owner,
    ids: &[impl AsRef<str>],
) -> Result<HashSet<String>, DbErr> {
    let text = "SELECT id FROM favorite_labels WHERE tenant_id = ? AND user_id = ? AND id";
    let whose = [owner.tenant_id.into(), owner.user_id.as_str().into()];
    let known: Vec<Known> = find_in(reader, text, &whose, ids).await?;
    Ok(known.into_iter().map(|label| label.id).collect())
}

/// Gives the favorite of this number these labels and no other ones.
///
/// # Errors
/// 400 for more of them than the tenant allows, and for those that the person does not have.
pub(in crate::platform::favorites) async fn replace(
    transaction: &Transaction,
    owner: &Owner,
    favorite: i64,
    ids: Vec<String>,
) -> Result<()> {
    let limit = tenants::model::label_limit(&**transaction, owner.tenant_id).await?;
    let ids = distinct(ids, limit).map_err(Error::bad_request)?;
    check_known(&ids, &find(&**transaction, owner, &ids).await?).map_err(Error::bad_request)?;
    let statement = sql(
        "DELETE FROM labels_of_favorites WHERE tenant_id = ? AND favorite = ?",
        [owner.tenant_id.into(), favorite.into()],
    );
    transaction.execute_raw(statement).await?;
    let ids = serde_json::to_string(&ids).map_err(Error::internal)?;
    let statement = sql(
        "INSERT INTO labels_of_favorites (tenant_id, favorite, label_id, position) \
         SELECT ?, ?, value, key FROM json_each(?)",
        [owner.tenant_id.into(), favorite.into(), ids.into()],
    );
    transaction.execute_raw(statement).await?;
    Ok(())
}

/// The labels of the favorite of this number, in the order in which they were given.
pub(in crate::platform::favorites) async fn of_favorite<C: ConnectionTrait>(
    reader: &C,
    owner: &Owner,
    favorite: i64,
) -> Result<Vec<Label>, DbErr> {
    Label::find_by_statement(sql(
        format!(
            "SELECT {SHOWN} FROM labels_of_favorites JOIN favorite_labels ON favorite_labels.id = label_id \
             WHERE labels_of_favorites.tenant_id = ? AND favorite = ? ORDER BY position"
        ),
        [owner.tenant_id.into(), favorite.into()],
    ))
    .all(reader)
    .await
}
