//! The coordinator: one search, asked of every source of a module at once and answered as one list; or of every module.
//!
//! `plan` decides where each source continues, `gather` asks them, `merge` releases what no source can still
//! overtake, `cursor` writes down where each source stands; `run` goes through these in rounds. `plan`, `merge` and
//! `cursor` do no I/O.

mod answer;
mod builtin;
mod cache;
pub mod clock;
mod coordinator;
mod cursor;
mod duplicates;
mod external;
mod gather;
pub mod health;
mod highlight;
mod loops;
mod merge;
mod plan;
pub mod registry;
pub mod request;
mod run;
pub mod served;
pub mod slow;
pub mod source;
mod suspension;
mod weight;

pub use answer::{Answer, Failure, SourceCounts, SourceReport, Status};
pub use coordinator::{AllModules, Coordinator, Held, ModuleAnswer};
pub use duplicates::Duplicates;
pub use highlight::Highlight;
pub use source::Item;
pub use weight::Weight;
