//! `/v1/favorite` and `/v1/favorites`: each person's own.

use std::sync::Arc;

use axum::{
    extract::{FromRequest, Request, State},
    http::StatusCode,
    response::Response,
};
use serde::Deserialize;
use serde_json::{Map, Value, value::RawValue};

use super::{
    labels::model::{LabelList, read_label_list},
    list::{self, ListQuery},
    model::{Favorite, FavoriteForm, LabelledFavorite, Owner},
    repo,
};
use crate::{
    api::{
        envelope::{BodyRefusals, Envelope, FailureEnvelope, Refusals, json},
        extract::{Identified, JsonBody, JsonObject, PathParameter, QueryParameters, has_body},
    },
    app::App,
    error::{Error, Result},
    platform::common::check_id_of,
};

/// Which favorite.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct Which {
    /// The favorite's `itemId`.
    #[param(required = true)]
    favorite_id: Option<String>,
}

impl Which {
    fn checked(self) -> Result<String> {
        let id = self.favorite_id.unwrap_or_default();
        check_id_of("favoriteId", &id).map_err(Error::bad_request)?;
        Ok(id)
    }
}

/// From which of the two lists.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct Removal {
    /// Whether it is removed from the favorites of the feed too; default false.
    sync_blog_favor: Option<bool>,
}

/// The labels that a favorite is to have; a request without a body names none.
pub struct Labels(Option<Vec<String>>);

impl<S: Sync> FromRequest<S> for Labels {
    type Rejection = Error;

    async fn from_request(request: Request, state: &S) -> Result<Self> {
        if !has_body(&request) {
            return Ok(Self(None));
        }
        let JsonBody(body) = JsonBody::<Box<RawValue>>::from_request(request, state).await?;
        read_label_list(&body).map(Self).map_err(|reason| Error::bad_request(format!("body: {reason}")))
    }
}

/// One favorite of the caller's, with its labels; also one that is left among those of the feed alone.
#[utoipa::path(
    get, path = "/v1/favorite", tag = "favorites", params(Which),
    responses(
        (status = 200, description = "The favorite", body = Envelope<LabelledFavorite>),
        Refusals,
        (status = 404, description = "It is not a favorite of the caller's", body = FailureEnvelope),
    )
)]
pub async fn show_favorite(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    QueryParameters(which): QueryParameters<Which>,
) -> Result<Envelope<LabelledFavorite>> {
    let (owner, item_id) = (Owner::of(&caller)?, which.checked()?);
    let favorite = repo::show(app.store.reader(), &owner, &item_id).await?;
    favorite.map(Envelope::of).ok_or_else(repo::unknown)
}

/// Gives a favorite of the caller's these labels and no other ones; without a list it keeps those that it has. The body is the
/// list of their ids, or an object that holds it as `labelList`.
#[utoipa::path(
    post, path = "/v1/favorite/update", tag = "favorites", params(Which), request_body(content = Option<LabelList>),
    responses(
        (status = 200, description = "It has these labels", body = Envelope<Object>),
        Refusals, BodyRefusals,
        (status = 404, description = "It is not a favorite of the caller's", body = FailureEnvelope),
    )
)]
pub async fn update_favorite(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    QueryParameters(which): QueryParameters<Which>,
    Labels(label_ids): Labels,
) -> Result<Envelope<Map<String, Value>>> {
    let (owner, item_id) = (Owner::of(&caller)?, which.checked()?);
    let job = app.store.write(move |transaction| {
        Box::pin(async move { repo::label(transaction, &owner, &item_id, label_ids).await })
    });
    job.await?;
    Ok(Envelope::of(Map::new()))
}

/// The caller's favorites, the newest first: a list without an envelope, as the document has it; failures have theirs. Following the
/// last one's `createdDate` as `cursor` loses nothing and repeats nothing.
#[utoipa::path(
    get, path = "/v1/favorites", tag = "favorites", params(ListQuery),
    responses((status = 200, description = "The favorites", body = Vec<Favorite>), Refusals)
)]
pub async fn list_favorites(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    QueryParameters(query): QueryParameters<ListQuery>,
) -> Result<Response> {
    let (owner, wanted) = (Owner::of(&caller)?, query.checked(app.config.limits.keyword_chars)?);
    let favorites = if wanted.has_keyword() {
        // Looked for in every one of them.
        let read = |reader| async move { Ok(list::read(&reader, &owner, &wanted).await?) };
        app.store.scan(read).await?
    } else {
        list::read(app.store.reader(), &owner, &wanted).await?
    };
    Ok(json(StatusCode::OK, &favorites))
}

/// Makes an item a favorite of the caller's. One that is left among those of the feed alone becomes a favorite again, with what is
/// sent now and a new time.
#[utoipa::path(
    post, path = "/v1/favorites", tag = "favorites", request_body = FavoriteForm,
    responses(
        (status = 200, description = "The favorite", body = Envelope<LabelledFavorite>),
        Refusals, BodyRefusals,
        (status = 409, description = "It is a favorite already, or there are as many as may be", body = FailureEnvelope),
    )
)]
pub async fn add_favorite(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    JsonObject(form): JsonObject<FavoriteForm>,
) -> Result<Envelope<LabelledFavorite>> {
    let (owner, form) = (Owner::of(&caller)?, form.checked().map_err(Error::bad_request)?);
    let job = app
        .store
        .write(move |transaction| Box::pin(async move { repo::add(transaction, &owner, form).await }));
    Ok(Envelope::of(job.await?))
}

/// Removes an item from the caller's favorites. What was synchronised to the feed stays among those of the feed, unless
/// `syncBlogFavor` removes it there too; what comes from the feed (content type 8) is removed from both.
#[utoipa::path(
    delete, path = "/v1/favorites/{itemId}", tag = "favorites",
    params(("itemId" = String, Path, description = "The favorited resource id"), Removal),
    responses(
        (status = 200, description = "It is removed", body = Envelope<Object>),
        Refusals,
        (status = 404, description = "It is not a favorite of the caller's", body = FailureEnvelope),
    )
)]
pub async fn remove_favorite(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    PathParameter(item_id): PathParameter,
    QueryParameters(removal): QueryParameters<Removal>,
) -> Result<Envelope<Map<String, Value>>> {
    let owner = Owner::of(&caller)?;
    check_id_of("itemId", &item_id).map_err(Error::bad_request)?;
    let from_feed_too = removal.sync_blog_favor.unwrap_or_default();
    let job = app.store.write(move |transaction| {
        Box::pin(async move { repo::remove(transaction, &owner, &item_id, from_feed_too).await })
    });
    job.await?;
    Ok(Envelope::of(Map::new()))
}
