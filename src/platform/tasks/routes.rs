//! `/api/todo/…` and `/api/done/…`.

pub mod create;
pub mod moves;
pub mod show;
