//! Environment variables of the program; clap reads those of flags.

use std::env;

use figment::{
    Figment,
    providers::{Env, Serialized},
};
use secrecy::SecretString;

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

/// Settings that are read literally.
///
/// Figment would read digits as a number and show a secret in its error.
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

pub(super) fn merge(settings: Figment) -> Figment {
    let variables = Env::prefixed("TRAWL_")
        .filter(|key| {
            let section = key.as_str().split("__").next().unwrap_or_default();
            contains(&SETTINGS, section)
        })
        .split("__");
    let decoded =
        variables.clone().filter(|key| !contains(&LISTS, key.as_str()) && !contains(&TEXTS, key.as_str()));
    variables.iter().fold(settings.merge(decoded), |settings, (key, value)| {
        let key = key.as_str();
        if contains(&LISTS, key) {
            settings.merge(Serialized::default(key, elements(&value)))
        } else if contains(&TEXTS, key) {
            settings.merge(Serialized::default(key, value))
        } else {
            settings
        }
    })
}

pub(super) fn master_key() -> Option<SecretString> {
    env::var("TRAWL_MASTER_KEY").ok().map(SecretString::from)
}

/// `TRAWL_CLIENT_SECRET`, for commands that call a server.
pub fn client_secret() -> Option<SecretString> {
    env::var("TRAWL_CLIENT_SECRET").ok().map(SecretString::from)
}

fn contains(names: &[&str], name: &str) -> bool {
    names.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// Splits literally: figment would read `[::1]` as an array.
fn elements(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|element| !element.is_empty()).map(str::to_owned).collect()
}
