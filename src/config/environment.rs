//! Environment variables of the program; clap reads those of flags.

use std::env;

use secrecy::SecretString;
use toml::Value;

use super::layers::Layer;

/// Sections and keys that variables may set.
///
/// Others are ignored: Kubernetes sets a `TRAWL_PORT` for a service called trawl.
const SETTINGS: [&str; 23] = [
    "listen",
    "public_url",
    "trusted_proxies",
    "data",
    "log",
    "auth",
    "store",
    "cluster",
    "engine",
    "index",
    "search",
    "connectors",
    "cache",
    "suspension",
    "subscriptions",
    "limits",
    "tasks",
    "storage",
    "scanner",
    "audit",
    "telemetry",
    "web",
    "console",
];

/// Settings whose variables hold lists, separated by commas.
const LISTS: [&str; 7] = [
    "connectors.allow_http_hosts",
    "console.operators",
    "engine.opensearch.own_indexes",
    "engine.opensearch.urls",
    "subscriptions.databases",
    "subscriptions.folders",
    "trusted_proxies",
];

/// Settings that are read literally, also where they are digits.
const TEXTS: [&str; 8] = [
    "cluster.replica",
    "engine.opensearch.api_key",
    "engine.opensearch.password",
    "engine.opensearch.username",
    "storage.s3.bucket",
    "storage.s3.access_key_id",
    "storage.s3.secret_access_key",
    "telemetry.headers",
];

/// A layer for each variable that is a setting.
pub(super) fn layers() -> impl Iterator<Item = Layer> {
    env::vars_os().filter_map(|(name, value)| {
        let (name, value) = (name.into_string().ok()?, value.into_string().ok()?);
        let path = name.strip_prefix("TRAWL_")?.to_ascii_lowercase().replace("__", ".");
        let is_setting = SETTINGS.contains(&path.split('.').next()?);
        is_setting.then(|| Layer::of_variable(&name, &path, decode(&path, &value)))
    })
}

/// A list, a text, or a value as TOML writes it; what TOML cannot read is a text.
fn decode(path: &str, text: &str) -> Value {
    if LISTS.contains(&path) {
        elements(text).into()
    } else if TEXTS.contains(&path) {
        text.into()
    } else {
        text.parse().ok().filter(|value: &Value| !value.is_datetime()).unwrap_or_else(|| text.into())
    }
}

pub(super) fn master_key() -> Option<SecretString> {
    env::var("TRAWL_MASTER_KEY").ok().map(SecretString::from)
}

/// `TRAWL_CLIENT_SECRET`, for commands that call a server.
pub fn client_secret() -> Option<SecretString> {
    env::var("TRAWL_CLIENT_SECRET").ok().map(SecretString::from)
}

fn elements(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|element| !element.is_empty()).map(str::to_owned).collect()
}
