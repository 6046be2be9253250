//! Built-in content that no other endpoint creates: articles, news, feeds, an operator's own modules
//! (decisions 4.3).

pub mod documents;
pub mod model;
mod repo;
pub mod routes;
