//! The interface description `/openapi.json` and its offline page.

pub(super) mod description;
mod lists;
mod simplification;

use std::sync::Arc;

use axum::{
    Router,
    body::Bytes,
    http::{HeaderValue, header::CONTENT_TYPE},
    middleware::map_response,
    response::{IntoResponse, Response},
    routing::get,
};
use tokio::sync::OnceCell;
use utoipa::openapi::{
    ObjectBuilder, OpenApi as Document, RefOr, Server,
    schema::{OneOfBuilder, Schema, Type},
};
use utoipa_swagger_ui::{Config, SwaggerUi};

use self::{lists::describe_lists, simplification::simplify};
use crate::{
    app::App,
    config::Limits,
    error::{Error, Result},
    pages::protect,
};

const PATH: &str = "/openapi.json";

/// The content security policy of the description's page, whose library writes styles.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
    connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'";

/// Derived parameter types omit the null of business failures.
fn let_data_be_null(description: &mut Document) {
    let schemas = description.components.iter_mut().flat_map(|components| &mut components.schemas);
    for (_, schema) in schemas.filter(|(name, _)| name.starts_with("TimedEnvelope")) {
        if let RefOr::T(Schema::Object(envelope)) = schema
            && let Some(data) = envelope.properties.get_mut("data")
        {
            let null = ObjectBuilder::new().schema_type(Type::Null);
            *data = OneOfBuilder::new().item(data.clone()).item(null).into();
        }
    }
}

pub(super) fn pages(mut description: Document, app: &App) -> Router<Arc<App>> {
    let_data_be_null(&mut description);
    let path = app.config.public_url.as_ref().map_or("", |url| url.path().trim_end_matches('/'));
    description.servers = Some(vec![Server::new(if path.is_empty() { "/" } else { path })]);
    let (description, text) = (Arc::new(description), Arc::new(OnceCell::new()));
    let limits = Arc::clone(&app.limits);
    let show = async move || -> Result<Response> {
        let text: &Bytes = text.get_or_try_init(async || write(&description, &limits)).await?;
        let content_type = HeaderValue::from_static("application/json");
        Ok(([(CONTENT_TYPE, content_type)], text.clone()).into_response())
    };
    // Swagger UI would send the address to an external validator.
    let pages = SwaggerUi::new("/docs").config(Config::new([PATH]).validator_url("none"));
    let protected = map_response(async |mut response: Response| {
        protect(response.headers_mut(), POLICY);
        response
    });
    Router::from(pages).layer(protected).route(PATH, get(show))
}

fn write(description: &Document, limits: &Limits) -> Result<Bytes> {
    let mut document = serde_json::to_value(description).map_err(Error::internal)?;
    describe_lists(&mut document, limits);
    simplify(&mut document);
    Ok(serde_json::to_vec(&document).map_err(Error::internal)?.into())
}
