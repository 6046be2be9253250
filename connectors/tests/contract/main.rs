//! The contract: reference source, OpenAPI description, conformance check, faulty sources.

#![allow(clippy::panic, clippy::unwrap_used, reason = "tests say what they expect by unwrapping it")]

mod check;
mod document;
mod faulty;
mod hostile;
mod identity;
#[path = "../people/mod.rs"]
mod people;
mod reference;
mod support;
mod unusual;
#[path = "../zoo/mod.rs"]
mod zoo;
