//! `/admin/v1/contents`: content items as they were written, and their import from files.

use axum::extract::{Request, State};
use serde::Deserialize;
use trawl_macros::operation;

use crate::{
    auth::extract::Identified,
    error::Result,
    http::{
        envelope::{BodyRefusals, Envelope, FailureEnvelope, Refusals},
        extract::{PathParameter, PathParameters, QueryParameters, read_body},
        paging::{Page, PageQuery},
    },
    platform::contents::{
        ContentsState,
        import::{ContentImport, import_contents},
        service::{self, ListedContent, StoredContent},
    },
};

/// The path of an item.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContentPath {
    module_code: String,
    id: String,
}

/// Page of items.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ContentsQuery {
    /// Previous page's `cursor`.
    cursor: Option<String>,
    /// Items, 1 to 1,000; default 100.
    limit: Option<i64>,
}

/// Lists the items of a module by id, whoever may see them.
#[operation(
    tag = "admin",
    params(("moduleCode" = String, Path, description = "The module's code, such as `article`"), ContentsQuery),
    responses(
        (status = 200, description = "The items", body = Page<ListedContent>),
        Refusals,
        (status = 404, description = "There is no such module", body = FailureEnvelope),
    )
)]
pub async fn list_contents(
    State(state): State<ContentsState>,
    Identified(caller): Identified,
    PathParameter(module): PathParameter,
    QueryParameters(query): QueryParameters<ContentsQuery>,
) -> Result<Page<ListedContent>> {
    let limit = PageQuery::new(None, query.limit).limit()?;
    let after = query.cursor.unwrap_or_default();
    let found = service::list_contents(&state, caller.tenant.id, &module, &after, limit + 1);
    Ok(Page::of(found.await?, limit, |content| content.id.clone()))
}

/// Returns one item as it was written, whoever may see it.
#[operation(
    tag = "admin",
    params(
        ("moduleCode" = String, Path, description = "The module's code, such as `article`"),
        ("id" = String, Path, description = "The item's id"),
    ),
    responses(
        (status = 200, description = "The item", body = Envelope<StoredContent>),
        Refusals,
        (status = 404, description = "There is no such module or item", body = FailureEnvelope),
    )
)]
pub async fn find_content(
    State(state): State<ContentsState>,
    Identified(caller): Identified,
    PathParameters(path): PathParameters<ContentPath>,
) -> Result<Envelope<StoredContent>> {
    let found = service::find_content(&state, caller.tenant.id, &path.module_code, path.id);
    Ok(Envelope::of(found.await?))
}

/// Removes one item.
#[operation(
    tag = "admin",
    params(
        ("moduleCode" = String, Path, description = "The module's code, such as `article`"),
        ("id" = String, Path, description = "The item's id"),
    ),
    responses(
        (status = 200, description = "It is removed", body = Envelope<Option<String>>),
        Refusals,
        (status = 404, description = "There is no such module or item", body = FailureEnvelope),
    )
)]
pub async fn remove_content(
    State(state): State<ContentsState>,
    Identified(caller): Identified,
    PathParameters(path): PathParameters<ContentPath>,
) -> Result<Envelope<()>> {
    service::remove_content(&state, &caller, path.module_code, path.id).await?;
    Ok(Envelope::of(()))
}

/// Imports a file: JSON Lines, a JSON array, RSS, Atom or JSON Feed, plain, gzip or zstd.
///
/// Its rows are those of `trawl import`, which takes larger files. Rejected rows do not keep the others back; if the
/// call ends early, rows already written stay.
#[operation(
    tag = "admin",
    params(("moduleCode" = String, Path, description = "The module's code, such as `article`")),
    request_body(content = Vec<u8>, content_type = "application/octet-stream", description = "The file"),
    responses(
        (status = 200, description = "Counts and rejected rows", body = Envelope<ContentImport>),
        Refusals, BodyRefusals,
        (status = 404, description = "There is no such module", body = FailureEnvelope),
    )
)]
pub async fn import_file(
    State(state): State<ContentsState>,
    Identified(caller): Identified,
    PathParameter(module): PathParameter,
    request: Request,
) -> Result<Envelope<ContentImport>> {
    let file = read_body(request).await?;
    Ok(Envelope::of(import_contents(&state, &caller, &module, file).await?))
}
