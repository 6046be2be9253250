//! `/admin/v1/replicas`: the server processes over one database.

use axum::extract::State;
use trawl_macros::operation;

use crate::{
    admin::AdminState, auth::extract::Identified, error::Result, http::envelope::Envelope,
    replicas::ReplicaInfo,
};

/// Lists the replicas that have not stopped, with their lag behind the change log.
#[operation(admin, 200 = "The replicas by id; over SQLite this server alone")]
pub async fn list_replicas(
    State(state): State<AdminState>,
    Identified(_caller): Identified,
) -> Result<Envelope<Vec<ReplicaInfo>>> {
    Ok(Envelope::list(state.replicas.list(state.index.position()).await?))
}
