//! Tests of the engine through its public interface.

#![allow(clippy::unwrap_used, reason = "tests say what they expect by unwrapping it")]

mod correction;
mod damage;
mod highlight;
mod matching;
mod model;
mod names;
mod opening;
mod paging;
mod relevance;
mod support;
mod writing;
