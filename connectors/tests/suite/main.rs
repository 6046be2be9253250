//! The crate against real sockets and arbitrary bytes: one binary, one module per area.

#[cfg(test)]
mod answer;
#[cfg(test)]
mod failure;
#[cfg(test)]
mod request;
#[cfg(test)]
mod support;
#[cfg(test)]
mod token;
