//! The trawl server as a library: see ARCHITECTURE.md for the map.

pub mod auth;
pub mod config;
pub mod error;
pub mod search;
pub mod store;
