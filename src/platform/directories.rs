//! Folders: who may do what in them, and what that is (specification, "Folders"; decisions 10).

pub mod access;
pub mod names;
pub mod permissions;
