//! The crate against real sockets and arbitrary bytes.

#![allow(clippy::panic, clippy::unwrap_used, reason = "tests say what they expect by unwrapping it")]

mod address;
mod answer;
mod callback;
mod compression;
mod credentials;
mod document;
mod failure;
mod fuzz;
mod identity;
#[path = "../people/mod.rs"]
mod people;
mod redirect;
mod request;
mod support;
mod token;
mod warm;
mod wild;
