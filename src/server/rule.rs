//! Access rules of operations.

use axum::http::HeaderName;
use utoipa::openapi::HttpMethod;

use crate::identity::scopes::Scope;

/// The change log's last position, in answers of writes.
pub(super) const POSITION: HeaderName = HeaderName::from_static("x-trawl-position");

/// The required identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Identity {
    /// No authentication.
    Anyone,
    /// An application token.
    Application,
    /// A user token.
    User,
    /// Either token.
    Either,
}

/// A body's limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// `limits.body_bytes`.
    Ordinary,
    /// `limits.sync_body_bytes`.
    Sync,
    /// A public form: 16 KiB.
    Form,
    /// A robot's message: 64 KiB.
    Message,
    /// The signed URL's limit; streamed, never held in memory.
    Content,
}

/// Access while the caller's or the target tenant is frozen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frozen {
    /// 403.
    Refused,
    /// 403 except for operators, who unfreeze.
    Operated,
}

/// The access rule of one operation.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// HTTP method.
    pub method: &'static str,
    /// Path, as in the route table.
    pub path: &'static str,
    /// Required identity.
    pub identity: Identity,
    /// Required scope; `None` for public operations.
    pub scope: Option<Scope>,
    /// Whether it counts towards `limits.writes_per_minute`.
    pub writes: bool,
    /// Body limit.
    pub body: Body,
    /// Access while frozen.
    pub frozen: Frozen,
}

pub(super) const fn anyone() -> Rule {
    Rule {
        method: "",
        path: "",
        identity: Identity::Anyone,
        scope: None,
        writes: false,
        body: Body::Form,
        frozen: Frozen::Refused,
    }
}

const fn known(identity: Identity, scope: Scope) -> Rule {
    Rule { identity, scope: Some(scope), body: Body::Ordinary, ..anyone() }
}

pub(super) const fn application(scope: Scope) -> Rule {
    known(Identity::Application, scope)
}

pub(super) const fn person(scope: Scope) -> Rule {
    known(Identity::User, scope)
}

pub(super) const fn either(scope: Scope) -> Rule {
    known(Identity::Either, scope)
}

impl Rule {
    pub(super) const fn writes(self) -> Self {
        Self { writes: true, ..self }
    }

    pub(super) const fn synchronizes(self) -> Self {
        Self { body: Body::Sync, ..self.writes() }
    }

    /// A robot's message; the operation checks the URL's token before the body.
    pub(super) const fn takes_message(self) -> Self {
        Self { body: Body::Message, ..self }
    }

    pub(super) const fn takes_content(self) -> Self {
        Self { body: Body::Content, ..self }
    }

    pub(super) const fn for_operators(self) -> Self {
        Self { frozen: Frozen::Operated, ..self }
    }

    pub(super) const fn at(self, method: &'static str, path: &'static str) -> Self {
        Self { method, path, ..self }
    }

    /// Whether a success tells the change log's position (book: explanation/freshness.md).
    pub(super) fn tells_position(&self) -> bool {
        self.writes && self.identity != Identity::Anyone || self.body == Body::Message
    }

    pub(super) fn http_method(&self) -> HttpMethod {
        match self.method {
            "POST" => HttpMethod::Post,
            "PUT" => HttpMethod::Put,
            "DELETE" => HttpMethod::Delete,
            _ => HttpMethod::Get,
        }
    }
}
