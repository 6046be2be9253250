//! Rows of favorites.

use sea_orm::{ConnectionTrait, DbErr, FromQueryResult, Value};
use uuid::Uuid;

use super::{
    documents::FAVORITE,
    labels,
    model::{Favorite, FavoriteForm, LabelledFavorite, MOST_FAVORITES, Marks, Owner},
};
use crate::{
    error::{Error, Result},
    store::{Transaction, find_in, now_millis, sql},
};

/// The columns of what is searched; `FromQueryResult` finds them by name.
const COLUMNS: &str = "sequence, id, tenant_id, user_id, item_id, source_name, source_display_name, content, keyword, created_at";

/// The columns of what is shown to its owner.
pub(super) const SHOWN: &str = "item_id, source_id, source_type, source_name, source_display_name, content_type, content, \
    created_at";

/// One kept favorite.
#[derive(Clone, Debug, FromQueryResult)]
pub(super) struct Row {
    pub(super) sequence: i64,
    pub(super) id: String,
    pub(super) tenant_id: i64,
    pub(super) user_id: String,
    pub(super) item_id: String,
    pub(super) source_name: Option<String>,
    pub(super) source_display_name: Option<String>,
    pub(super) content: Option<String>,
    pub(super) keyword: Option<String>,
    pub(super) created_at: i64,
}

/// Unary plus, as for tasks: each is looked up by its id, however many there are.
fn find_text() -> String {
    format!("SELECT {COLUMNS} FROM favorites WHERE +tenant_id = ? AND is_favorite = 1 AND id")
}

/// The tenant's favorites with these ids of the index, as far as they are searched.
pub(super) async fn find<C: ConnectionTrait>(
    reader: &C,
    tenant_id: i64,
    ids: &[String],
) -> Result<Vec<Row>, DbErr> {
    find_in(reader, &find_text(), &[tenant_id.into()], ids).await
}

/// Up to `limit` favorites of all tenants after `sequence` that are searched, in the order of that.
pub(super) async fn scan<C: ConnectionTrait>(
    reader: &C,
    sequence: i64,
    limit: u64,
) -> Result<Vec<Row>, DbErr> {
    Row::find_by_statement(sql(
        format!(
            "SELECT {COLUMNS} FROM favorites WHERE sequence > ? AND is_favorite = 1 ORDER BY sequence LIMIT ?"
        ),
        [sequence.into(), limit.into()],
    ))
    .all(reader)
    .await
}

/// How many favorites are searched.
pub(super) async fn count<C: ConnectionTrait>(reader: &C) -> Result<i64, DbErr> {
    let text = "SELECT COUNT(*) AS favorites FROM favorites WHERE is_favorite = 1";
    let row = reader.query_one_raw(sql(text, [])).await?;
    row.map_or(Ok(0), |row| row.try_get("", "favorites"))
}

/// What is known of an item that the person keeps.
#[derive(Debug, FromQueryResult)]
struct Known {
    sequence: i64,
    id: String,
    content_type: i64,
    is_favorite: bool,
    is_feed_favorite: bool,
}

impl Known {
    fn marks(&self) -> Marks {
        Marks { is_favorite: self.is_favorite, is_feed_favorite: self.is_feed_favorite }
    }
}

async fn find_known<C: ConnectionTrait>(
    reader: &C,
    owner: &Owner,
    item_id: &str,
) -> Result<Option<Known>, DbErr> {
    Known::find_by_statement(sql(
        "SELECT sequence, id, content_type, is_favorite, is_feed_favorite FROM favorites \
         WHERE tenant_id = ? AND user_id = ? AND item_id = ?",
        [owner.tenant_id.into(), owner.user_id.as_str().into(), item_id.into()],
    ))
    .one(reader)
    .await
}

/// The person's favorite of this item, with its labels.
pub(super) async fn show<C: ConnectionTrait>(
    reader: &C,
    owner: &Owner,
    item_id: &str,
) -> Result<Option<LabelledFavorite>> {
    let Some(known) = find_known(reader, owner, item_id).await? else { return Ok(None) };
    let statement = sql(
        format!("SELECT {SHOWN} FROM favorites WHERE tenant_id = ? AND sequence = ? AND id = ?"),
        [owner.tenant_id.into(), known.sequence.into(), known.id.into()],
    );
    let Some(favorite) = Favorite::find_by_statement(statement).one(reader).await? else { return Ok(None) };
    let label_list = labels::repo::of_favorite(reader, owner, known.sequence).await?;
    Ok(Some(LabelledFavorite { favorite, label_list }))
}

/// A time for a favorite of the person: not before now, and after every one that was given before.
async fn give_time(transaction: &Transaction, owner: &Owner) -> Result<i64> {
    let statement = sql(
        "INSERT INTO favorite_times (tenant_id, user_id, last_created_at) VALUES (?, ?, ?) \
         ON CONFLICT (tenant_id, user_id) \
         DO UPDATE SET last_created_at = MAX(last_created_at + 1, excluded.last_created_at) RETURNING last_created_at",
        [owner.tenant_id.into(), owner.user_id.as_str().into(), now_millis().into()],
    );
    let row = transaction.query_one_raw(statement).await?;
    let row = row.ok_or_else(|| Error::internal("no time was given to a favorite"))?;
    Ok(row.try_get("", "last_created_at")?)
}

/// Makes an item a favorite.
///
/// # Errors
/// 409 where it is one already or there are too many, 400 for its labels.
pub(super) async fn add(
    transaction: &Transaction,
    owner: &Owner,
    mut form: FavoriteForm,
) -> Result<LabelledFavorite> {
    let known = find_known(&**transaction, owner, &form.item_id).await?;
    let Some(marks) = form.marks(known.as_ref().map(Known::marks)) else {
        return Err(Error::conflict("itemId: this item is a favorite already"));
    };
    if known.is_none() {
        check_room(transaction, owner).await?;
    }
    let created_at = give_time(transaction, owner).await?;
    let (label_ids, item_id) = (form.label_list.take().unwrap_or_default(), form.item_id.clone());
    let id = known.map_or_else(|| Uuid::new_v4().to_string(), |known| known.id);
    let sequence = put(transaction, owner, &id, form, marks, created_at).await?;
    labels::repo::replace(transaction, owner, sequence, label_ids).await?;
    transaction.record_change(owner.tenant_id, FAVORITE, &id);
    let shown = show(&**transaction, owner, &item_id).await?;
    shown.ok_or_else(|| Error::internal("a favorite that was added is not there"))
}

/// # Errors
/// 409 where the person has as many favorites as may be.
async fn check_room(transaction: &Transaction, owner: &Owner) -> Result<()> {
    let statement = sql(
        "SELECT 1 FROM favorites WHERE tenant_id = ? AND user_id = ? LIMIT 1 OFFSET ?",
        [owner.tenant_id.into(), owner.user_id.as_str().into(), (MOST_FAVORITES - 1).into()],
    );
    if transaction.query_one_raw(statement).await?.is_none() {
        return Ok(());
    }
    let refusal = format!("there are {MOST_FAVORITES} favorites already, the most that a person may have");
    Err(Error::conflict(refusal))
}

/// Writes a favorite in the place of the one of the same item, if there is one; answers its number.
async fn put(
    transaction: &Transaction,
    owner: &Owner,
    id: &str,
    form: FavoriteForm,
    marks: Marks,
    created_at: i64,
) -> Result<i64, DbErr> {
    let (content_type, folded) = (form.content_type(), form.folded());
    let values: [Value; 15] = [
        id.into(),
        owner.tenant_id.into(),
        owner.user_id.as_str().into(),
        form.item_id.into(),
        marks.is_favorite.into(),
        marks.is_feed_favorite.into(),
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
    let row = transaction.query_one_raw(statement).await?;
    row.ok_or_else(|| DbErr::RecordNotFound("the favorite that was written".to_owned()))?
        .try_get("", "sequence")
}

/// Removes an item from the person's favorites, `from_feed_too` from those of the feed as well.
///
/// # Errors
/// 404 where it is not among them.
pub(super) async fn remove(
    transaction: &Transaction,
    owner: &Owner,
    item_id: &str,
    from_feed_too: bool,
) -> Result<()> {
    let known = find_known(&**transaction, owner, item_id).await?.ok_or_else(unknown)?;
    let left = known.marks().without(known.content_type, from_feed_too).ok_or_else(unknown)?;
    let statement = if left.is_none() {
        sql(
            "DELETE FROM favorites WHERE tenant_id = ? AND sequence = ?",
            [owner.tenant_id.into(), known.sequence.into()],
        )
    } else {
        sql(
            "UPDATE favorites SET is_favorite = 0 WHERE tenant_id = ? AND sequence = ?",
            [owner.tenant_id.into(), known.sequence.into()],
        )
    };
    transaction.execute_raw(statement).await?;
    transaction.record_change(owner.tenant_id, FAVORITE, &known.id);
    Ok(())
}

/// Gives a favorite these labels and no other ones; without a list nothing changes.
///
/// # Errors
/// 404 where it is none, 400 for the labels.
pub(super) async fn label(
    transaction: &Transaction,
    owner: &Owner,
    item_id: &str,
    label_ids: Option<Vec<String>>,
) -> Result<()> {
    let known = find_known(&**transaction, owner, item_id).await?.ok_or_else(unknown)?;
    match label_ids {
        None => Ok(()),
        Some(ids) => labels::repo::replace(transaction, owner, known.sequence, ids).await,
    }
}

/// 404: it is not a favorite of this person.
pub(super) fn unknown() -> Error {
    Error::not_found("this item is not a favorite")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{ROWS_PER_STATEMENT, tests::plan_of_find};

    #[tokio::test]
    async fn many_favorites_are_found_by_their_ids() {
        for count in [1, 2, 30, ROWS_PER_STATEMENT] {
            let plan = plan_of_find(&find_text(), &[1.into()], count).await;
            let [step] = plan.as_slice() else { panic!("{count}: {plan:?}") };
            assert!(step.ends_with("(id=?)"), "{count}: {step}");
        }
    }
}
