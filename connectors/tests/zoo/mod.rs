//! Sources that break the contract, each in one place: what the conformance check and the server are tested with.
//!
//! Every one of them is the reference source behind a layer that does one thing wrong; all else keeps to the contract.
//! This folder is part of two test binaries: this crate's, and the server's.

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
pub(crate) use running::{KEYWORD, Running, start, start_healthy};

/// Every fault; their names differ.
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
