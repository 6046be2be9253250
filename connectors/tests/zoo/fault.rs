//! A fault, its clause, and the server's expected report.

use std::fmt;

use axum::response::Response;
use futures::future::BoxFuture;
use serde_json::Value;

use super::layer::{Call, SourceRequest};
use super::running::KEYWORD;

pub(crate) struct Fault {
    pub(crate) name: &'static str,
    pub(crate) clause: &'static str,
    pub(crate) keyword: String,
    /// Reported by the server.
    pub(crate) status: &'static str,
    /// Part of the reported `message`; `None` means null.
    pub(crate) message: Option<&'static str>,
    pub(crate) rows: Rows,
    pub(super) act: Act,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rows {
    All,
    Some,
    None,
}

#[derive(Clone, Copy)]
pub(super) enum Act {
    /// Sent on the bare connection, which then closes.
    Bytes(&'static [u8]),
    Page(fn(&SourceRequest, &mut Value)),
    Item(fn(&mut Value)),
    /// The contract's page, sent in another way.
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
