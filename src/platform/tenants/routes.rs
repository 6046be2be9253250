//! `/v1/enterprises/…`: registration, freezing and deletion.

use std::sync::Arc;

use axum::extract::State;
use serde::Deserialize;
use trawl_macros::operation;

use super::enterprises::{self, EnterpriseAction, EnterpriseForm};
use crate::{
    auth::{caller::Caller, extract::Identified},
    error::{Error, Result},
    http::{
        envelope::Envelope,
        extract::{JsonObject, QueryParameters},
    },
    platform::tenants::TenantsState,
};

/// Enterprise to change.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(rename_all = "camelCase")]
pub struct EnterpriseQuery {
    /// Tenant code; required.
    e_code: Option<String>,
}

/// Registers an enterprise with built-in modules and returns its tenant code.
#[operation(tenants, 200 = "The new eCode", 409 = "The chosen eCode is taken")]
pub async fn register_enterprise(
    State(state): State<TenantsState>,
    Identified(caller): Identified,
    JsonObject(form): JsonObject<EnterpriseForm>,
) -> Result<Envelope<String>> {
    Ok(Envelope::of(enterprises::register(&state, caller, form).await?))
}

/// Deletes an enterprise: tokens and code at once, data in the background.
#[operation(
    tenants, 200 = "The enterprise's eCode",
    404 = "There is no such tenant",
    409 = "The operator is signed in to this tenant",
)]
pub async fn delete_enterprise(
    State(state): State<TenantsState>,
    Identified(caller): Identified,
    QueryParameters(query): QueryParameters<EnterpriseQuery>,
) -> Result<Envelope<String>> {
    decide(&state, caller, query, EnterpriseAction::Delete).await
}

/// Freezes an enterprise: its calls return 403 `tenant is frozen`.
#[operation(
    tenants, 200 = "The enterprise's eCode",
    404 = "There is no such tenant",
    409 = "The operator is signed in to this tenant",
)]
pub async fn freeze_enterprise(
    State(state): State<TenantsState>,
    Identified(caller): Identified,
    QueryParameters(query): QueryParameters<EnterpriseQuery>,
) -> Result<Envelope<String>> {
    decide(&state, caller, query, EnterpriseAction::Freeze).await
}

/// Unfreezes an enterprise; its tokens work again.
#[operation(tenants, 200 = "The enterprise's eCode", 404 = "There is no such tenant")]
pub async fn unfreeze_enterprise(
    State(state): State<TenantsState>,
    Identified(caller): Identified,
    QueryParameters(query): QueryParameters<EnterpriseQuery>,
) -> Result<Envelope<String>> {
    decide(&state, caller, query, EnterpriseAction::Unfreeze).await
}

async fn decide(
    state: &TenantsState,
    caller: Arc<Caller>,
    query: EnterpriseQuery,
    fate: EnterpriseAction,
) -> Result<Envelope<String>> {
    let code = query.e_code.filter(|code| !code.is_empty());
    let code = code.ok_or_else(|| Error::bad_request("eCode: is required, the code of a tenant"))?;
    Ok(Envelope::of(enterprises::decide(state, caller, code, fate).await?))
}
