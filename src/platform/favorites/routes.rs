//! `/v1/favorite` and `/v1/favorites`.

use axum::{
    extract::{FromRequest, Request, State},
    http::StatusCode,
    response::Response,
};
use serde::Deserialize;
use serde_json::value::RawValue;
use trawl_macros::operation;

use super::{
    labels::forms::{LabelIds, LabelListForm, read_label_list},
    list::{self, FavoriteListQuery},
    repo,
    rules::{Favorite, FavoriteForm, LabelledFavorite, Owner},
};
use crate::{
    auth::extract::Identified,
    error::{Error, Result},
    http::{
        envelope::{BodyRefusals, Empty, Envelope, json},
        extract::{JsonBody, JsonObject, PathParameter, QueryParameters, has_body},
    },
    platform::{favorites::FavoritesState, shared::patch::check_id_of},
    store::Store,
};

/// Selects a favorite.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct FavoriteSelector {
    /// The favorite's `itemId`.
    #[param(required = true)]
    favorite_id: Option<String>,
}

impl FavoriteSelector {
    fn checked(self) -> Result<String> {
        let id = self.favorite_id.unwrap_or_default();
        check_id_of("favoriteId", &id).map_err(Error::bad_request)?;
        Ok(id)
    }
}

/// Selects the lists to remove from.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct FavoriteRemovalQuery {
    /// Whether to remove it from the feed favorites too; default false.
    sync_blog_favor: Option<bool>,
}

/// New labels; none for an empty body.
pub struct FavoriteLabels(Option<LabelIds>);

impl<S: Sync> FromRequest<S> for FavoriteLabels {
    type Rejection = Error;

    async fn from_request(request: Request, state: &S) -> Result<Self> {
        if !has_body(&request) {
            return Ok(Self(None));
        }
        let JsonBody(body) = JsonBody::<Box<RawValue>>::from_request(request, state).await?;
        read_label_list(&body).map(Self).map_err(|reason| Error::bad_request(format!("body: {reason}")))
    }
}

/// Returns a favorite of the caller with its labels, including feed-only ones.
#[operation(favorites, 200 = "The favorite", 404 = "Not a favorite of the caller")]
pub async fn show_favorite(
    State(state): State<FavoritesState>,
    Identified(caller): Identified,
    QueryParameters(selector): QueryParameters<FavoriteSelector>,
) -> Result<Envelope<LabelledFavorite>> {
    let (owner, item_id) = (Owner::of(&caller)?, selector.checked()?);
    let favorite = repo::show(state.store.reader(), &owner, &item_id).await?;
    favorite.map(Envelope::of).ok_or_else(repo::unknown)
}

/// Replaces the labels of a favorite, if given. Takes a list of ids, or an object with `labelList`.
#[operation(
    favorites, request_body(content = Option<LabelListForm>, description = "An array of the ids alone is read, too"), 200 = "The labels were replaced",
    404 = "Not a favorite of the caller",
    BodyRefusals,
)]
pub async fn update_favorite(
    State(state): State<FavoritesState>,
    Identified(caller): Identified,
    QueryParameters(selector): QueryParameters<FavoriteSelector>,
    FavoriteLabels(label_ids): FavoriteLabels,
) -> Result<Envelope<Empty>> {
    let (owner, item_id) = (Owner::of(&caller)?, selector.checked()?);
    let job = state.store.write_for(owner.tenant_id, move |transaction| {
        Box::pin(async move { repo::label(transaction, &owner, &item_id, label_ids).await })
    });
    job.await?;
    Ok(Envelope::empty())
}

/// Lists the caller's favorites, newest first, without an envelope. Pass the last `createdDate` as `cursor`; pages
/// neither overlap nor miss entries.
#[operation(favorites, 200 = "The favorites": Vec<Favorite>)]
pub async fn list_favorites(
    State(state): State<FavoritesState>,
    Identified(caller): Identified,
    QueryParameters(query): QueryParameters<FavoriteListQuery>,
) -> Result<Response> {
    let (owner, filter) = (Owner::of(&caller)?, query.checked(state.limits.keyword_chars)?);
    let favorites = if filter.has_keyword() {
        // A keyword scans all of the person's favorites.
        let read = |store: Store| async move { Ok(list::read(store.reader(), &owner, &filter).await?) };
        state.store.scan(read).await?
    } else {
        list::read(state.store.reader(), &owner, &filter).await?
    };
    Ok(json(StatusCode::OK, &favorites))
}

/// Adds an item to the caller's favorites. Feed-only entries take the new content and time.
#[operation(favorites, 200 = "The favorite", 409 = "Already a favorite, or maximum reached")]
pub async fn add_favorite(
    State(state): State<FavoritesState>,
    Identified(caller): Identified,
    JsonObject(form): JsonObject<FavoriteForm>,
) -> Result<Envelope<LabelledFavorite>> {
    let (owner, form) = (Owner::of(&caller)?, form.checked().map_err(Error::bad_request)?);
    let job = state.store.write_for(owner.tenant_id, move |transaction| {
        Box::pin(async move { repo::add(transaction, &owner, form).await })
    });
    Ok(Envelope::of(job.await?))
}

/// Removes an item from the caller's favorites. `syncBlogFavor` also removes it from the feed; content type 8 leaves
/// both lists.
#[operation(
    favorites, item_id = "The favorited resource id", 200 = "The favorite was removed",
    404 = "Not a favorite of the caller",
)]
pub async fn remove_favorite(
    State(state): State<FavoritesState>,
    Identified(caller): Identified,
    PathParameter(item_id): PathParameter,
    QueryParameters(removal): QueryParameters<FavoriteRemovalQuery>,
) -> Result<Envelope<Empty>> {
    let owner = Owner::of(&caller)?;
    check_id_of("itemId", &item_id).map_err(Error::bad_request)?;
    let from_feed_too = removal.sync_blog_favor.unwrap_or_default();
    let job = state.store.write_for(owner.tenant_id, move |transaction| {
        Box::pin(async move { repo::remove(transaction, &owner, &item_id, from_feed_too).await })
    });
    job.await?;
    Ok(Envelope::empty())
}
