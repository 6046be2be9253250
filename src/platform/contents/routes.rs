//! `PUT /v1/contents/{moduleCode}` and its delete.

use axum::extract::State;
use serde_json::value::RawValue;
use trawl_macros::operation;

use super::{
    forms::{self, Content, ItemFailure},
    repo, service,
};
use crate::{
    auth::extract::Identified,
    error::Result,
    http::{
        envelope::Envelope,
        extract::{JsonList, PathParameter},
    },
    platform::{contents::ContentsState, shared::patch::check_id},
};

/// Inserts or replaces items by id.
#[operation(
    contents, module_code = "The module's code, such as `article`", request_body = Vec<Content>,
    200 = "Rejected items with reasons",
    404 = "There is no such module",
)]
pub async fn put_contents(
    State(state): State<ContentsState>,
    Identified(caller): Identified,
    PathParameter(module_code): PathParameter,
    JsonList(items): JsonList<Box<RawValue>>,
) -> Result<Envelope<Vec<ItemFailure>>> {
    service::check_module(&state, caller.tenant.id, &module_code).await?;
    let (contents, failures) = forms::read_batch(items.iter().map(AsRef::as_ref));
    let tenant_id = caller.tenant.id;
    if !contents.is_empty() {
        state.bulk.wait_for_room(contents.len()).await?;
        state
            .store
            .write_for(tenant_id, move |transaction| {
                Box::pin(async move { repo::upsert(transaction, tenant_id, &module_code, &contents).await })
            })
            .await?;
    }
    Ok(Envelope::list(failures))
}

/// Removes items; unknown ids are ignored.
#[operation(
    contents, module_code = "The module's code", 200 = "Rejected ids with reasons",
    404 = "There is no such module",
)]
pub async fn delete_contents(
    State(state): State<ContentsState>,
    Identified(caller): Identified,
    PathParameter(module_code): PathParameter,
    JsonList(ids): JsonList<String>,
) -> Result<Envelope<Vec<ItemFailure>>> {
    service::check_module(&state, caller.tenant.id, &module_code).await?;
    let (ids, wrong): (Vec<String>, Vec<String>) = ids.into_iter().partition(|id| check_id(id).is_ok());
    let tenant_id = caller.tenant.id;
    state.bulk.wait_for_room(ids.len()).await?;
    state
        .store
        .write_for(tenant_id, move |transaction| {
            Box::pin(async move { repo::delete(transaction, tenant_id, &module_code, &ids).await.map(drop) })
        })
        .await?;
    let failures =
        wrong.into_iter().map(|id| ItemFailure { message: check_id(&id).err().unwrap_or_default(), id });
    Ok(Envelope::list(failures.collect()))
}
