//! What operators do: tenants, applications and keys (decisions 3), the modules of a tenant and the sources that they show
//! (decisions 7.2), the full-text index, slow searches.

pub mod applications;
pub mod audit;
pub mod index;
pub mod keys;
pub mod modules;
mod paging;
pub mod searches;
pub mod sources;
pub mod tenants;
