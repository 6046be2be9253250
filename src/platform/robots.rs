//! Robots that write messages into groups by a webhook, and the messages (decisions 9.5).

pub mod documents;
pub mod model;
mod repo;
