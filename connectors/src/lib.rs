//! The contract that external sources answer, and the client that calls them.
//!
//! The contract is the section "Search data sources" of the specification; what it leaves open is in
//! decisions 7. This crate knows neither the built-in index nor the database nor the HTTP API.
//!
//! | Module | What it holds |
//! |---|---|
//! | `addresses` | [`AddressRules`]: where calls may go, whatever is registered and whatever a name resolves to |
//! | `settings` | How a source is reached: address, method, identity, limits |
//! | `client` | [`SourceClient`]: permit, token, request, bounded body, answer; one per source |
//! | `token` | `OAUTH2_CLIENT`: one token per source, fetched once however many wait |
//! | `transport` | What both endpoints share: connections to allowed addresses, redirects, bounded bodies, transport failures put into safe words |
//! | `answer` | [`parse_answer`]: bytes to [`Answer`], pure, tolerant of slips, strict about the contract |
//! | `item` | [`ContentItem`], its bounds, and how one is read from loose JSON |
//! | `action` | [`check_action`]: what a click does, in the documented form |
//! | [`check`] | The conformance check: each clause of the contract by name |
//! | `trace` | [`TraceContext`]: the trace that a call belongs to |
//! | `content_type` | `Content-Type` taken apart |
//! | `loose`, `text`, `blot` | Numbers sent as text, slips counted by kind; cleaning and bounding of texts; secrets blotted out of them |
//! | `callback` | [`CallbackClient`]: tells another system of something, once, over the same guarded connections |
//! | `document` | [`fetch_document`], [`exchange_document`]: small documents of systems that are no sources, over the same transport |
//! | `error` | [`SourceError`]: what kept a source from answering, in words safe to show |

mod action;
mod addresses;
mod answer;
mod blot;
mod callback;
pub mod check;
mod client;
mod content_type;
mod document;
mod error;
mod item;
mod loose;
mod settings;
mod text;
mod token;
mod trace;
mod transport;

/// The contract as an OpenAPI 3.1 document, in JSON.
pub const CONTRACT: &str = include_str!("../contract.openapi.json");

pub use action::check_action;
pub use addresses::{AddressRefusal, AddressRules, InvalidHost};
pub use answer::{Answer, MAX_CURSOR_BYTES, parse_answer};
pub use callback::{CallbackClient, CallbackError};
pub use client::{Question, SourceClient};
pub use document::{exchange_document, fetch_document};
pub use error::SourceError;
pub use item::{ContentItem, bounds};
pub use settings::{
    Authentication, ClientCredentials, DEFAULT_MAX_BODY_BYTES, DeclaredOrder, Method, SettingsError,
    SourceSettings,
};
pub use trace::TraceContext;
