//! Personal favorites and their labels (book: reference/favorites-and-badges.md).

pub mod documents;
pub mod labels;
mod list;
mod repo;
pub mod routes;
pub mod rules;

use std::sync::Arc;

use crate::{config::Limits, store::Store};

/// Route state.
#[derive(Clone)]
pub struct FavoritesState {
    pub(crate) store: Store,
    pub(crate) limits: Arc<Limits>,
}
