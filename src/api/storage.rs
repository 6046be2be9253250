//! The embedded store over HTTP: contents come in and go out at addresses that are signed, and never through the JSON interface
//! (decisions 10.3).

pub mod giving;
mod preconditions;
pub mod receiving;

use crate::{
    app::App,
    error::{Error, Result},
    storage::local::Local,
    store::now_millis,
};

/// The embedded store.
///
/// # Errors
/// 404 where contents are in another store, which signs addresses of its own.
fn embedded(app: &App) -> Result<&Local> {
    app.embedded.as_deref().ok_or_else(|| Error::not_found("contents are in another store"))
}

/// Now, in epoch seconds.
fn now() -> i64 {
    now_millis() / 1_000
}
