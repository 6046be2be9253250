//! Search: request → plan → postings → matches → order → page.
//!
//! Results of a segment are cached as long as it exists (`segment_cache`). A commit costs a look at new
//! segments and deletions.

mod budget;
mod correction;
mod execute;
mod facets;
mod matches;
mod plan;
mod postings;
mod prefix_expansion;
mod ranking;
mod readers;
mod relevance;
mod set_builder;
mod statistics;
mod stored;
mod time_order;
mod viewer_scope;

pub(crate) use self::correction::{are_all_found, unknown_words};
pub(crate) use self::execute::{newest_hits, search, search_at_once};
pub(crate) use self::facets::count_fields;
