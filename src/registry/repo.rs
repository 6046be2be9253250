//! Rows of modules and sources.

pub(super) mod modules;
pub(super) mod sources;
