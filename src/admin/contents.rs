//! `/admin/v1/contents`: content items as they were written, and their import from files.

use axum::extract::{Request, State};
use serde::Deserialize;
use trawl_macros::operation;

use crate::{
    auth::extract::Identified,
    error::Result,
    http::{
        envelope::{BodyRefusals, Envelope},
        extract::{PathParameter, QueryParameters, read_body},
        paging::{Page, PageQuery},
    },
    platform::contents::{
        ContentsState,
        import::{ContentImport, import_contents},
        service::{self, ListedContent, StoredContent},
    },
};

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
    admin, module_code = "The module's code, such as `article`", 200 = "The items",
    404 = "There is no such module",
)]
pub async fn list_contents(
    State(state): State<ContentsState>,
    Identified(caller): Identified,
    PathParameter(module_code): PathParameter,
    QueryParameters(query): QueryParameters<ContentsQuery>,
) -> Result<Page<ListedContent>> {
    let limit = PageQuery::new(None, query.limit).limit()?;
    let after = query.cursor.unwrap_or_default();
    let found = service::list_contents(&state, caller.tenant.id, &module_code, &after, limit + 1);
    Ok(Page::of(found.await?, limit, |content| content.id.clone()))
}

/// Returns one item as it was written, whoever may see it.
#[operation(
    admin, module_code = "The module's code, such as `article`", id = "The item's id", 200 = "The item",
    404 = "There is no such module or item",
)]
pub async fn find_content(
    State(state): State<ContentsState>,
    Identified(caller): Identified,
    PathParameter((module_code, id)): PathParameter<(String, String)>,
) -> Result<Envelope<StoredContent>> {
    let found = service::find_content(&state, caller.tenant.id, &module_code, id);
    Ok(Envelope::of(found.await?))
}

/// Removes one item.
#[operation(
    admin, module_code = "The module's code, such as `article`", id = "The item's id",
    200 = "It is removed",
    404 = "There is no such module or item",
)]
pub async fn remove_content(
    State(state): State<ContentsState>,
    Identified(caller): Identified,
    PathParameter((module_code, id)): PathParameter<(String, String)>,
) -> Result<Envelope<()>> {
    service::remove_content(&state, &caller, module_code, id).await?;
    Ok(Envelope::of(()))
}

/// Imports a file: JSON Lines, a JSON array, RSS, Atom or JSON Feed, plain, gzip or zstd.
///
/// Its rows are those of `trawl import`, which takes larger files. Rejected rows do not keep the others back; if the
/// call ends early, rows already written stay.
#[operation(
    admin, module_code = "The module's code, such as `article`",
    request_body(content = Vec<u8>, content_type = "application/octet-stream", description = "The file"),
    200 = "Counts and rejected rows",
    404 = "There is no such module",
    BodyRefusals,
)]
pub async fn import_file(
    State(state): State<ContentsState>,
    Identified(caller): Identified,
    PathParameter(module_code): PathParameter,
    request: Request,
) -> Result<Envelope<ContentImport>> {
    let file = read_body(request).await?;
    Ok(Envelope::of(import_contents(&state, &caller, &module_code, file).await?))
}
