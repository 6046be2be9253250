//! The contract as authors meet it: the reference source, the description in OpenAPI, and the faulty sources that the
//! conformance check and the server are tested with.

#[cfg(test)]
mod check;
#[cfg(test)]
mod document;
#[cfg(test)]
mod faulty;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod reference;
#[cfg(test)]
mod support;
#[cfg(test)]
mod unusual;
#[cfg(test)]
#[path = "../zoo/mod.rs"]
mod zoo;
