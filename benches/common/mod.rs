//! Shared by the benches over HTTP.

pub(crate) mod data_directory;
pub(crate) mod interleave;
pub(crate) mod load;
pub(crate) mod peer;
pub(crate) mod report;
pub(crate) mod server;
