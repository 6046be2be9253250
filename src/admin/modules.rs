//! `/admin/v1/modules` (book: how-to/operate.md).

use axum::extract::State;
use trawl_macros::operation;

use crate::{
    admin::AdminState,
    auth::extract::Identified,
    error::Result,
    http::{
        envelope::Envelope,
        extract::{JsonObject, PathParameter},
        precondition::{IfMatch, Tagged},
    },
    registry::{Author, ModuleForm, RegisteredModule},
};

/// Lists the tenant's modules with their sources, by `orderNo`.
#[operation(admin, 200 = "The modules")]
pub async fn list_tenant_modules(
    State(state): State<AdminState>,
    Identified(caller): Identified,
) -> Result<Envelope<Vec<RegisteredModule>>> {
    Ok(Envelope::list(state.registry.list_modules(caller.tenant.id).await?))
}

/// Registers a module.
#[operation(
    admin, 200 = "The module",
    409 = "Its id or code is taken, or the tenant has the maximum of modules",
)]
pub async fn create_module(
    State(state): State<AdminState>,
    Identified(caller): Identified,
    JsonObject(form): JsonObject<ModuleForm>,
) -> Result<Envelope<RegisteredModule>> {
    Ok(Envelope::of(state.registry.create_module(Author::caller(&caller), form).await?))
}

/// Returns one module with its sources.
#[operation(admin, id = "The module's id", 200 = "The module", 404 = "There is no such module")]
pub async fn find_module(
    State(state): State<AdminState>,
    Identified(caller): Identified,
    PathParameter(id): PathParameter,
) -> Result<Tagged<RegisteredModule>> {
    state.registry.find_module(caller.tenant.id, &id).await
}

/// Replaces a module; absent fields get defaults.
#[operation(
    admin, id = "The module's id", 200 = "The module",
    404 = "There is no such module",
    409 = "Its code is taken",
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
#[operation(admin, id = "The module's id", 200 = "It is removed", 404 = "There is no such module")]
pub async fn remove_module(
    State(state): State<AdminState>,
    Identified(caller): Identified,
    PathParameter(id): PathParameter,
    if_match: IfMatch,
) -> Result<Envelope<()>> {
    state.registry.remove_module(Author::caller(&caller), id, if_match).await?;
    Ok(Envelope::of(()))
}
