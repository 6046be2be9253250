//! Tests that every engine passes. Each includes it beside its own `engine_under_test`.

mod completion;
mod compounds;
mod correction;
mod facets;
mod highlight;
mod matching;
mod model;
mod names;
mod paging;
mod relevance;
pub(crate) mod support;
mod synonyms;
mod titles;
mod wild;
mod writing;
