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
