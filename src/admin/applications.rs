//! `/admin/v1/applications` (book: how-to/operate.md).

use axum::extract::{FromRequest, Request, State};
use trawl_macros::operation;

use crate::{
    auth::extract::Identified,
    error::Result,
    http::{
        envelope::{BodyRefusals, Envelope, FailureEnvelope, Refusals},
        extract::{JsonObject, PathParameter, has_body},
        precondition::{IfMatch, PreconditionRefusal, Tagged},
    },
    platform::tenants::{
        TenantsState,
        applications::{
            self, ApplicationForm, CreatedApplication, RegisteredApplication, RotatedSecret, RotationForm,
        },
    },
};

/// Lists the tenant's applications, oldest first.
#[operation(tag = "admin", responses(
    (status = 200, description = "The applications, without their secrets", body = Envelope<Vec<RegisteredApplication>>),
    Refusals,
))]
pub async fn list_applications(
    State(state): State<TenantsState>,
    Identified(caller): Identified,
) -> Result<Envelope<Vec<RegisteredApplication>>> {
    Ok(Envelope::list(applications::list(&state, &caller).await?))
}

/// Registers an application and shows its secrets once.
#[operation(
    tag = "admin", request_body = ApplicationForm,
    responses(
        (status = 200, description = "The application and its secrets", body = Envelope<CreatedApplication>),
        Refusals, BodyRefusals,
        (status = 409, description = "The tenant has the maximum of applications", body = FailureEnvelope),
    )
)]
pub async fn create_application(
    State(state): State<TenantsState>,
    Identified(caller): Identified,
    JsonObject(form): JsonObject<ApplicationForm>,
) -> Result<Envelope<CreatedApplication>> {
    Ok(Envelope::of(applications::create(&state, &caller, form).await?))
}

/// Returns one application.
#[operation(
    tag = "admin",
    params(("clientId" = String, Path, description = "The client id")),
    responses(
        (status = 200, description = "The application, without its secrets", body = Envelope<RegisteredApplication>,
            headers(("ETag"))),
        Refusals,
        (status = 404, description = "The tenant has no such application", body = FailureEnvelope),
    )
)]
pub async fn find_application(
    State(state): State<TenantsState>,
    Identified(caller): Identified,
    PathParameter(client_id): PathParameter,
) -> Result<Tagged<RegisteredApplication>> {
    applications::find(&state, &caller, &client_id).await
}

/// Changes an application at once, for issued tokens too; absent or null fields stay.
#[operation(
    tag = "admin", request_body = ApplicationForm,
    params(("clientId" = String, Path, description = "The client id"), IfMatch),
    responses(
        (status = 200, description = "The application, without its secrets", body = Envelope<RegisteredApplication>,
            headers(("ETag"))),
        Refusals, BodyRefusals, PreconditionRefusal,
        (status = 404, description = "The tenant has no such application", body = FailureEnvelope),
        (status = 409, description = "It is the calling application, or the operator's sign-in application, and would lock itself out", body = FailureEnvelope),
    )
)]
pub async fn change_application(
    State(state): State<TenantsState>,
    Identified(caller): Identified,
    PathParameter(client_id): PathParameter,
    if_match: IfMatch,
    JsonObject(form): JsonObject<ApplicationForm>,
) -> Result<Tagged<RegisteredApplication>> {
    applications::change(&state, &caller, client_id, form, if_match).await
}

/// Removes an application and its tokens; its data stays.
#[operation(
    tag = "admin",
    params(("clientId" = String, Path, description = "The client id"), IfMatch),
    responses(
        (status = 200, description = "It is removed", body = Envelope<Option<String>>),
        Refusals, PreconditionRefusal,
        (status = 404, description = "The tenant has no such application", body = FailureEnvelope),
        (status = 409, description = "It is the calling application, or the operator's sign-in application", body = FailureEnvelope),
    )
)]
pub async fn remove_application(
    State(state): State<TenantsState>,
    Identified(caller): Identified,
    PathParameter(client_id): PathParameter,
    if_match: IfMatch,
) -> Result<Envelope<()>> {
    applications::remove(&state, &caller, client_id, if_match).await?;
    Ok(Envelope::of(()))
}

/// Rotates the secret and shows it once; the old one stays valid for the overlap.
#[operation(
    tag = "admin",
    request_body(content = Option<RotationForm>),
    params(("clientId" = String, Path, description = "The client id")),
    responses(
        (status = 200, description = "The new secret", body = Envelope<RotatedSecret>),
        Refusals, BodyRefusals,
        (status = 404, description = "The tenant has no such application", body = FailureEnvelope),
        (status = 409, description =
            "It is public and has no secret, or the previous secret is still valid and `overlapSeconds` is not 0", body = FailureEnvelope),
    )
)]
pub async fn rotate_secret(
    State(state): State<TenantsState>,
    Identified(caller): Identified,
    PathParameter(client_id): PathParameter,
    request: Request,
) -> Result<Envelope<RotatedSecret>> {
    let form = if has_body(&request) {
        JsonObject::<RotationForm>::from_request(request, &()).await?.0
    } else {
        RotationForm::default()
    };
    Ok(Envelope::of(applications::rotate(&state, &caller, client_id, &form).await?))
}
