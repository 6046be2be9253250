//! `/admin/v1/index`: how the full-text index is, and how it is rebuilt while the server runs.

use std::sync::Arc;

use axum::extract::State;

use crate::{
    api::{
        envelope::{Envelope, FailureEnvelope, Refusals},
        extract::Identified,
    },
    app::App,
    error::Result,
    indexer::IndexState,
};

/// How the full-text index is, which all tenants share.
#[utoipa::path(get, path = "/admin/v1/index", tag = "admin", responses(
    (status = 200, description = "The index", body = Envelope<IndexState>),
    Refusals,
))]
pub async fn show_index(
    State(app): State<Arc<App>>,
    Identified(_caller): Identified,
) -> Result<Envelope<IndexState>> {
    Ok(Envelope::of(app.index.state().await?))
}

/// Has the full-text index of all tenants be filled anew, beside the one that is there, which answers until it is replaced:
/// answers are `partial` meanwhile and say so, and lack nothing.
#[utoipa::path(
    post, path = "/admin/v1/index/rebuild", tag = "admin",
    responses(
        (status = 200, description = "It has begun; how the index is now", body = Envelope<IndexState>),
        Refusals,
        (status = 409, description = "It is being filled already, or there cannot be two at once; the message says which",
            body = FailureEnvelope),
        (status = 503, description = "The disk has no room for a second index, or the indexer does not answer",
            body = FailureEnvelope),
    )
)]
pub async fn rebuild_index(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
) -> Result<Envelope<IndexState>> {
    let state = app.index.rebuild().await?;
    tracing::info!(client_id = %caller.client_id, "an operator has the full-text index rebuilt");
    Ok(Envelope::of(state))
}
