//! The trawl server as a library: see ARCHITECTURE.md for the map.

pub mod admin;
pub mod app;
pub mod audit;
pub mod auth;
pub mod blobs;
pub mod budget;
pub mod cli;
pub mod config;
pub mod confined;
pub mod demo;
pub mod error;
pub mod figures;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
pub mod http;
pub mod identity;
pub mod index_progress;
pub mod indexer;
pub mod json;
pub mod maintenance;
pub mod pages;
pub mod platform;
pub mod registry;
pub mod replicas;
mod rows;
pub mod server;
pub mod store;
pub mod telemetry;
pub mod time;
