//! `/admin/v1/modules` (book: how-to/operate.md).

use axum::extract::State;
use trawl_macros::operation;

use crate::{
    admin::AdminState,
    auth::extract::Identified,
    error::Result,
    http::{
        envelope::{BodyRefusals, Envelope, FailureEnvelope, Refusals},
        extract::{JsonObject, PathParameter},
        precondition::{IfMatch, PreconditionRefusal, Tagged},
    },
    registry::{Author, ModuleForm, RegisteredModule},
};

/// Lists the tenant's modules with their sources, by `orderNo`.
#[operation(tag = "admin", responses(
    (status = 200, description = "The modules", body = Envelope<Vec<RegisteredModule>>),
    Refusals,
))]
pub async fn list_modules(
    State(state): State<AdminState>,
    Identified(caller): Identified,
) -> Result<Envelope<Vec<RegisteredModule>>> {
    Ok(Envelope::list(state.registry.list_modules(caller.tenant.id).await?))
}

/// Registers a module.
#[operation(
    tag = "admin", request_body = ModuleForm,
    responses(
        (status = 200, description = "The module", body = Envelope<RegisteredModule>),
        Refusals, BodyRefusals,
        (status = 409, description = "Its id or code is taken, or the tenant has the maximum of modules", body = FailureEnvelope),
    )
)]
pub async fn create_module(
    State(state): State<AdminState>,
    Identified(caller): Identified,
    JsonObject(form): JsonObject<ModuleForm>,
) -> Result<Envelope<RegisteredModule>> {
    Ok(Envelope::of(state.registry.create_module(Author::caller(&caller), form).await?))
}

/// Returns one module with its sources.
#[operation(
    tag = "admin",
    params(("id" = String, Path, description = "The module's id")),
    responses(
        (status = 200, description = "The module", body = Envelope<RegisteredModule>, headers(("ETag"))),
        Refusals,
        (status = 404, description = "There is no such module", body = FailureEnvelope),
    )
)]
pub async fn find_module(
    State(state): State<AdminState>,
    Identified(caller): Identified,
    PathParameter(id): PathParameter,
) -> Result<Tagged<RegisteredModule>> {
    state.registry.find_module(caller.tenant.id, &id).await
}

/// Replaces a module; absent fields get defaults.
#[operation(
    tag = "admin", request_body = ModuleForm,
    params(("id" = String, Path, description = "The module's id"), IfMatch),
    responses(
        (status = 200, description = "The module", body = Envelope<RegisteredModule>, headers(("ETag"))),
        Refusals, BodyRefusals, PreconditionRefusal,
        (status = 404, description = "There is no such module", body = FailureEnvelope),
        (status = 409, description = "Its code is taken", body = FailureEnvelope),
    )
)]
pub async fn replace_module(
    State(state): State<AdminState>,
    Identified(caller): Identified,
    PathParameter(id): PathParameter,
    if_match: IfMatch,
    JsonObject(form): JsonObject<ModuleForm>,
) -> Result<Tagged<RegisteredModule>> {
    state.registry.replace_module(Author::caller(&caller), id, form, if_match).await
}

/// Removes a module; its content stays.
#[operation(
    tag = "admin",
    params(("id" = String, Path, description = "The module's id"), IfMatch),
    responses(
        (status = 200, description = "It is removed", body = Envelope<Option<String>>),
        Refusals, PreconditionRefusal,
        (status = 404, description = "There is no such module", body = FailureEnvelope),
    )
)]
pub async fn remove_module(
    State(state): State<AdminState>,
    Identified(caller): Identified,
    PathParameter(id): PathParameter,
    if_match: IfMatch,
) -> Result<Envelope<()>> {
    state.registry.remove_module(Author::caller(&caller), id, if_match).await?;
    Ok(Envelope::of(()))
}
