//! The crate against real sockets and arbitrary bytes.

#[cfg(test)]
mod address;
#[cfg(test)]
mod answer;
#[cfg(test)]
mod callback;
#[cfg(test)]
mod compression;
#[cfg(test)]
mod credentials;
#[cfg(test)]
mod document;
#[cfg(test)]
mod failure;
#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod identity;
#[cfg(test)]
#[path = "../people/mod.rs"]
mod people;
#[cfg(test)]
mod redirect;
#[cfg(test)]
mod request;
#[cfg(test)]
mod support;
#[cfg(test)]
mod token;
#[cfg(test)]
mod warm;
