//! What this bench needs of what the benches over HTTP share.

#[path = "../common/data.rs"]
pub(crate) mod data;
#[path = "../common/load.rs"]
pub(crate) mod load;
#[path = "../common/report.rs"]
pub(crate) mod report;
#[path = "../common/server.rs"]
pub(crate) mod server;
