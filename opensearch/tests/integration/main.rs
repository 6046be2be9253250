//! Tests of the engine over OpenSearch: the suite of all engines, and what replicas share.

#![allow(clippy::unwrap_used, reason = "tests say what they expect by unwrapping it")]

mod engine_under_test;
mod health;
mod indexes;
mod leadership;
#[path = "../node/mod.rs"]
mod node;
mod proxy;
mod replica;

#[path = "../../../engine/tests/suite/mod.rs"]
mod suite;
