//! `/v1/enterprises/…` (the document's "Tenants", decisions 3.6).

use std::sync::Arc;

use axum::extract::State;
use serde::Deserialize;

use super::enterprises::{self, EnterpriseForm, Fate};
use crate::{
    api::{
        envelope::{BodyRefusals, Envelope, FailureEnvelope, Refusals},
        extract::{Identified, JsonObject, QueryParameters},
    },
    app::App,
    auth::caller::Caller,
    error::{Error, Result},
};

/// Which enterprise.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(rename_all = "camelCase")]
pub struct EnterpriseQuery {
    /// The tenant code. Required.
    e_code: Option<String>,
}

/// Registers an enterprise, which starts with the built-in modules, and answers its new tenant code. What `indicated-e-code`
/// names must be the caller's to act on, and is otherwise without effect.
#[utoipa::path(
    post, path = "/v1/enterprises/register", tag = "tenants", request_body = EnterpriseForm,
    responses((status = 200, description = "The new eCode", body = Envelope<String>), Refusals, BodyRefusals)
)]
pub async fn register_enterprise(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    JsonObject(form): JsonObject<EnterpriseForm>,
) -> Result<Envelope<String>> {
    Ok(Envelope::of(enterprises::register(&app, caller, form).await?))
}

/// Deletes an enterprise: its tokens are worthless and its code is free at once; its data is removed in the background.
#[utoipa::path(
    post, path = "/v1/enterprises/delete", tag = "tenants", params(EnterpriseQuery),
    responses(
        (status = 200, description = "Its eCode", body = Envelope<String>),
        Refusals,
        (status = 404, description = "There is no such tenant", body = FailureEnvelope),
        (status = 409, description = "It is the one that the operator is signed in to", body = FailureEnvelope),
    )
)]
pub async fn delete_enterprise(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    QueryParameters(query): QueryParameters<EnterpriseQuery>,
) -> Result<Envelope<String>> {
    decide(&app, caller, query, Fate::Delete).await
}

/// Freezes an enterprise: every call of it or on it is 403 `tenant is frozen` until it is unfrozen.
#[utoipa::path(
    post, path = "/v1/enterprises/freeze", tag = "tenants", params(EnterpriseQuery),
    responses(
        (status = 200, description = "Its eCode", body = Envelope<String>),
        Refusals,
        (status = 404, description = "There is no such tenant", body = FailureEnvelope),
        (status = 409, description = "It is the one that the operator is signed in to", body = FailureEnvelope),
    )
)]
pub async fn freeze_enterprise(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    QueryParameters(query): QueryParameters<EnterpriseQuery>,
) -> Result<Envelope<String>> {
    decide(&app, caller, query, Fate::Freeze).await
}

/// Unfreezes an enterprise; everything is as before, its tokens too.
#[utoipa::path(
    post, path = "/v1/enterprises/unfreeze", tag = "tenants", params(EnterpriseQuery),
    responses(
        (status = 200, description = "Its eCode", body = Envelope<String>),
        Refusals,
        (status = 404, description = "There is no such tenant", body = FailureEnvelope),
    )
)]
pub async fn unfreeze_enterprise(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    QueryParameters(query): QueryParameters<EnterpriseQuery>,
) -> Result<Envelope<String>> {
    decide(&app, caller, query, Fate::Unfreeze).await
}

async fn decide(
    app: &Arc<App>,
    caller: Arc<Caller>,
    query: EnterpriseQuery,
    fate: Fate,
) -> Result<Envelope<String>> {
    let code = query.e_code.filter(|code| !code.is_empty());
    let code = code.ok_or_else(|| Error::bad_request("eCode: is required, the code of a tenant"))?;
    Ok(Envelope::of(enterprises::decide(app, caller, code, fate).await?))
}
