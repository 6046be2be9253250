//! Every setting, and the only reader of the settings file and the environment.
//!
//! Later wins: defaults, `trawl.toml`, `TRAWL_SECTION__KEY` environment variables, flags (decisions 1).

mod issuers;
mod limits;
mod storage;
mod suspension;
mod tasks;
mod telemetry;
mod web;

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use figment::{
    Figment,
    providers::{Env, Format, Serialized, Toml},
};
use ipnet::IpNet;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use url::Url;

pub use self::{
    issuers::{Issuer, SignIn},
    limits::Limits,
    storage::{S3, Scanner, Storage, StorageKind},
    suspension::{Suspension, SuspensionRule},
    tasks::Tasks,
    telemetry::Telemetry,
    web::{Console, Web},
};

/// The settings file that is read when none is named and it is there.
const DEFAULT_FILE: &str = "trawl.toml";

/// What `TRAWL_…` variables may set, besides the master key.
const SETTINGS: [&str; 20] = [
    "listen",
    "public_url",
    "trusted_proxies",
    "data",
    "log",
    "auth",
    "store",
    "index",
    "search",
    "connectors",
    "cache",
    "suspension",
    "limits",
    "tasks",
    "storage",
    "scanner",
    "audit",
    "telemetry",
    "web",
    "console",
];

/// Settings that are lists; `TRAWL_…` variables separate their elements by commas (decisions 1).
const LISTS: [&str; 3] = ["connectors.allow_http_hosts", "console.operators", "trusted_proxies"];

/// A secret among the settings of a section.
const COLLECTOR_HEADERS: &str = "telemetry.headers";

/// Settings whose variables are texts, whatever they hold: a decoder would take digits for a number, and say so with the secret
/// in its message.
const TEXTS: [&str; 3] = ["storage.s3.bucket", "storage.s3.access_key_id", "storage.s3.secret_access_key"];

/// The effective settings of a server.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The address to listen on; port 0 picks a free one.
    pub listen: SocketAddr,
    /// The address that clients know the server by, where a proxy stands before it; without it `http://` and `listen`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub public_url: Option<Url>,
    /// Proxies whose `X-Forwarded-For` is believed: addresses (`10.0.0.7/32`) or networks.
    #[serde(deserialize_with = "issuers::networks")]
    pub trusted_proxies: Vec<IpNet>,
    /// The directory that holds the database, the index and the keys.
    pub data: PathBuf,
    /// The key that seals secrets at rest, base64 of 32 bytes; without it a file in `data` holds one.
    #[serde(serialize_with = "masked", skip_serializing_if = "Option::is_none")]
    pub master_key: Option<SecretString>,
    /// What is logged and how.
    pub log: Log,
    /// Tokens.
    pub auth: Auth,
    /// The database.
    pub store: Store,
    /// The built-in full-text index.
    pub index: Index,
    /// The coordinator.
    pub search: Search,
    /// External sources.
    pub connectors: Connectors,
    /// Answers of external sources that are used again.
    pub cache: Cache,
    /// When and for how long failing external sources are left alone.
    pub suspension: Suspension,
    /// Bounds on what a caller may send (decisions 9.9).
    pub limits: Limits,
    /// Quick handling of tasks.
    pub tasks: Tasks,
    /// Where the contents of files are.
    pub storage: Storage,
    /// What looks for harm in them.
    pub scanner: Scanner,
    /// What is kept of who did what.
    pub audit: Audit,
    /// Where spans go.
    pub telemetry: Telemetry,
    /// Pages for people, and how long they stay signed in.
    pub web: Web,
    /// Who operates the server in a browser.
    pub console: Console,
}

/// What is logged and how.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Log {
    /// A filter such as `info` or `trawl=debug,warn`.
    pub filter: String,
    /// Text for people or JSON for machines.
    pub format: LogFormat,
}

/// How log lines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Lines for people.
    Text,
    /// One JSON object a line.
    Json,
}

/// Tokens.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Auth {
    /// How long an access token is valid, in seconds.
    pub token_seconds: u32,
    /// Checks of a client secret that run at once; each takes 19 MiB and some 12 ms of a core.
    pub secret_checks_at_once: usize,
    /// `OpenID` Connect issuers whose tokens are user tokens.
    #[serde(default)]
    pub issuers: Vec<Issuer>,
}

/// The database.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Store {
    /// Connections that read.
    pub readers: u32,
    /// Writes are refused while less than so many bytes are free on the disk of the data directory; 0: they never are.
    pub reserve_bytes: u64,
}

/// The built-in full-text index.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Index {
    /// Memory of the indexing buffer, in bytes.
    pub writer_memory_bytes: usize,
    /// Changes that are indexed and committed together at the most.
    pub batch_changes: u64,
}

/// The coordinator.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// A search's deadline when the caller names none, in milliseconds (decisions 6.1).
    pub timeout_ms: u64,
    /// Searches that run at once; one more is refused with 503.
    pub at_once: usize,
    /// Pages of an external source that one search reads at the most, to get to a time cursor or past what it filters out.
    pub source_pages: usize,
    /// A search that takes as long is kept among the slow ones, in milliseconds; 0: each is.
    pub slow_ms: u64,
}

/// External sources.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Connectors {
    /// The largest answer of an external source, in bytes, inflated (decisions 6.2).
    pub max_body_bytes: usize,
    /// Hosts that may be called by http, and may be loopback addresses: `127.0.0.1`, or `intranet:8080` for that port only
    /// (decisions 7.4).
    pub allow_http_hosts: Vec<String>,
    /// Whether sources may be called without credentials (decisions 7.4).
    pub allow_auth_none: bool,
}

/// Answers that are used again (decisions 6.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Cache {
    /// An answer of an external source is used again for so long, in milliseconds; 0: only calls under way are shared.
    pub fresh_ms: u64,
    /// For so long it may stand in for a source that fails, in milliseconds.
    pub stale_ms: u64,
    /// The bytes of all answers together. Pages of built-in content that take work to find have a quarter of them, and are
    /// used again until the index changes.
    pub bytes: u64,
}

/// What is kept of who did what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Audit {
    /// Days that deeds are kept; 0: for ever.
    pub keep_days: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8080)),
            public_url: None,
            trusted_proxies: Vec::new(),
            data: PathBuf::from("./trawl-data"),
            master_key: None,
            log: Log { filter: "info,sea_orm_migration=warn".to_owned(), format: LogFormat::Text },
            auth: Auth { token_seconds: 3_600, secret_checks_at_once: 2, issuers: Vec::new() },
            store: Store { readers: 4, reserve_bytes: 256 << 20 },
            index: Index { writer_memory_bytes: 128 << 20, batch_changes: 2_000 },
            search: Search { timeout_ms: 2_000, at_once: 512, source_pages: 50, slow_ms: 500 },
            connectors: Connectors {
                max_body_bytes: 2 << 20,
                allow_http_hosts: Vec::new(),
                allow_auth_none: false,
            },
            cache: Cache { fresh_ms: 3_000, stale_ms: 60_000, bytes: 64 << 20 },
            suspension: Suspension::default(),
            limits: Limits::default(),
            tasks: Tasks::default(),
            storage: Storage::default(),
            scanner: Scanner::default(),
            audit: Audit { keep_days: 365 },
            telemetry: Telemetry::default(),
            web: Web::default(),
            console: Console::default(),
        }
    }
}

/// What the command line says, over everything else.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Flags {
    /// `--listen`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listen: Option<SocketAddr>,
    /// `--data`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<PathBuf>,
}

impl Config {
    /// Reads the settings. `file` must be there when it is named; else `trawl.toml` is read if it is there.
    ///
    /// # Errors
    /// A message for the operator that names the setting and where its value came from.
    pub fn load(file: Option<&Path>, flags: Flags) -> Result<Self, String> {
        if let Some(missing) = file.filter(|file| !file.is_file()) {
            return Err(format!("there is no settings file {}", missing.display()));
        }
        // Only names of our own: what runs the server may set others (a service called trawl gets a TRAWL_PORT).
        let environment = Env::prefixed("TRAWL_")
            .filter(|key| {
                SETTINGS.iter().any(|name| {
                    key.as_str().split("__").next().is_some_and(|first| first.eq_ignore_ascii_case(name))
                })
            })
            .split("__");
        let mut figment = Figment::from(Serialized::defaults(Self::default()))
            .merge(Toml::file(file.unwrap_or(Path::new(DEFAULT_FILE))))
            .merge(environment.clone().filter(|key| !is_read_as_it_is(key.as_str())));
        for (name, text) in environment.iter().filter(|(name, _)| is_list(name.as_str())) {
            figment = figment.merge(Serialized::default(name.as_str(), elements(&text)));
        }
        for (name, text) in environment.iter().filter(|(name, _)| is_text(name.as_str())) {
            figment = figment.merge(Serialized::default(name.as_str(), text));
        }
        let mut config: Self =
            figment.merge(Serialized::globals(flags)).extract().map_err(|error| error.to_string())?;
        // Read as they are: a decoder would take digits for a number, and say so with the secret in its message.
        if let Some((_, headers)) = environment.iter().find(|(name, _)| *name == COLLECTOR_HEADERS) {
            config.telemetry.headers = Some(headers.into());
        }
        if let Ok(key) = std::env::var("TRAWL_MASTER_KEY") {
            config.master_key = Some(SecretString::from(key));
        }
        config.check()?;
        Ok(config)
    }

    /// The effective settings as TOML, secrets masked.
    pub fn to_toml(&self) -> Result<String, String> {
        toml::to_string_pretty(self).map_err(|error| error.to_string())
    }

    /// The address that clients know the server by, without a slash at its end: what its tokens name as their issuer, and
    /// what addresses of its own begin with.
    pub fn public_url(&self) -> String {
        match &self.public_url {
            Some(url) => url.as_str().trim_end_matches('/').to_owned(),
            None => format!("http://{}", self.listen),
        }
    }

    /// A search's deadline when the caller names none.
    pub fn search_timeout(&self) -> Duration {
        Duration::from_millis(self.search.timeout_ms)
    }

    fn check(&self) -> Result<(), String> {
        let positive = BTreeMap::from([
            ("auth.token_seconds", u64::from(self.auth.token_seconds)),
            ("auth.secret_checks_at_once", self.auth.secret_checks_at_once as u64),
            ("store.readers", u64::from(self.store.readers)),
            ("index.batch_changes", self.index.batch_changes),
            ("search.at_once", self.search.at_once as u64),
            ("search.source_pages", self.search.source_pages as u64),
            ("connectors.max_body_bytes", self.connectors.max_body_bytes as u64),
            ("limits.batch_items", self.limits.batch_items as u64),
            ("limits.sync_items", self.limits.sync_items as u64),
            ("limits.body_bytes", self.limits.body_bytes as u64),
            ("limits.sync_body_bytes", self.limits.sync_body_bytes as u64),
            ("limits.picture_bytes", self.limits.picture_bytes as u64),
            ("limits.file_name_bytes", self.limits.file_name_bytes as u64),
            ("limits.file_bytes", self.limits.file_bytes),
            ("limits.part_bytes", self.limits.part_bytes),
            ("limits.file_text_bytes", self.limits.file_text_bytes as u64),
            ("limits.keyword_chars", self.limits.keyword_chars as u64),
            ("limits.writes_per_minute", u64::from(self.limits.writes_per_minute)),
            ("limits.robot_messages_per_minute", u64::from(self.limits.robot_messages_per_minute)),
            ("limits.logins_per_minute", u64::from(self.limits.logins_per_minute)),
            ("limits.body_timeout_ms", self.limits.body_timeout_ms),
            ("limits.header_timeout_ms", self.limits.header_timeout_ms),
            ("limits.idle_timeout_ms", self.limits.idle_timeout_ms),
            ("limits.connections", self.limits.connections as u64),
        ]);
        if let Some((name, _)) = positive.into_iter().find(|(_, value)| *value == 0) {
            return Err(format!("{name} must be at least 1"));
        }
        if !(50..=10_000).contains(&self.search.timeout_ms) {
            return Err("search.timeout_ms must be 50 to 10000 (milliseconds)".to_owned());
        }
        if self.index.writer_memory_bytes < 16 << 20 {
            return Err("index.writer_memory_bytes must be at least 16777216 (16 MiB)".to_owned());
        }
        if let Some(url) = &self.public_url
            && !(matches!(url.scheme(), "http" | "https")
                && url.query().is_none()
                && url.fragment().is_none())
        {
            return Err("public_url must be an http or https address without query and fragment".to_owned());
        }
        let largest_body = self.limits.body_bytes.max(self.limits.sync_body_bytes);
        if self.limits.held_body_bytes < largest_body {
            return Err(format!(
                "limits.held_body_bytes must be at least {largest_body}, the size of the largest body"
            ));
        }
        issuers::check(&self.auth.issuers, &self.connectors.allow_http_hosts, &self.public_url())?;
        self.suspension.check()?;
        self.tasks.check()?;
        self.storage.check()?;
        self.scanner.check()?;
        self.telemetry.check()?;
        self.web.check()?;
        self.console.check()
    }
}

fn is_read_as_it_is(name: &str) -> bool {
    is_list(name) || is_text(name) || name.eq_ignore_ascii_case(COLLECTOR_HEADERS)
}

fn is_text(name: &str) -> bool {
    TEXTS.iter().any(|text| text.eq_ignore_ascii_case(name))
}

fn is_list(name: &str) -> bool {
    LISTS.iter().any(|list| list.eq_ignore_ascii_case(name))
}

/// The elements of a list in a variable, read as they are: a decoder would take `[::1]` for a list itself.
fn elements(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|element| !element.is_empty()).map(str::to_owned).collect()
}

#[allow(clippy::ref_option, reason = "the shape that serialize_with asks for")]
fn masked<S: serde::Serializer>(secret: &Option<SecretString>, serializer: S) -> Result<S::Ok, S::Error> {
    match secret {
        Some(secret) if !secret.expose_secret().is_empty() => serializer.serialize_str("********"),
        _ => serializer.serialize_none(),
    }
}

#[allow(clippy::unnecessary_wraps, reason = "the shape that serialize_with asks for")]
fn masked_secret<S: serde::Serializer>(_secret: &SecretString, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str("********")
}
