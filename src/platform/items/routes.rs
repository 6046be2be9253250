//! `GET /v1/contents/{moduleCode}/{id}`.

use axum::{
    extract::State,
    response::{IntoResponse, Response},
};
use serde::Deserialize;
use serde_json::{Map, Value};
use trawl_engine::Audience;
use trawl_macros::operation;
use trawl_search::{FoundItem, ItemRequest, Viewer};

use super::{
    ItemsState,
    answer::{ItemAnswer, ItemDetails, ItemSchema},
    connections,
    opening::Opening,
    text_part::{MAX_PART_BYTES, MIN_PART_BYTES, part},
};
use crate::{
    auth::extract::Identified,
    error::{Error, Result},
    http::{
        envelope::Envelope,
        extract::{PathParameter, QueryParameters},
    },
    platform::{documents::Area, favorites, search::routes::viewer},
};

/// The part of the item that is read.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase", default)]
#[into_params(parameter_in = Query)]
pub struct ItemParameters {
    /// Marks matches of a search (`highlight`).
    keyword: Option<String>,
    /// Source by id or name; else the first with such an item.
    source: Option<String>,
    /// Bytes of the text before the part. It moves back to the beginning of a character.
    #[param(value_type = Option<u64>, minimum = 0, default = 0)]
    offset: Option<String>,
    /// Bytes of the part. Its end moves back to the beginning of a character, so that parts join.
    #[param(value_type = Option<u64>, minimum = 4, maximum = 65536, default = 65536)]
    length: Option<String>,
}

impl ItemParameters {
    fn part(&self) -> Result<(usize, usize)> {
        let offset = match &self.offset {
            None => 0,
            Some(text) => text
                .parse()
                .map_err(|_| Error::bad_request("offset: must be a whole number of bytes, 0 or more"))?,
        };
        let length = match &self.length {
            None => Some(MAX_PART_BYTES),
            Some(text) => {
                text.parse().ok().filter(|length| (MIN_PART_BYTES..=MAX_PART_BYTES).contains(length))
            }
        };
        let length = length.ok_or_else(|| {
            Error::bad_request(format!(
                "length: must be a whole number of bytes, {MIN_PART_BYTES} to {MAX_PART_BYTES}"
            ))
        })?;
        Ok((offset, length))
    }
}

/// Shows one item of a module, as far as the caller may see it.
///
/// Items of external sources are those of the last hour's searches, while the cache holds them.
#[operation(
    contents, module_code = "The module's code or id", id = "The item's id, percent-encoded",
    200 = "The item": Envelope<ItemSchema>,
    404 = "There is no such module or item, or not for this caller",
)]
pub async fn show_item(
    State(state): State<ItemsState>,
    Identified(caller): Identified,
    PathParameter((module_code, id)): PathParameter<(String, String)>,
    QueryParameters(parameters): QueryParameters<ItemParameters>,
) -> Result<Response> {
    let (offset, length) = parameters.part()?;
    let keyword = parameters.keyword.as_deref().filter(|keyword| !keyword.trim().is_empty());
    let most = state.limits.keyword_chars;
    if keyword.is_some_and(|keyword| keyword.chars().count() > most) {
        return Err(Error::bad_request(format!("keyword: must hold at most {most} characters")));
    }
    let viewer = viewer(&caller);
    let request =
        ItemRequest { module: module_code, source: parameters.source.clone(), id, timeout: state.timeout };
    let found = find_item(&state, &viewer, request).await?.ok_or_else(no_such_item)?;
    let item: Map<String, Value> = serde_json::from_str(&found.item.json).map_err(Error::internal)?;
    let stated = |field: &str| item.get(field).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
    let text = match whole_text(&state, &viewer, &found).await? {
        Some(text) => text,
        None => stated("brief").unwrap_or_default().to_owned(),
    };
    let part = part(&text, offset, length).to_owned();
    let highlight = match keyword {
        Some(keyword) => Some(state.coordinator.highlight_item(&viewer, &found.item, &part, keyword).await?),
        None => None,
    };
    let (people, related) = connections::find(&state, &viewer, &found, stated("author")).await?;
    let details = ItemDetails {
        text: part,
        text_length: text.len(),
        highlight,
        opens: stated("action").and_then(Opening::read),
        people,
        related,
        module: found.module,
        source: found.source,
    };
    Ok(Envelope::of(ItemAnswer { item, details }).into_response())
}

/// The item, or the viewer's favorite of an item with this id.
async fn find_item(
    state: &ItemsState,
    viewer: &Viewer,
    mut request: ItemRequest,
) -> Result<Option<FoundItem>> {
    let found = state.coordinator.find_item(viewer, &request).await?;
    let (None, Some(user_id)) = (&found, &viewer.user_id) else { return Ok(found) };
    let reader = state.store.reader();
    let favorite = favorites::documents::document_id(reader, viewer.tenant_id, user_id, &request.id).await?;
    let Some(id) = favorite else { return Ok(None) };
    request.id = id;
    Ok(state.coordinator.find_item(viewer, &request).await?)
}

fn no_such_item() -> Error {
    Error::not_found("id: there is no such item, or not for you")
}

/// The text of built-in content, where it says more than the item.
///
/// The store is newer than the index. A document whose audience has changed meanwhile is not shown.
async fn whole_text(state: &ItemsState, viewer: &Viewer, found: &FoundItem) -> Result<Option<String>> {
    let Some(module) = &found.content else { return Ok(None) };
    let (reader, id) = (state.store.reader(), found.item.id.clone());
    let documents = Area::of(module).find(reader, &state.public_url, viewer.tenant_id, module, &[id]).await?;
    // The item may be gone since it was found.
    let Some(document) = documents.into_iter().next() else { return Ok(None) };
    let is_seen = match &document.audience {
        Audience::Tenant => true,
        Audience::Principals(principals) => principals.iter().any(|one| viewer.principals.contains(one)),
    };
    if !is_seen {
        return Err(no_such_item());
    }
    let texts = [document.text.map(|text| text.to_string()), Some(document.brief)];
    Ok(texts.into_iter().flatten().find(|text| !text.is_empty()))
}
