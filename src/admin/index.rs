//! `/admin/v1/index`: state, rebuilds and moves of the full-text index.

use axum::extract::State;
use serde::Deserialize;
use trawl_macros::operation;

use crate::{
    admin::AdminState,
    auth::extract::Identified,
    config::EngineKind,
    error::Result,
    http::{envelope::Envelope, extract::JsonObject},
    indexer::IndexState,
};

/// A move of the index to another engine.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
pub struct MoveForm {
    /// The engine that is to answer searches.
    to: EngineKind,
}

/// State of the shared full-text index.
#[operation(admin, 200 = "The index")]
pub async fn show_index(
    State(state): State<AdminState>,
    Identified(_caller): Identified,
) -> Result<Envelope<IndexState>> {
    Ok(Envelope::of(state.index.state().await))
}

/// Rebuilds the full-text index of all tenants; the old one answers, as `partial`, until then.
#[operation(
    admin, 200 = "The rebuild has begun; state of the index",
    409 = "It is being rebuilt already, or two indexes do not fit; the message says which",
    503 = "The disk has no room for a second index, or the indexer does not answer",
)]
pub async fn rebuild_index(
    State(state): State<AdminState>,
    Identified(caller): Identified,
) -> Result<Envelope<IndexState>> {
    let state = state.index.rebuild().await?;
    tracing::info!(client_id = %caller.client_id, "an operator requested a rebuild of the full-text index");
    Ok(Envelope::of(state))
}

/// Fills another engine beside the present one, which answers searches until the other is level.
///
/// The move holds until this server stops: set `engine.kind` before its next start.
#[operation(
    admin, 200 = "The move has begun; state of the index",
    409 = "A move runs, the engine answers already, or its cluster is not configured",
    503 = "The indexer does not answer",
)]
pub async fn move_index(
    State(state): State<AdminState>,
    Identified(caller): Identified,
    JsonObject(form): JsonObject<MoveForm>,
) -> Result<Envelope<IndexState>> {
    let state = state.index.move_to(form.to).await?;
    tracing::info!(client_id = %caller.client_id, to = form.to.name(), "an operator moved the full-text index");
    Ok(Envelope::of(state))
}
