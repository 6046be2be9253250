//! The coordinator: one search over all sources of a module, answered as one list.
//!
//! [`Coordinator`] opens the cursor and plans the page (`plan`). `rounds` asks the sources (`fan_out`) and
//! merges their pages (`merge`). Modules come through [`ModuleDirectory`]; nothing here knows HTTP or the
//! database.
//!
//! `plan`, `merge`, `cursor`, `loop_guard`, `duplicates`, `relaxation`, `suspension` and `vocabulary` do no I/O.

mod answer;
pub mod clock;
mod coordinator;
mod cursor;
mod duplicates;
mod error;
mod explanation;
mod facets;
mod fan_out;
pub mod figures;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod highlight;
pub mod latencies;
mod loop_guard;
mod merge;
mod module;
pub mod panics;
mod pinned;
mod plan;
mod relaxation;
mod request;
mod rounds;
mod settings;
mod single_flight;
pub mod slow;
mod source;
pub mod sources;
#[cfg(test)]
mod testing;
mod vocabulary;
mod weight;

pub use answer::{FacetValue, Facets, Relaxed, SearchFailure, SearchPage, SourceCounts, SourceReport};
pub use coordinator::{
    AllModules, AnswerReservation, Coordinator, FoundItem, ItemRequest, ModuleAnswer, ModuleItemKey,
    Suggestion, SuggestionKind, SuggestionRequest,
};
pub use cursor::CursorKey;
pub use duplicates::Duplicates;
pub use error::{Error, Result};
pub use explanation::Explanation;
pub use highlight::Highlight;
pub use module::{Module, ModuleDirectory, TenantModules, TenantSource};
pub use request::{
    FacetSelection, Filters, ModuleSearch, PageRequest, PageStart, SearchOrder, SearchParameters, Viewer,
};
pub use settings::{CacheSettings, SuspensionRule, SuspensionSettings};
pub use single_flight::{SharedCall, SingleFlight};
pub use source::{FailureKind, ResultItem, Status};
pub use vocabulary::{PinnedItem, Vocabulary, normalise};
pub use weight::Weight;
