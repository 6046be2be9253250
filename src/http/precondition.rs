//! Conditional changes (RFC 9110 §13.1.1): an object's `ETag`, and the `If-Match` of its change.

use aws_lc_rs::digest::{SHA256, digest};
use axum::{
    extract::FromRequestParts,
    http::{HeaderValue, header, request::Parts},
    response::{IntoResponse, Response},
};
use serde::Serialize;
use utoipa::{
    IntoParams,
    openapi::path::{Parameter, ParameterBuilder, ParameterIn},
    openapi::{ObjectBuilder, schema::Type},
};

use super::envelope::{Envelope, FailureEnvelope};
use crate::error::{Error, Result};

/// 128 bits suffice, as nobody gains by a collision.
const TAG_BYTES: usize = 16;

/// The strong entity tag of an object's settings, with its quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntityTag(String);

impl EntityTag {
    /// The tag of settings; equal ones have equal tags at every replica.
    ///
    /// # Errors
    /// 500 if they are not JSON.
    pub fn of(settings: &impl Serialize) -> Result<Self> {
        let text = serde_json::to_vec(settings).map_err(Error::internal)?;
        let hash = digest(&SHA256, &text);
        Ok(Self(format!("\"{}\"", hex::encode(&hash.as_ref()[..TAG_BYTES]))))
    }
}

/// An object with its entity tag, answered in the envelope.
#[derive(Debug)]
pub struct Tagged<T> {
    /// The tag.
    pub tag: EntityTag,
    /// The object.
    pub object: T,
}

impl<T: Serialize> Tagged<T> {
    /// An object all of which is settings.
    ///
    /// # Errors
    /// 500 if it is not JSON.
    pub fn of(object: T) -> Result<Self> {
        Ok(Self { tag: EntityTag::of(&object)?, object })
    }
}

impl<T: Serialize> IntoResponse for Tagged<T> {
    fn into_response(self) -> Response {
        let mut response = Envelope::of(self.object).into_response();
        if let Ok(tag) = HeaderValue::try_from(self.tag.0) {
            response.headers_mut().insert(header::ETAG, tag);
        }
        response
    }
}

/// Tags of which the changed object must have one; `None`: any.
#[derive(Clone, Debug, Default)]
pub struct IfMatch(Option<Vec<String>>);

impl IfMatch {
    /// Compares with the present settings, in the transaction of the change.
    ///
    /// # Errors
    /// 412 for another tag.
    pub fn check(&self, present: &impl Serialize) -> Result<()> {
        let Some(expected) = &self.0 else { return Ok(()) };
        if expected.contains(&EntityTag::of(present)?.0) {
            return Ok(());
        }
        Err(Error::precondition_failed(
            "If-Match: the object was changed since it was read; read it again, then repeat the change with its new ETag",
        ))
    }
}

impl<S: Sync> FromRequestParts<S> for IfMatch {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self> {
        let mut tags = Vec::new();
        let mut is_given = false;
        for value in parts.headers.get_all(header::IF_MATCH) {
            let value = value.to_str().map_err(|_| malformed())?.trim();
            // An absent object is a 404 anyway.
            if value == "*" {
                return Ok(Self(None));
            }
            is_given = true;
            for tag in value.split(',').map(str::trim).filter(|tag| !tag.is_empty()) {
                tags.push(read_tag(tag).ok_or_else(malformed)?);
            }
        }
        Ok(Self(is_given.then_some(tags)))
    }
}

/// Reads a tag; a weak one is a strong one that a proxy compressed.
fn read_tag(text: &str) -> Option<String> {
    let tag = text.strip_prefix("W/").unwrap_or(text);
    let opaque = tag.strip_prefix('"')?.strip_suffix('"')?;
    (!opaque.contains('"')).then(|| tag.to_owned())
}

fn malformed() -> Error {
    Error::bad_request("If-Match: must be the ETag of an earlier answer, with its quotes, or *")
}

impl IntoParams for IfMatch {
    fn into_params(_parameter_in: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let parameter = ParameterBuilder::new()
            .name("If-Match")
            .parameter_in(ParameterIn::Header)
            .description(Some(
                "The `ETag` of an earlier answer: nothing changes if the object has changed since. Without it, any state is changed.",
            ))
            .schema(Some(ObjectBuilder::new().schema_type(Type::String)));
        vec![parameter.build()]
    }
}

/// The failure of conditional changes.
#[derive(utoipa::IntoResponses)]
pub enum PreconditionRefusal {
    /// The object was changed meanwhile, so `If-Match` does not hold; nothing was changed
    #[response(status = 412)]
    PreconditionFailed(FailureEnvelope),
}
