//! Rows of modules, sources, their checks and vocabularies.

pub(super) mod checks;
pub(super) mod modules;
pub(super) mod sources;
pub(super) mod vocabularies;
