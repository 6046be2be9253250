//! What the benches over HTTP share: data directories, server processes, the load, and how figures are shown.

pub(crate) mod data;
pub(crate) mod load;
pub(crate) mod peer;
pub(crate) mod report;
pub(crate) mod server;
pub(crate) mod turns;
