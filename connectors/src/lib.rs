//! The contract of external sources, its client and its conformance check.
//!
//! Authors of sources read the contract in `README.md`; its clauses are in the book (reference/contract.md). This crate
//! knows neither index, database nor HTTP API.
//!
//! A search goes through `client`, `token`, `transport`, `answer` and `item`. `transport` calls only addresses that `addresses` allows.
//! `mapping` turns systems with a search of their own into sources.
//! `check` holds a source to the letter of the contract. `callback` and `document` call other systems over the same transport.

mod action;
mod addresses;
mod answer;
mod callback;
pub mod check;
mod client;
mod content_type;
mod credentials;
mod document;
mod error;
mod feed;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod gallery;
mod html;
mod identity;
mod item;
mod lenient_json;
mod mapping;
mod nesting;
mod numbers;
mod redaction;
mod request;
mod settings;
mod templates;
mod text;
pub mod times;
mod token;
mod trace;
mod transport;

/// OpenAPI 3.1 document in JSON.
pub const CONTRACT: &str = include_str!("../contract.openapi.json");

pub use action::{check_action, check_action_addresses, check_address, check_picture};
pub use addresses::{AddressRefusal, AddressRules, InvalidHost};
pub use answer::{Answer, MAX_CURSOR_BYTES, parse_answer};
pub use callback::{CallbackClient, CallbackError};
pub use client::{Question, SourceClient};
pub use credentials::{ApiKey, BasicCredentials, BearerToken, DEFAULT_API_KEY_HEADER, InvalidCredentials};
pub use document::{exchange_document, fetch_document};
pub use error::SourceError;
pub use feed::{FeedAnswer, FeedClient, Validators};
pub use gallery::{GalleryAuth, GalleryEntry, GalleryPerson, gallery, gallery_file, read_entry};
pub use html::{decode_references, escaped_to_text, html_to_text};
pub use identity::{
    Assertion, AssertionClaims, AssertionHeader, AssertionIssuer, AssertionSubject, DEFAULT_ASSERTION_HEADER,
    KnownPerson, SourceIdentity,
};
pub use item::{ContentItem, bounds};
pub use mapping::{
    AnswerMapping, FieldFault, InterpreterPool, MappedCalls, Mapping, MappingError, Paging, RequestMapping,
    confined_command, serve_interpreter,
};
pub use nesting::{JsonValueCounter, MAX_DEPTH, TooDeep, check_json_depth, count_json_values, read_json};
pub use numbers::grouped;
pub use settings::{
    Authentication, ClientCredentials, DEFAULT_MAX_BODY_BYTES, DeclaredOrder, Grant, Method, SettingsError,
    SourceSettings,
};
pub use templates::{TEMPLATES, Template};
pub use text::{clean_line, clean_lines};
pub use trace::TraceContext;
