//! The shared modules that this bench needs.

#[path = "../common/data_directory.rs"]
pub(crate) mod data_directory;
#[path = "../common/load.rs"]
pub(crate) mod load;
#[path = "../common/report.rs"]
pub(crate) mod report;
#[path = "../common/server.rs"]
pub(crate) mod server;
