//! Access rules of operations.

use axum::http::HeaderName;
use utoipa::openapi::HttpMethod;

use crate::{config::Limits, identity::scopes::TokenScope};

/// The change log's last position, in answers of writes.
pub(super) const POSITION: HeaderName = HeaderName::from_static("x-trawl-position");

/// The required identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequiredIdentity {
    /// No authentication.
    Anyone,
    /// An application token.
    Application,
    /// A user token.
    User,
    /// Either token.
    Either,
    /// A session of this server's pages; no token.
    PageSession,
}

/// A body's limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyLimit {
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

impl BodyLimit {
    /// Maximum items of a body that is a list.
    pub(super) fn most_items(self, limits: &Limits) -> usize {
        if self == Self::Sync { limits.sync_items } else { limits.batch_items }
    }
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
    pub identity: RequiredIdentity,
    /// Required scope, if any.
    pub scope: Option<TokenScope>,
    /// Whether it counts towards `limits.writes_per_minute`.
    pub writes: bool,
    /// Body limit.
    pub body: BodyLimit,
    /// Access while frozen.
    pub frozen: Frozen,
}

pub(super) const fn anyone() -> Rule {
    Rule {
        method: "",
        path: "",
        identity: RequiredIdentity::Anyone,
        scope: None,
        writes: false,
        body: BodyLimit::Form,
        frozen: Frozen::Refused,
    }
}

const fn known(identity: RequiredIdentity, scope: TokenScope) -> Rule {
    Rule { identity, scope: Some(scope), body: BodyLimit::Ordinary, ..anyone() }
}

pub(super) const fn application(scope: TokenScope) -> Rule {
    known(RequiredIdentity::Application, scope)
}

pub(super) const fn person(scope: TokenScope) -> Rule {
    known(RequiredIdentity::User, scope)
}

/// A page's session, whatever its scopes.
pub(super) const fn page_session() -> Rule {
    Rule { identity: RequiredIdentity::PageSession, ..anyone() }
}

pub(super) const fn either(scope: TokenScope) -> Rule {
    known(RequiredIdentity::Either, scope)
}

impl Rule {
    pub(super) const fn writes(self) -> Self {
        Self { writes: true, ..self }
    }

    pub(super) const fn synchronizes(self) -> Self {
        Self { body: BodyLimit::Sync, ..self.writes() }
    }

    /// A robot's message; the operation checks the URL's token before the body.
    pub(super) const fn takes_message(self) -> Self {
        Self { body: BodyLimit::Message, ..self }
    }

    pub(super) const fn takes_content(self) -> Self {
        Self { body: BodyLimit::Content, ..self }
    }

    pub(super) const fn for_operators(self) -> Self {
        Self { frozen: Frozen::Operated, ..self }
    }

    pub(super) const fn at(self, method: &'static str, path: &'static str) -> Self {
        Self { method, path, ..self }
    }

    /// Whether a success tells the change log's position (book: explanation/freshness.md).
    pub(super) fn tells_position(&self) -> bool {
        self.writes && self.identity != RequiredIdentity::Anyone || self.body == BodyLimit::Message
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
