use std::sync::Arc;

use serde::Serialize;

use crate::token::Token;

#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct Parameters<'p> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) keyword: Option<&'p str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) limit: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cursor: Option<&'p str>,
}

impl<'p> Parameters<'p> {
    pub(super) fn first_page(keyword: &'p str, limit: usize) -> Self {
        Self { keyword: Some(keyword), limit: Some(limit), cursor: None }
    }
}

/// Credentials of one call.
#[derive(Clone)]
pub(super) enum CallCredentials {
    None,
    /// From the token endpoint.
    Token(Arc<Token>),
    /// As registered, without a token endpoint.
    Fixed,
    Wrong,
}
