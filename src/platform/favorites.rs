//! What people keep for themselves, under labels of their own (decisions 9.3).

pub mod documents;
mod repo;
