//! The HTTP server: routes, access rules, middleware, listener.

pub mod access;
mod health;
pub mod listener;
pub mod middleware;
mod openapi;
pub mod routes;
pub mod rule;

use std::sync::Arc;

use axum::Router;

use self::routes::Routers;
use crate::{app::App, pages};

/// The whole service.
pub fn service(app: Arc<App>) -> Router {
    let (Routers { operations, badges, signed_urls }, description) = routes::routers();
    let others =
        [middleware::with_badge_envelope(badges, &app), middleware::from_any_origin(signed_urls, &app)];
    middleware::wrap(operations.merge(openapi::pages(description, &app)).merge(pages::pages()), others, app)
}
