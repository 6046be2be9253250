//! `GET /v1/contents/{moduleCode}/{id}`: one item, as the caller may see it.

mod answer;
mod connections;
mod opening;
pub mod routes;
mod text_part;

use std::{sync::Arc, time::Duration};

use trawl_search::Coordinator;

use crate::{config::Limits, store::Store};

/// Route state.
#[derive(Clone)]
pub struct ItemsState {
    pub(crate) coordinator: Arc<Coordinator>,
    pub(crate) store: Store,
    pub(crate) public_url: Arc<str>,
    pub(crate) limits: Arc<Limits>,
    pub(crate) timeout: Duration,
}
