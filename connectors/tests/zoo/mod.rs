//! Sources that each break the contract in one place.
//!
//! Each is the reference source behind a layer with one fault. The server's tests use them, too.

mod access;
mod body;
mod envelope;
mod exchange;
mod fault;
mod fields;
mod keywords;
mod layer;
mod paging;
mod reference;
mod running;

pub(crate) use fault::{Fault, Rows};
pub(crate) use running::{KEYWORD, Running, start, start_for_people, start_healthy};

pub(crate) fn faults() -> Vec<Fault> {
    let families = [
        exchange::faults(),
        body::faults(),
        envelope::faults(),
        fields::faults(),
        paging::faults(),
        keywords::faults(),
        access::faults(),
    ];
    families.into_iter().flatten().collect()
}
