//! The request's caller as a handler argument.

use std::sync::Arc;

use axum::{extract::FromRequestParts, http::request::Parts};

use super::caller::Caller;
use crate::error::{Error, Result};

/// The caller admitted by the route's rule.
pub struct Identified(pub Arc<Caller>);

impl<S: Sync> FromRequestParts<S> for Identified {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self> {
        let caller = parts.extensions.get::<Arc<Caller>>().cloned();
        caller
            .map(Self)
            .ok_or_else(|| Error::internal("a handler needs a caller, but the access table admits anyone"))
    }
}
