//! Environment variables of the program; clap reads those of flags.

use std::env;

use secrecy::SecretString;
use toml::Value;

use super::layers::Layer;

/// Settings outside of sections, and sections.
///
/// Other variables without a section are ignored: Kubernetes sets a `TRAWL_PORT` for a service called trawl.
const SETTINGS: [&str; 24] = [
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
    "readers",
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
const LISTS: [&str; 9] = [
    "connectors.allow_http_hosts",
    "connectors.allow_networks",
    "console.operators",
    "engine.opensearch.own_indexes",
    "engine.opensearch.urls",
    "subscriptions.databases",
    "subscriptions.folders",
    "subscriptions.ignored_names",
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

/// A layer for each variable that is a setting, or names a section, which may be an unknown one.
pub(super) fn layers() -> impl Iterator<Item = Layer> {
    env::vars_os().filter_map(|(name, value)| {
        let name = name.into_string().ok()?;
        let path = name.to_ascii_lowercase().strip_prefix("trawl_")?.replace("__", ".");
        let is_setting = path.contains('.') || SETTINGS.contains(&path.as_str());
        is_setting.then(|| Layer::from_variable(&name, &path, decode(&path, &value.to_string_lossy())))
    })
}

/// Reads the value of a variable.
///
/// `true`, digits and fractions are no texts. TOML's brackets and quotes are read as in the file.
fn decode(path: &str, text: &str) -> Value {
    if LISTS.contains(&path) {
        return elements(text).into();
    } else if TEXTS.contains(&path) {
        return text.into();
    }
    let text = text.trim();
    let fraction = || text.contains('.').then(|| text.parse::<f64>().ok()).flatten().map(Value::Float);
    let written = || text.starts_with(['[', '{', '"', '\'']).then(|| text.parse().ok()).flatten();
    let boolean = text.parse().map(Value::Boolean).ok();
    boolean
        .or_else(|| text.parse().map(Value::Integer).ok())
        .or_else(fraction)
        .or_else(written)
        .unwrap_or_else(|| text.into())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_of_a_variable_is_a_list_a_text_or_what_it_looks_like() {
        for (path, text, value) in [
            ("trusted_proxies", "::1, 10.0.0.0/8", vec!["::1", "10.0.0.0/8"].into()),
            ("storage.s3.bucket", "0815 ", "0815 ".into()),
            ("search.slow_ms", "0100\n", 100.into()),
            ("connectors.allow_auth_none", " true\r", true.into()),
            ("telemetry.sample_ratio", ".5", 0.5.into()),
            ("log.format", "\"json\"", "json".into()),
            ("web.tenant", "1e5", "1e5".into()),
            ("web.tenant", "nan", "nan".into()),
            ("listen", "127.0.0.1:8080", "127.0.0.1:8080".into()),
            ("listen", "[::1]:8080", "[::1]:8080".into()),
        ] {
            assert_eq!(decode(path, text), value, "{path} {text:?}");
        }
    }
}
