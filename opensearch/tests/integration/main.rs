//! Tests of the engine over OpenSearch: the suite of all engines, and what replicas share.

#![allow(clippy::unwrap_used, reason = "tests say what they expect by unwrapping it")]

mod engine_under_test;
mod health;
mod indexes;
mod leadership;
mod proxy;
mod replica;

#[path = "../../../engine/tests/suite/completion.rs"]
mod completion;
#[path = "../../../engine/tests/suite/compounds.rs"]
mod compounds;
#[path = "../../../engine/tests/suite/correction.rs"]
mod correction;
#[path = "../../../engine/tests/suite/facets.rs"]
mod facets;
#[path = "../../../engine/tests/suite/highlight.rs"]
mod highlight;
#[path = "../../../engine/tests/suite/matching.rs"]
mod matching;
#[path = "../../../engine/tests/suite/model.rs"]
mod model;
#[path = "../../../engine/tests/suite/names.rs"]
mod names;
#[path = "../../../engine/tests/suite/paging.rs"]
mod paging;
#[path = "../../../engine/tests/suite/relevance.rs"]
mod relevance;
#[path = "../../../engine/tests/suite/support.rs"]
mod support;
#[path = "../../../engine/tests/suite/synonyms.rs"]
mod synonyms;
#[path = "../../../engine/tests/suite/titles.rs"]
mod titles;
#[path = "../../../engine/tests/suite/writing.rs"]
mod writing;
