//! A fault, the clause that it breaks, and the server's expected report.

use std::fmt;

use axum::response::Response;
use futures::future::BoxFuture;
use serde_json::Value;

use super::layer::{Call, SourceRequest};
use super::running::KEYWORD;

pub(crate) struct Fault {
    pub(crate) name: &'static str,
    /// The clause that the check must fail.
    pub(crate) clause: &'static str,
    /// The keyword that brings it out in the server.
    pub(crate) keyword: String,
    /// The `status` that the server must report.
    pub(crate) status: &'static str,
    /// A part of the reported `message`; `None` means null.
    pub(crate) message: Option<&'static str>,
    pub(crate) rows: Rows,
    pub(super) act: Act,
}

/// The part of the matches that a complete search shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rows {
    All,
    /// Fewer, but not none.
    Some,
    None,
}

#[derive(Clone, Copy)]
pub(super) enum Act {
    /// Sends these bytes on the bare connection and closes it.
    Bytes(&'static [u8]),
    /// Changes every page.
    Page(fn(&SourceRequest, &mut Value)),
    Item(fn(&mut Value)),
    /// Sends the contract's page in its own way.
    Send(fn(&SourceRequest, String) -> Response),
    Search(fn(Call) -> BoxFuture<'static, Response>),
    Token(fn() -> BoxFuture<'static, Response>),
}

impl Fault {
    /// Only the check sees it; the server reports `ok`.
    pub(super) fn unseen(name: &'static str, clause: &'static str, act: Act) -> Self {
        let keyword = KEYWORD.to_owned();
        Self { name, clause, keyword, status: "ok", message: None, rows: Rows::All, act }
    }

    /// Harms no row: `ok` with a message.
    pub(super) fn slip(name: &'static str, clause: &'static str, message: &'static str, act: Act) -> Self {
        Self { message: Some(message), ..Self::unseen(name, clause, act) }
    }

    /// Leaves all rows usable: `invalid`.
    pub(super) fn used(name: &'static str, clause: &'static str, message: &'static str, act: Act) -> Self {
        Self { status: "invalid", ..Self::slip(name, clause, message, act) }
    }

    /// Leaves some rows usable: `invalid`.
    pub(super) fn partly(name: &'static str, clause: &'static str, message: &'static str, act: Act) -> Self {
        Self { rows: Rows::Some, ..Self::used(name, clause, message, act) }
    }

    /// Leaves no row usable: `invalid`.
    pub(super) fn unusable(
        name: &'static str,
        clause: &'static str,
        message: &'static str,
        act: Act,
    ) -> Self {
        Self { rows: Rows::None, ..Self::used(name, clause, message, act) }
    }

    pub(super) fn failing(
        name: &'static str,
        clause: &'static str,
        (status, message): (&'static str, &'static str),
        act: Act,
    ) -> Self {
        Self { status, ..Self::unusable(name, clause, message, act) }
    }

    pub(super) fn met_by(self, keyword: impl Into<String>) -> Self {
        Self { keyword: keyword.into(), ..self }
    }

    pub(super) fn with_rows(self, rows: Rows) -> Self {
        Self { rows, ..self }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, clause, status, message, rows, keyword, .. } = self;
        let message = message.unwrap_or("null");
        write!(formatter, "{name} (clause {clause}; by {keyword:.40}: {status}, {message}, {rows:?} rows)")
    }
}

impl fmt::Debug for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}
