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
    Page(ChangePage),
    Item(fn(&mut Value)),
    /// The contract's page, sent in another way.
    Send(SendPage),
    Search(AnswerSearch),
    Token(AnswerToken),
}

type ChangePage = fn(&SourceRequest, &mut Value);
type SendPage = fn(&SourceRequest, String) -> Response;
type AnswerSearch = fn(Call) -> BoxFuture<'static, Response>;
type AnswerToken = fn() -> BoxFuture<'static, Response>;

impl Fault {
    /// Only the check sees it; the server reports `ok`.
    fn new(name: &'static str, clause: &'static str, act: Act) -> Self {
        let keyword = KEYWORD.to_owned();
        Self { name, clause, keyword, status: "ok", message: None, rows: Rows::All, act }
    }

    pub(super) fn bytes(name: &'static str, clause: &'static str, bytes: &'static [u8]) -> Self {
        Self::new(name, clause, Act::Bytes(bytes))
    }

    pub(super) fn page(name: &'static str, clause: &'static str, change: ChangePage) -> Self {
        Self::new(name, clause, Act::Page(change))
    }

    pub(super) fn item(name: &'static str, clause: &'static str, change: fn(&mut Value)) -> Self {
        Self::new(name, clause, Act::Item(change))
    }

    pub(super) fn send(name: &'static str, clause: &'static str, send: SendPage) -> Self {
        Self::new(name, clause, Act::Send(send))
    }

    pub(super) fn search(name: &'static str, clause: &'static str, answer: AnswerSearch) -> Self {
        Self::new(name, clause, Act::Search(answer))
    }

    pub(super) fn token(name: &'static str, answer: AnswerToken) -> Self {
        Self::new(name, "token", Act::Token(answer))
    }

    /// Harms no row: `ok` with a message.
    pub(super) fn noted(self, message: &'static str) -> Self {
        Self { message: Some(message), ..self }
    }

    /// Leaves all rows usable: `invalid`.
    pub(super) fn used(self, message: &'static str) -> Self {
        Self { status: "invalid", ..self.noted(message) }
    }

    /// Leaves some rows usable: `invalid`.
    pub(super) fn partly(self, message: &'static str) -> Self {
        Self { rows: Rows::Some, ..self.used(message) }
    }

    /// Leaves no row usable: `invalid`.
    pub(super) fn unusable(self, message: &'static str) -> Self {
        Self { rows: Rows::None, ..self.used(message) }
    }

    pub(super) fn failing(self, status: &'static str, message: &'static str) -> Self {
        Self { status, ..self.unusable(message) }
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
