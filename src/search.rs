//! The coordinator: one search, asked of every source of a module at once and answered as one list.
//!
//! `plan` decides where each source continues, `gather` asks them, `merge` releases what no source can still
//! overtake, `cursor` writes down where each source stands. `plan`, `merge` and `cursor` do no I/O.

mod builtin;
mod coordinator;
mod cursor;
mod external;
mod gather;
mod merge;
mod plan;
pub mod registry;
pub mod request;
pub mod source;

pub use coordinator::{Answer, Coordinator, Failure, SourceReport, Status};
pub use source::Item;
