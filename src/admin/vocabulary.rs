//! `/admin/v1/vocabulary` (book: how-to/operate.md).

use axum::extract::State;
use trawl_macros::operation;

use crate::{
    admin::AdminState,
    auth::extract::Identified,
    error::Result,
    http::{
        extract::JsonObject,
        precondition::{IfMatch, Tagged},
    },
    registry::{Author, RegisteredVocabulary},
};

/// Returns the tenant's synonyms, words never corrected, and pinned items.
#[operation(admin, 200 = "The vocabulary")]
pub async fn show_vocabulary(
    State(state): State<AdminState>,
    Identified(caller): Identified,
) -> Result<Tagged<RegisteredVocabulary>> {
    state.registry.vocabulary(caller.tenant.id).await
}

/// Replaces the tenant's vocabulary, in force from the next search on.
///
/// Absent parts become empty. All parts together hold at most 10,000 terms and items.
#[operation(admin, 200 = "The vocabulary, with trimmed texts")]
pub async fn replace_vocabulary(
    State(state): State<AdminState>,
    Identified(caller): Identified,
    if_match: IfMatch,
    JsonObject(form): JsonObject<RegisteredVocabulary>,
) -> Result<Tagged<RegisteredVocabulary>> {
    state.registry.replace_vocabulary(Author::caller(&caller), form, if_match).await
}
