use std::sync::Arc;

use crate::token::Token;

/// Credentials of one call.
#[derive(Clone)]
pub(crate) enum CallCredentials {
    None,
    /// From the token endpoint.
    Token(Arc<Token>),
    /// Registered credentials, without a token endpoint.
    Fixed,
    Wrong,
}

/// Assertion of one call, if the source takes assertions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallAssertion {
    /// An assertion of the person of the check.
    Proper,
    Missing,
    /// An assertion with another signature.
    Forged,
    /// An assertion for another audience.
    Misdirected,
    Expired,
    /// An assertion of a person whom nobody knows.
    Nobody,
}
