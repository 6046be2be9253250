//! Tests of the embedded engine: the suite of all engines, and its files.

#![allow(clippy::unwrap_used, reason = "tests say what they expect by unwrapping it")]

mod damage;
mod engine_under_test;
mod opening;
mod replicas;
mod segments;

#[path = "../../../engine/tests/suite/mod.rs"]
mod suite;
