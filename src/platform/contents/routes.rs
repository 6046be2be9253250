//! `PUT /v1/contents/{moduleCode}` and its delete (decisions 4.3).

use std::sync::Arc;

use axum::extract::State;
use serde_json::value::RawValue;

use super::{
    model::{self, Content, ItemFailure},
    repo,
};
use crate::{
    api::{
        envelope::{BodyRefusals, Envelope, FailureEnvelope, Refusals},
        extract::{Identified, JsonBody, PathParameter},
    },
    app::App,
    auth::caller::Caller,
    error::{Error, Result},
    platform::common::check_id,
};

/// Keeps items, each in the place of the one with its id.
#[utoipa::path(
    put, path = "/v1/contents/{moduleCode}", tag = "contents",
    params(("moduleCode" = String, Path, description = "The module's code, such as `article`")),
    request_body = Vec<Content>,
    responses(
        (status = 200, description = "The items that were not kept, and why", body = Envelope<Vec<ItemFailure>>),
        Refusals, BodyRefusals,
        (status = 404, description = "There is no such module", body = FailureEnvelope),
    )
)]
pub async fn put_contents(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    PathParameter(module): PathParameter,
    JsonBody(items): JsonBody<Vec<Box<RawValue>>>,
) -> Result<Envelope<Vec<ItemFailure>>> {
    check_module(&app, &caller, &module).await?;
    check_length(&app, items.len())?;
    let (kept, failures) = model::read_batch(&items);
    let tenant_id = caller.tenant.id;
    if !kept.is_empty() {
        app.bulk.wait_for_room(kept.len()).await?;
        app.store
            .write(move |transaction| {
                Box::pin(async move { repo::upsert(transaction, tenant_id, &module, &kept).await })
            })
            .await?;
    }
    Ok(Envelope::list(failures))
}

/// Removes items; ids that are not there are passed over.
#[utoipa::path(
    post, path = "/v1/contents/{moduleCode}/delete", tag = "contents",
    params(("moduleCode" = String, Path, description = "The module's code")),
    request_body = Vec<String>,
    responses(
        (status = 200, description = "The ids that were not removed, and why", body = Envelope<Vec<ItemFailure>>),
        Refusals, BodyRefusals,
        (status = 404, description = "There is no such module", body = FailureEnvelope),
    )
)]
pub async fn delete_contents(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    PathParameter(module): PathParameter,
    JsonBody(ids): JsonBody<Vec<String>>,
) -> Result<Envelope<Vec<ItemFailure>>> {
    check_module(&app, &caller, &module).await?;
    check_length(&app, ids.len())?;
    let (ids, wrong): (Vec<String>, Vec<String>) = ids.into_iter().partition(|id| check_id(id).is_ok());
    let tenant_id = caller.tenant.id;
    app.bulk.wait_for_room(ids.len()).await?;
    app.store
        .write(move |transaction| {
            Box::pin(async move { repo::delete(transaction, tenant_id, &module, &ids).await })
        })
        .await?;
    let failures =
        wrong.into_iter().map(|id| ItemFailure { message: check_id(&id).err().unwrap_or_default(), id });
    Ok(Envelope::list(failures.collect()))
}

/// The module must be one whose content comes in here.
async fn check_module(app: &App, caller: &Caller, module: &str) -> Result<()> {
    if !app.registry.modules_of(caller.tenant.id).await?.has_builtin(module) {
        return Err(Error::not_found(
            "moduleCode: no module of the tenant shows built-in content of this code",
        ));
    }
    match model::owning_endpoint(module) {
        Some(endpoint) => Err(Error::bad_request(format!(
            "moduleCode: the content of {module} comes in by {endpoint}, not here"
        ))),
        None => Ok(()),
    }
}

fn check_length(app: &App, length: usize) -> Result<()> {
    let most = app.config.limits.batch_items;
    if length > most {
        return Err(Error::bad_request(format!("body: must hold at most {most} items, not {length}")));
    }
    Ok(())
}
