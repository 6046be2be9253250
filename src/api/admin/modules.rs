//! `/admin/v1/modules` (decisions 7.2).

use std::sync::Arc;

use axum::extract::State;

use crate::{
    api::{
        envelope::{BodyRefusals, Envelope, FailureEnvelope, Refusals},
        extract::{Identified, JsonObject, PathParameter},
    },
    app::App,
    error::Result,
    search::registry::{ModuleForm, RegisteredModule},
};

/// The tenant's modules with their sources, by `orderNo`.
#[utoipa::path(get, path = "/admin/v1/modules", tag = "admin", responses(
    (status = 200, description = "The modules", body = Envelope<Vec<RegisteredModule>>),
    Refusals,
))]
pub async fn list_modules(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
) -> Result<Envelope<Vec<RegisteredModule>>> {
    Ok(Envelope::list(app.registry.list_modules(caller.tenant.id).await?))
}

/// Registers a module; it can be searched from the answer on.
#[utoipa::path(
    post, path = "/admin/v1/modules", tag = "admin", request_body = ModuleForm,
    responses(
        (status = 200, description = "The module", body = Envelope<RegisteredModule>),
        Refusals, BodyRefusals,
        (status = 409, description = "Its id or code is taken, or the tenant has as many modules as it may", body = FailureEnvelope),
    )
)]
pub async fn create_module(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    JsonObject(form): JsonObject<ModuleForm>,
) -> Result<Envelope<RegisteredModule>> {
    Ok(Envelope::of(app.registry.create_module(caller.tenant.id, form).await?))
}

/// One module with its sources.
#[utoipa::path(
    get, path = "/admin/v1/modules/{id}", tag = "admin",
    params(("id" = String, Path, description = "The module's id")),
    responses(
        (status = 200, description = "The module", body = Envelope<RegisteredModule>),
        Refusals,
        (status = 404, description = "There is no such module", body = FailureEnvelope),
    )
)]
pub async fn find_module(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    PathParameter(id): PathParameter,
) -> Result<Envelope<RegisteredModule>> {
    Ok(Envelope::of(app.registry.find_module(caller.tenant.id, &id).await?))
}

/// Registers another module in the place of this one; what the body leaves out gets its default.
#[utoipa::path(
    put, path = "/admin/v1/modules/{id}", tag = "admin", request_body = ModuleForm,
    params(("id" = String, Path, description = "The module's id")),
    responses(
        (status = 200, description = "The module", body = Envelope<RegisteredModule>),
        Refusals, BodyRefusals,
        (status = 404, description = "There is no such module", body = FailureEnvelope),
        (status = 409, description = "Its code is taken", body = FailureEnvelope),
    )
)]
pub async fn replace_module(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    PathParameter(id): PathParameter,
    JsonObject(form): JsonObject<ModuleForm>,
) -> Result<Envelope<RegisteredModule>> {
    Ok(Envelope::of(app.registry.replace_module(caller.tenant.id, id, form).await?))
}

/// Removes a module. Its content stays, and another module may show it.
#[utoipa::path(
    delete, path = "/admin/v1/modules/{id}", tag = "admin",
    params(("id" = String, Path, description = "The module's id")),
    responses(
        (status = 200, description = "It is removed", body = Envelope<Option<String>>),
        Refusals,
        (status = 404, description = "There is no such module", body = FailureEnvelope),
    )
)]
pub async fn remove_module(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    PathParameter(id): PathParameter,
) -> Result<Envelope<()>> {
    app.registry.remove_module(caller.tenant.id, id).await?;
    Ok(Envelope::of(()))
}
