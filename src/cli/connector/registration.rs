//! The body that registers a mapped system (`POST /admin/v1/sources`), without secrets.

use std::io::{self, Write as _};

use serde_json::{Map, Value, json};
use trawl_connectors::{DEFAULT_API_KEY_HEADER, GalleryEntry, Grant};
use url::Url;

use super::access::AccessOptions;

/// Prints the body; names the secret that is to be added on standard error.
pub(super) fn print(entry: &GalleryEntry, url: &Url, access: &AccessOptions) -> io::Result<()> {
    let auth = auth(entry, access);
    let secret = match auth["type"].as_str() {
        Some("NONE") | None => None,
        Some("API_KEY") => Some("auth.key"),
        Some("BASIC") => Some("auth.password"),
        Some("BEARER") => Some("auth.token"),
        Some(_) => Some("auth.clientSecret"),
    };
    let body = json!({
        "name": entry.name, "kind": "mapping", "url": url, "method": entry.method, "order": entry.order,
        "pageSize": entry.page_size, "auth": auth, "mapping": entry.mapping,
    });
    if let Some(secret) = secret {
        eprintln!("{secret} is to be added: no secret is printed.");
    }
    writeln!(io::stdout(), "{body:#}")
}

/// The credentials of the options, or else the usual ones of the system.
fn auth(entry: &GalleryEntry, access: &AccessOptions) -> Value {
    let usual = |kind: &str| entry.auth.iter().find(|auth| auth.kind == kind);
    if let Some(token_url) = &access.token_url {
        let kind = match Grant::from(access.grant) {
            Grant::ClientCredentials => "OAUTH2_CLIENT",
            Grant::JwtBearer => "OAUTH2_JWT_BEARER",
            Grant::TokenExchange => "OAUTH2_TOKEN_EXCHANGE",
        };
        return object([
            ("type", Some(kind.into())),
            ("tokenUrl", Some(token_url.as_str().into())),
            ("clientId", access.client_id.clone().map(Value::from)),
            ("scope", access.scope.clone().map(Value::from)),
            ("audience", access.audience.clone().map(Value::from)),
        ]);
    }
    if access.api_key_file.is_some() {
        let (header, parameter) = match (&access.api_key_header, &access.api_key_parameter, usual("API_KEY"))
        {
            (None, None, Some(auth)) => (auth.header.clone(), auth.parameter.clone()),
            (header, parameter, _) => (header.clone(), parameter.clone()),
        };
        let header = match &parameter {
            Some(_) => None,
            None => Some(header.unwrap_or_else(|| DEFAULT_API_KEY_HEADER.to_owned())),
        };
        return object([
            ("type", Some("API_KEY".into())),
            ("header", header.map(Value::from)),
            ("parameter", parameter.map(Value::from)),
        ]);
    }
    if let Some(username) = &access.username {
        return json!({"type": "BASIC", "username": username});
    }
    if access.bearer_token_file.is_some() {
        return json!({"type": "BEARER"});
    }
    match entry.auth.first().filter(|_| !access.no_auth) {
        None => json!({"type": "NONE"}),
        Some(auth) => object([
            ("type", Some(auth.kind.clone().into())),
            ("header", auth.header.clone().map(Value::from)),
            ("parameter", auth.parameter.clone().map(Value::from)),
            ("tokenUrl", auth.token_url.clone().map(Value::from)),
            ("scope", auth.scope.clone().map(Value::from)),
        ]),
    }
}

fn object<const N: usize>(fields: [(&str, Option<Value>); N]) -> Value {
    let given = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Value::Object(given.collect::<Map<_, _>>())
}
