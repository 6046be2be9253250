//! An external system as a source: a stack of layers, cache(single flight(suspension(hedging(client)))).
//!
//! One page, from top to bottom:
//!
//! 1. `source` finds the key of the page: registration, keyword and the source's own cursor.
//! 2. `page_cache` answers with a fresh page, else calls the layers below. A stale page stands in for a failure.
//! 3. `call_timeout` takes the suspension's permission before a call is joined: nobody waits for another's probe. It
//!    limits the call and records its end. A call given up at the search's deadline runs on to its own limit, to
//!    tell slow from down. A probe always does, else one call of each source.
//!    A source that answered too late three times in a row is asked and not waited for (`lateness`).
//! 4. `single_flight` shares the call with identical ones; a call without waiters is dropped.
//! 5. `hedging` sends a second request if the first is late.
//! 6. `client` makes the request, `page` reads its answer, and the call caches it, also after its search.
//!
//! Then `page` and `resume` filter and sort the page for one search.
//!
//! Sources without an identity are called as the application, so a tenant shares their pages. Pages of the others, and
//! the calls in flight for them, are of one person each. The span and the trace of a call are those of the search that
//! began it.

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

pub use client::{ClientSettings, PropagateTrace};
pub use health::SourceState;
pub use page_cache::SourcePageCache;
pub use source::{ExternalSettings, ExternalSource};
pub use suspension::Suspended;

#[cfg(test)]
pub(crate) use {
    page::{into_page, resume_point},
    page_cache::Origin,
    raw_page::{RawPage, SourcePageKey},
};
