use uuid::Uuid;

use super::{
    labels::{self, forms::LabelIds},
    rules::{FAVORITE, Favorite, FavoriteForm, FavoriteLists, LabelledFavorite, MAX_FAVORITES, Owner},
};
use crate::{
    error::{Error, Result},
    store::{self, Connection, FromRow, Transaction, Value, now_millis, sql},
};

pub(super) const SHOWN: &str = "item_id, source_id, source_type, source_name, source_display_name, content_type, content, \
    created_at";

/// Document of a person's favorite, as many may keep one item.
pub async fn document_id(
    reader: &Connection,
    tenant_id: i64,
    user_id: &str,
    item_id: &str,
) -> store::Result<Option<String>> {
    let text = "SELECT id FROM favorites WHERE tenant_id = ? AND user_id = ? AND item_id = ? AND is_favorite";
    sql(text, [tenant_id.into(), user_id.into(), item_id.into()]).fetch_optional_value(reader).await
}

#[derive(Debug, FromRow)]
struct ListedItem {
    sequence: i64,
    id: String,
    content_type: i64,
    is_favorite: bool,
    is_feed_favorite: bool,
}

impl ListedItem {
    fn lists(&self) -> FavoriteLists {
        FavoriteLists { is_favorite: self.is_favorite, is_feed_favorite: self.is_feed_favorite }
    }
}

async fn find_known(reader: &Connection, owner: &Owner, item_id: &str) -> store::Result<Option<ListedItem>> {
    sql(
        "SELECT sequence, id, content_type, is_favorite, is_feed_favorite FROM favorites \
         WHERE tenant_id = ? AND user_id = ? AND item_id = ?",
        [owner.tenant_id.into(), owner.user_id.as_str().into(), item_id.into()],
    )
    .fetch_optional::<ListedItem>(reader)
    .await
}

pub(super) async fn show(
    reader: &Connection,
    owner: &Owner,
    item_id: &str,
) -> Result<Option<LabelledFavorite>> {
    let Some(known) = find_known(reader, owner, item_id).await? else { return Ok(None) };
    let statement = sql(
        format!("SELECT {SHOWN} FROM favorites WHERE tenant_id = ? AND sequence = ? AND id = ?"),
        [owner.tenant_id.into(), known.sequence.into(), known.id.into()],
    );
    let Some(favorite) = statement.fetch_optional::<Favorite>(reader).await? else { return Ok(None) };
    let label_list = labels::repo::for_favorite(reader, owner, known.sequence).await?;
    Ok(Some(LabelledFavorite { favorite, label_list }))
}

async fn give_time(transaction: &Transaction, owner: &Owner) -> Result<i64> {
    let statement = sql(
        "INSERT INTO favorite_times (tenant_id, user_id, last_created_at) VALUES (?, ?, ?) \
         ON CONFLICT (tenant_id, user_id) \
         DO UPDATE SET last_created_at = MAX(favorite_times.last_created_at + 1, excluded.last_created_at) RETURNING last_created_at",
        [owner.tenant_id.into(), owner.user_id.as_str().into(), now_millis().into()],
    );
    Ok(statement.fetch_value(transaction).await?)
}

/// 409 for a duplicate or too many, 400 for invalid labels.
pub(super) async fn add(
    transaction: &Transaction,
    owner: &Owner,
    mut form: FavoriteForm,
) -> Result<LabelledFavorite> {
    let known = find_known(transaction, owner, &form.item_id).await?;
    let Some(lists) = form.lists(known.as_ref().map(ListedItem::lists)) else {
        return Err(Error::conflict("itemId: this item is already a favorite"));
    };
    if known.is_none() {
        check_room(transaction, owner).await?;
    }
    let created_at = give_time(transaction, owner).await?;
    let (label_ids, item_id) = (form.label_list.take().unwrap_or_default(), form.item_id.clone());
    let id = known.map_or_else(|| Uuid::new_v4().to_string(), |known| known.id);
    let sequence = put(transaction, owner, &id, form, lists, created_at).await?;
    labels::repo::replace(transaction, owner, sequence, label_ids).await?;
    transaction.record_change(owner.tenant_id, FAVORITE, &id);
    let shown = show(transaction, owner, &item_id).await?;
    shown.ok_or_else(|| Error::internal("the added favorite is missing"))
}

async fn check_room(transaction: &Transaction, owner: &Owner) -> Result<()> {
    let statement = sql(
        "SELECT 1 FROM favorites WHERE tenant_id = ? AND user_id = ? LIMIT 1 OFFSET ?",
        [owner.tenant_id.into(), owner.user_id.as_str().into(), (MAX_FAVORITES - 1).into()],
    );
    if !statement.exists(transaction).await? {
        return Ok(());
    }
    let refusal = format!("you already have {MAX_FAVORITES} favorites, the maximum");
    Err(Error::conflict(refusal))
}

async fn put(
    transaction: &Transaction,
    owner: &Owner,
    id: &str,
    form: FavoriteForm,
    lists: FavoriteLists,
    created_at: i64,
) -> store::Result<i64> {
    let (content_type, folded) = (form.content_type(), form.folded());
    let values: [Value; 15] = [
        id.into(),
        owner.tenant_id.into(),
        owner.user_id.as_str().into(),
        form.item_id.into(),
        lists.is_favorite.into(),
        lists.is_feed_favorite.into(),
        created_at.into(),
        content_type.into(),
        form.source_id.into(),
        form.source_type.into(),
        form.source_name.into(),
        form.source_display_name.into(),
        form.keyword.into(),
        form.content.into(),
        folded.into(),
    ];
    let statement = sql(
        "INSERT INTO favorites (id, tenant_id, user_id, item_id, is_favorite, is_feed_favorite, created_at, content_type, \
           source_id, source_type, source_name, source_display_name, keyword, content, folded) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) \
         ON CONFLICT (tenant_id, user_id, item_id) DO UPDATE SET is_favorite = excluded.is_favorite, \
           is_feed_favorite = excluded.is_feed_favorite, created_at = excluded.created_at, \
           content_type = excluded.content_type, source_id = excluded.source_id, source_type = excluded.source_type, \
           source_name = excluded.source_name, source_display_name = excluded.source_display_name, \
           keyword = excluded.keyword, content = excluded.content, folded = excluded.folded \
         RETURNING sequence",
        values,
    );
    statement.fetch_value(transaction).await
}

/// 404 for an item on neither list.
pub(super) async fn remove(
    transaction: &Transaction,
    owner: &Owner,
    item_id: &str,
    from_feed_too: bool,
) -> Result<()> {
    let known = find_known(transaction, owner, item_id).await?.ok_or_else(unknown)?;
    let left = known.lists().without(known.content_type, from_feed_too).ok_or_else(unknown)?;
    let statement = if left.is_none() {
        sql(
            "DELETE FROM favorites WHERE tenant_id = ? AND sequence = ?",
            [owner.tenant_id.into(), known.sequence.into()],
        )
    } else {
        sql(
            "UPDATE favorites SET is_favorite = FALSE WHERE tenant_id = ? AND sequence = ?",
            [owner.tenant_id.into(), known.sequence.into()],
        )
    };
    statement.execute(transaction).await?;
    transaction.record_change(owner.tenant_id, FAVORITE, &known.id);
    Ok(())
}

/// 404 for an unknown favorite, 400 for invalid labels.
pub(super) async fn label(
    transaction: &Transaction,
    owner: &Owner,
    item_id: &str,
    label_ids: Option<LabelIds>,
) -> Result<()> {
    let known = find_known(transaction, owner, item_id).await?.ok_or_else(unknown)?;
    match label_ids {
        None => Ok(()),
        Some(ids) => labels::repo::replace(transaction, owner, known.sequence, ids).await,
    }
}

pub(super) fn unknown() -> Error {
    Error::not_found("this item is not a favorite")
}
