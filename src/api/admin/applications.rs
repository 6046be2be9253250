//! `/admin/v1/applications` (decisions 3.2, 3.3, 3.7).

use std::sync::Arc;

use axum::extract::{FromRequest, Request, State};

use crate::{
    api::{
        envelope::{BodyRefusals, Envelope, FailureEnvelope, Refusals},
        extract::{Identified, JsonObject, PathParameter, has_body},
    },
    app::App,
    error::Result,
    platform::tenants::applications::{
        self, ApplicationForm, CreatedApplication, RegisteredApplication, RotatedSecret, RotationForm,
    },
};

/// The tenant's applications, the oldest first.
#[utoipa::path(get, path = "/admin/v1/applications", tag = "admin", responses(
    (status = 200, description = "The applications, without their secrets", body = Envelope<Vec<RegisteredApplication>>),
    Refusals,
))]
pub async fn list_applications(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
) -> Result<Envelope<Vec<RegisteredApplication>>> {
    Ok(Envelope::list(applications::list(&app, &caller).await?))
}

/// Registers an application with the tenant and shows its secrets, this once.
#[utoipa::path(
    post, path = "/admin/v1/applications", tag = "admin", request_body = ApplicationForm,
    responses(
        (status = 200, description = "The application and its secrets", body = Envelope<CreatedApplication>),
        Refusals, BodyRefusals,
        (status = 409, description = "The tenant has as many as it may", body = FailureEnvelope),
    )
)]
pub async fn create_application(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    JsonObject(form): JsonObject<ApplicationForm>,
) -> Result<Envelope<CreatedApplication>> {
    Ok(Envelope::of(applications::create(&app, &caller, form).await?))
}

/// One application.
#[utoipa::path(
    get, path = "/admin/v1/applications/{clientId}", tag = "admin",
    params(("clientId" = String, Path, description = "The client id")),
    responses(
        (status = 200, description = "The application, without its secrets", body = Envelope<RegisteredApplication>),
        Refusals,
        (status = 404, description = "The tenant has no such application", body = FailureEnvelope),
    )
)]
pub async fn find_application(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    PathParameter(client_id): PathParameter,
) -> Result<Envelope<RegisteredApplication>> {
    Ok(Envelope::of(applications::find(&app, &caller, &client_id).await?))
}

/// Changes an application; what the body leaves out, or gives as null, stays. Scopes and bound tenants count at once, for its
/// tokens too; disabling it makes them worthless for ever.
#[utoipa::path(
    put, path = "/admin/v1/applications/{clientId}", tag = "admin", request_body = ApplicationForm,
    params(("clientId" = String, Path, description = "The client id")),
    responses(
        (status = 200, description = "The application, without its secrets", body = Envelope<RegisteredApplication>),
        Refusals, BodyRefusals,
        (status = 404, description = "The tenant has no such application", body = FailureEnvelope),
        (status = 409, description = "It is the one that calls, or that the operator is signed in by, and would lock itself out", body = FailureEnvelope),
    )
)]
pub async fn change_application(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    PathParameter(client_id): PathParameter,
    JsonObject(form): JsonObject<ApplicationForm>,
) -> Result<Envelope<RegisteredApplication>> {
    Ok(Envelope::of(applications::change(&app, &caller, client_id, form).await?))
}

/// Removes an application; its tokens are worthless at once. What it wrote stays.
#[utoipa::path(
    delete, path = "/admin/v1/applications/{clientId}", tag = "admin",
    params(("clientId" = String, Path, description = "The client id")),
    responses(
        (status = 200, description = "It is removed", body = Envelope<Option<String>>),
        Refusals,
        (status = 404, description = "The tenant has no such application", body = FailureEnvelope),
        (status = 409, description = "It is the one that calls, or that the operator is signed in by", body = FailureEnvelope),
    )
)]
pub async fn remove_application(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    PathParameter(client_id): PathParameter,
) -> Result<Envelope<()>> {
    applications::remove(&app, &caller, client_id).await?;
    Ok(Envelope::of(()))
}

/// Gives an application a new secret and shows it, this once. The one before stays valid for a while; tokens stay.
#[utoipa::path(
    post, path = "/admin/v1/applications/{clientId}/secret", tag = "admin",
    request_body(content = Option<RotationForm>),
    params(("clientId" = String, Path, description = "The client id")),
    responses(
        (status = 200, description = "The new secret", body = Envelope<RotatedSecret>),
        Refusals, BodyRefusals,
        (status = 404, description = "The tenant has no such application", body = FailureEnvelope),
        (status = 409, description =
            "It is public and has no secret, or the secret before the last rotation is valid still and `overlapSeconds` is not 0", body = FailureEnvelope),
    )
)]
pub async fn rotate_secret(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    PathParameter(client_id): PathParameter,
    request: Request,
) -> Result<Envelope<RotatedSecret>> {
    let form = if has_body(&request) {
        JsonObject::<RotationForm>::from_request(request, &()).await?.0
    } else {
        RotationForm::default()
    };
    Ok(Envelope::of(applications::rotate(&app, &caller, client_id, &form).await?))
}
