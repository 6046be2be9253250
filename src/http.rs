//! Envelopes, extractors, paging and server-sent events of all routes.

pub mod badge_envelope;
pub mod client_address;
pub mod envelope;
pub mod events;
pub mod extract;
pub mod paging;
pub mod precondition;
