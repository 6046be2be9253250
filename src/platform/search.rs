//! `POST /modules`, `/contents/search` and `/contents/search/all` (book: reference/search.md).

pub mod accept;
mod after;
pub mod all;
mod entry;
mod events;
pub mod operator;
pub(in crate::platform) mod page;
mod parameters;
pub mod routes;

use std::{sync::Arc, time::Duration};

use tokio::sync::watch;
use trawl_search::{Coordinator, slow::SlowSearches};

use crate::{
    config::Limits,
    index_progress::{Progress, WaitingSearches},
    store::Store,
};

/// Route state.
#[derive(Clone)]
pub struct SearchState {
    pub(crate) store: Store,
    pub(crate) coordinator: Arc<Coordinator>,
    pub(crate) slow_searches: Arc<SlowSearches>,
    pub(crate) limits: Arc<Limits>,
    pub(crate) timeout: Duration,
    pub(crate) progress: watch::Receiver<Progress>,
    pub(crate) waiting: WaitingSearches,
}
