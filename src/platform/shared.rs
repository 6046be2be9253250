//! Shared by several areas.

pub mod connections;
pub mod contact_text;
pub mod directory_rows;
pub mod documents;
pub mod keyword_filter;
pub mod known_id;
pub mod patch;
pub mod sync;
