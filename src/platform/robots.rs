//! Robots that write messages into groups by a webhook, the messages, and the templates of cards (decisions 9.5).

pub mod documents;
pub mod following;
pub mod limits;
pub mod model;
mod repo;
pub mod routes;
pub mod templates;
mod token;
