//! The trawl server as a library: see ARCHITECTURE.md for the map.

pub mod answers;
pub mod api;
pub mod app;
pub mod audit;
pub mod auth;
pub mod bodies;
pub mod cli;
pub mod config;
pub mod demo;
pub mod edge;
pub mod error;
pub mod extraction;
pub mod indexer;
pub mod json;
pub mod latencies;
pub mod platform;
pub mod scanner;
pub mod search;
pub mod storage;
pub mod store;
pub mod telemetry;
pub mod upkeep;
