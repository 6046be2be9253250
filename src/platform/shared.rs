//! Shared by several areas.

pub mod contact_text;
pub mod keyword_filter;
pub mod patch;
pub mod sync;
