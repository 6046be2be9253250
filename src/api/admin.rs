//! What operators do: the modules of a tenant and the sources that they show (decisions 7.2).

pub mod modules;
pub mod sources;
