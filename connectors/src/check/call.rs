use std::sync::Arc;

use crate::token::Token;

/// Credentials of one call.
#[derive(Clone)]
pub(crate) enum CallCredentials {
    None,
    /// From the token endpoint.
    Token(Arc<Token>),
    /// As registered, without a token endpoint.
    Fixed,
    Wrong,
}

/// Assertion of one call, if the source takes assertions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallAssertion {
    /// Of the person of the check.
    Proper,
    Missing,
    /// With another signature.
    Forged,
    /// Of another audience.
    Misdirected,
    Expired,
    /// Of a person whom nobody knows.
    Nobody,
}
