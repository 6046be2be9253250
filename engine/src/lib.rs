//! All that the full-text engines share: documents, text analysis, queries, pages and highlighting.
//!
//! Each engine gets the same words of a document and of a query. It answers a [`Request`] with the same [`HitPage`]. The
//! indexer fills an [`Engine`]; a search asks its last [`View`].

mod analysis;
mod completion;
pub mod correction;
mod document;
mod engine;
mod facets;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod highlight;
mod item;
mod page;
pub mod query;
pub mod relevance;
mod request;
mod sink;
pub mod text;

pub use analysis::{AnalysedDocument, Half, principal_term};
pub use completion::{CompletedPart, PrefixPlace, TypedPrefix};
pub use document::{Audience, Change, Document, MAX_ID_BYTES, SCOPE_END, Scope, tenant_range};
pub use engine::{Engine, Failure, Health, View, next_generation};
pub use facets::{Days, FacetFields, FieldCounts, MAX_FACET_VALUES, counted_author, day_of};
pub use highlight::{Extent, Highlighter};
pub use item::{Text, Texts};
pub use jiff::tz::TimeZone;
pub use page::{Hit, HitPage};
pub use query::Query;
pub use request::{RankedPage, RankedScope, Request, ScopeStart, Start, TimePosition};
pub use sink::{BesideIndexes, Checkpoint, Indexes, OpenedIndex, Sink};
pub use text::fold;
