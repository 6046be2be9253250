//! The contract: reference source, OpenAPI description, conformance check, faulty sources.

#[cfg(test)]
mod check;
#[cfg(test)]
mod document;
#[cfg(test)]
mod faulty;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod identity;
#[cfg(test)]
#[path = "../people/mod.rs"]
mod people;
#[cfg(test)]
mod reference;
#[cfg(test)]
mod support;
#[cfg(test)]
mod unusual;
#[cfg(test)]
#[path = "../zoo/mod.rs"]
mod zoo;
