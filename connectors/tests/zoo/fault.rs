//! What a fault is: what it does, the clause that it breaks, and what the server has to say of it.

use std::fmt;

use axum::response::Response;
use futures::future::BoxFuture;
use serde_json::Value;

use super::layer::{Asked, Call};
use super::running::KEYWORD;

/// One way to break the contract.
pub(crate) struct Fault {
    /// Its name, in words and hyphens.
    pub(crate) name: &'static str,
    /// The id of the clause that the conformance check must fail.
    pub(crate) clause: &'static str,
    /// The keyword by which the server meets it.
    pub(crate) keyword: String,
    /// The `status` that the server's answer must give the source.
    pub(crate) status: &'static str,
    /// What the `message` beside it must hold; `None`: it is null.
    pub(crate) message: Option<&'static str>,
    /// How much of what the source sent is still used.
    pub(crate) rows: Rows,
    pub(super) act: Act,
}

/// How many of the faulty source's matches a search, followed to its end, shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rows {
    /// As many as there are.
    All,
    /// Fewer, but not none.
    Some,
    /// None.
    None,
}

/// What a faulty source does.
#[derive(Clone, Copy)]
pub(super) enum Act {
    /// Reads a request on the bare connection, sends this and closes.
    Bytes(&'static [u8]),
    /// Changes the envelope of every page.
    Page(fn(&Asked, &mut Value)),
    /// Changes every item of every page.
    Item(fn(&mut Value)),
    /// Sends the text of every page, which is the contract's, in its own way.
    Send(fn(&Asked, String) -> Response),
    /// Answers every search in its own way.
    Search(fn(Call) -> BoxFuture<'static, Response>),
    /// Answers at its token endpoint in its own way.
    Token(fn() -> BoxFuture<'static, Response>),
}

impl Fault {
    /// A fault that only the conformance check can see: for the server the source is `ok`.
    pub(super) fn unseen(name: &'static str, clause: &'static str, act: Act) -> Self {
        let keyword = KEYWORD.to_owned();
        Self { name, clause, keyword, status: "ok", message: None, rows: Rows::All, act }
    }

    /// A slip that harms no row: the source is `ok`, and the message says what it is.
    pub(super) fn slip(name: &'static str, clause: &'static str, message: &'static str, act: Act) -> Self {
        Self { message: Some(message), ..Self::unseen(name, clause, act) }
    }

    /// A break of the contract that leaves all rows usable: `invalid`.
    pub(super) fn used(name: &'static str, clause: &'static str, message: &'static str, act: Act) -> Self {
        Self { status: "invalid", ..Self::slip(name, clause, message, act) }
    }

    /// A break of the contract that leaves some rows usable: `invalid`.
    pub(super) fn partly(name: &'static str, clause: &'static str, message: &'static str, act: Act) -> Self {
        Self { rows: Rows::Some, ..Self::used(name, clause, message, act) }
    }

    /// A break of the contract that leaves nothing usable: `invalid`.
    pub(super) fn unusable(
        name: &'static str,
        clause: &'static str,
        message: &'static str,
        act: Act,
    ) -> Self {
        Self { rows: Rows::None, ..Self::used(name, clause, message, act) }
    }

    /// A failure to answer, of another status.
    pub(super) fn failing(
        name: &'static str,
        clause: &'static str,
        (status, message): (&'static str, &'static str),
        act: Act,
    ) -> Self {
        Self { status, ..Self::unusable(name, clause, message, act) }
    }

    /// The same fault, met by another keyword.
    pub(super) fn met_by(self, keyword: impl Into<String>) -> Self {
        Self { keyword: keyword.into(), ..self }
    }

    /// The same fault, of which so much is used.
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
