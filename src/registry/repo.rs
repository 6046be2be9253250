//! Rows of modules, sources and vocabularies.

pub(super) mod modules;
pub(super) mod sources;
pub(super) mod vocabularies;
