//! An external system as a source.
//!
//! `source` asks for one page in this order:
//!
//! 1. `page_cache`: a fresh page is the answer. A stale one will stand in for a failure.
//! 2. `wait`: a source that was late three times in a row is asked and not waited for (`lateness`).
//! 3. `call_timeout`: the suspension permits the call, before one is joined: nobody waits for another's probe. `call_rate` does not count
//!    calls that are joined.
//! 4. `single_flight`: identical calls share one; a call without waiters is dropped.
//! 5. `call_timeout`: the call is limited and its end recorded. One given up at its search's deadline runs on to its own limit, to
//!    tell slow from down. A probe always does, else one call of each source.
//! 6. `hedging`: a second request follows if the first is late. `client` makes them, `raw_page` reads the answer.
//! 7. `page_cache`: the call keeps its page, also after its search.
//!
//! Then `page` and `resume` filter and sort the page for one search.
//!
//! Sources without an identity are called as the application, so a tenant shares their pages. Pages of the others, and
//! the calls in flight for them, are of one person each. The span and the trace of a call are those of the search that
//! began it.

mod call_rate;
mod call_timeout;
mod client;
pub mod health;
mod hedge_budget;
mod hedging;
mod lateness;
mod page;
mod page_cache;
mod positions;
mod raw_page;
mod resume;
mod source;
mod suspension;
mod wait;

pub use client::{ClientSettings, PropagateTrace};
pub use health::SourceState;
pub use page_cache::SourcePageCache;
pub use source::{ExternalSettings, ExternalSource};
pub use suspension::Suspended;

#[cfg(test)]
pub(crate) use {
    page::{into_page, resume_point},
    page_cache::PageOrigin,
    raw_page::{RawPage, SourcePageKey},
};
