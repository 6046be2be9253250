//! `/admin/v1/applications` (book: how-to/operate.md).

use axum::extract::{FromRequest, Request, State};
use trawl_macros::operation;

use crate::{
    auth::extract::Identified,
    error::Result,
    http::{
        envelope::{BodyRefusals, Envelope},
        extract::{JsonObject, PathParameter, has_body},
        precondition::{IfMatch, Tagged},
    },
    platform::tenants::{
        TenantsState,
        applications::{
            self, ApplicationForm, CreatedApplication, RegisteredApplication, RotatedSecret, RotationForm,
        },
    },
};

/// Lists the tenant's applications, oldest first.
#[operation(admin, 200 = "The applications, without their secrets")]
pub async fn list_applications(
    State(state): State<TenantsState>,
    Identified(caller): Identified,
) -> Result<Envelope<Vec<RegisteredApplication>>> {
    Ok(Envelope::list(applications::list(&state, &caller).await?))
}

/// Registers an application and shows its secrets once.
#[operation(
    admin, 200 = "The application and its secrets",
    409 = "The tenant has the maximum of applications",
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
    admin, client_id = "The client id", 200 = "The application, without its secrets",
    404 = "The tenant has no such application",
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
    admin, client_id = "The client id", 200 = "The application, without its secrets",
    404 = "The tenant has no such application",
    409 = "It is the calling application, or the operator's sign-in application, and would lock itself out",
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
    admin, client_id = "The client id", 200 = "It is removed",
    404 = "The tenant has no such application",
    409 = "It is the calling application, or the operator's sign-in application",
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
    admin, client_id = "The client id", request_body(content = Option<RotationForm>),
    200 = "The new secret",
    404 = "The tenant has no such application",
    409 = "It is public and has no secret, or the previous secret is still valid and `overlapSeconds` is not 0",
    BodyRefusals,
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
