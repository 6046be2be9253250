//! The built-in index as a source.
//!
//! Pages that are cheap to find are searched at once, others are cached.

mod page_cache;
mod ranked;
mod shared_view;
mod snapshot;
mod source;
mod spelling;
mod time_order;

pub use page_cache::IndexPageCache;
pub use snapshot::{Incompleteness, RebuildProgress, ServedIndex, ServedView};
pub use source::BuiltinSource;
pub(crate) use source::{ranked_together, request_of_id, statistics};
pub(crate) use spelling::Spelling;

#[cfg(test)]
pub(crate) use ranked::{into_pages, start_of};
#[cfg(test)]
pub(crate) use time_order::{into_page, start};

/// Begins ids of built-in sources, such as `builtin:article`.
const ID_PREFIX: &str = "builtin:";

/// Source id of this code.
pub fn id_of(code: &str) -> String {
    format!("{ID_PREFIX}{code}")
}

/// Code in a source id.
pub fn code_of(id: &str) -> Option<&str> {
    id.strip_prefix(ID_PREFIX)
}

pub(crate) fn is_id(id: &str) -> bool {
    id.starts_with(ID_PREFIX)
}
