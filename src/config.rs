//! Settings; no other module reads the settings file and the environment.
//!
//! Later wins: defaults, `trawl.toml`, `TRAWL_SECTION__KEY`, flags (book: reference/configuration.md).

mod cluster;
mod engine;
mod environment;
mod issuers;
mod layers;
mod limits;
mod storage;
mod store;
mod subscriptions;
mod tasks;
mod telemetry;
mod web;

use std::{
    net::{IpAddr, SocketAddr},
    path::{Path, PathBuf},
    time::Duration,
};

use ipnet::IpNet;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Deserializer, Serialize, de::Error};
use url::Url;

use self::layers::Layer;
pub use self::{
    cluster::ClusterSettings,
    engine::{EngineKind, EngineSettings, OpenSearchSettings},
    environment::client_secret,
    issuers::{IssuerSettings, SignInSettings},
    limits::Limits,
    storage::{S3Settings, ScannerSettings, Storage, StorageKind},
    store::StoreSettings,
    subscriptions::Subscriptions,
    tasks::Tasks,
    telemetry::TelemetrySettings,
    web::{Console, Web},
};
pub use trawl_search::{CacheSettings, SuspensionRule, SuspensionSettings};

const DEFAULT_FILE: &str = "trawl.toml";
/// Fewer bytes would let one answer pass at a time.
const MIN_HELD_ANSWER_BYTES: usize = 1 << 20;

/// The effective settings of a server.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Address to listen on; port 0 picks a free one.
    pub listen: SocketAddr,
    /// Address for clients, where it is not `http://` and `listen`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub public_url: Option<Url>,
    /// Addresses or networks whose `X-Forwarded-For` is trusted.
    #[serde(deserialize_with = "networks")]
    pub trusted_proxies: Vec<IpNet>,
    /// Directory of the database, the index and the keys.
    pub data: PathBuf,
    /// Base64 of 32 bytes; seals secrets at rest. Default: a key file in `data`.
    #[serde(serialize_with = "masked", skip_serializing_if = "Option::is_none")]
    pub master_key: Option<SecretString>,
    /// Logging: level and format.
    pub log: Log,
    /// Tokens.
    pub auth: Auth,
    /// Database.
    pub store: StoreSettings,
    /// This server among its replicas.
    pub cluster: ClusterSettings,
    /// Full-text engine.
    pub engine: EngineSettings,
    /// Indexing.
    pub index: IndexSettings,
    /// Coordinator.
    pub search: SearchSettings,
    /// External sources.
    pub connectors: Connectors,
    /// Cache of source pages.
    pub cache: CacheSettings,
    /// Suspension of failing external sources.
    pub suspension: SuspensionSettings,
    /// Subscriptions.
    pub subscriptions: Subscriptions,
    /// Processes that read what others sent.
    pub readers: Readers,
    /// Limits on callers.
    pub limits: Limits,
    /// Quick handling of tasks.
    pub tasks: Tasks,
    /// Contents of files.
    pub storage: Storage,
    /// Malware scanner.
    pub scanner: ScannerSettings,
    /// Audit log.
    pub audit: Audit,
    /// Export of spans.
    pub telemetry: TelemetrySettings,
    /// Pages and sessions.
    pub web: Web,
    /// Operators who use the console.
    pub console: Console,
}

/// Logging: level and format.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Log {
    /// Filter such as `info` or `trawl=debug,warn`.
    pub filter: String,
    /// Format of a log line.
    pub format: LogFormat,
}

/// Format of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Plain text.
    Text,
    /// One JSON object a line.
    Json,
}

/// Tokens.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Auth {
    /// Lifetime of an access token, in seconds.
    pub token_seconds: u32,
    /// Concurrent checks of passwords; each takes 19 MiB and 12 ms of a core.
    pub secret_checks_at_once: usize,
    /// `OpenID` Connect issuers whose tokens are user tokens.
    #[serde(default)]
    pub issuers: Vec<IssuerSettings>,
}

/// Indexing.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct IndexSettings {
    /// Size of the embedded engine's indexing buffer.
    pub writer_memory_bytes: usize,
    /// Most changes indexed and committed together.
    pub batch_changes: u64,
}

/// Coordinator.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SearchSettings {
    /// Default deadline.
    pub timeout_ms: u64,
    /// Concurrent searches, half of them of one caller; more wait for a second, then get 503.
    pub at_once: usize,
    /// Most pages of one external source that a search reads.
    pub source_pages: usize,
    /// Searches at least this slow are recorded; 0 records all.
    pub slow_ms: u64,
}

/// External sources.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Connectors {
    /// Largest answer, inflated.
    pub max_body_bytes: usize,
    /// Hosts that may be called by http or be loopback: `127.0.0.1`, or `intranet:8080` for one port.
    pub allow_http_hosts: Vec<String>,
    /// Addresses or networks that may be called, beside the hosts above; empty: all but link-local and metadata ones.
    #[serde(deserialize_with = "networks")]
    pub allow_networks: Vec<IpNet>,
    /// Allows sources without credentials.
    pub allow_auth_none: bool,
    /// Program that runs the filters of mapped sources, called as `PROGRAM interpret-mappings`; default this program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interpreter: Option<PathBuf>,
}

/// Processes that read what others sent: feeds, files to import and SQLite databases.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Readers {
    /// Program that reads them, called as `PROGRAM read-rows` and `PROGRAM read-sqlite`, with options; default this program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<PathBuf>,
}

/// Audit log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Audit {
    /// Days to keep entries; 0 keeps them for ever.
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
            log: Log { filter: "info".to_owned(), format: LogFormat::Text },
            auth: Auth { token_seconds: 3_600, secret_checks_at_once: 2, issuers: Vec::new() },
            cluster: ClusterSettings::default(),
            store: StoreSettings::default(),
            engine: EngineSettings::default(),
            index: IndexSettings { writer_memory_bytes: 128 << 20, batch_changes: 2_000 },
            search: SearchSettings { timeout_ms: 2_000, at_once: 512, source_pages: 50, slow_ms: 500 },
            connectors: Connectors {
                max_body_bytes: 2 << 20,
                allow_http_hosts: Vec::new(),
                allow_networks: Vec::new(),
                allow_auth_none: false,
                interpreter: None,
            },
            cache: CacheSettings::default(),
            suspension: SuspensionSettings::default(),
            subscriptions: Subscriptions::default(),
            readers: Readers::default(),
            limits: Limits::default(),
            tasks: Tasks::default(),
            storage: Storage::default(),
            scanner: ScannerSettings::default(),
            audit: Audit { keep_days: 365 },
            telemetry: TelemetrySettings::default(),
            web: Web::default(),
            console: Console::default(),
        }
    }
}

/// Settings given on the command line.
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
    /// Reads `file`, or `trawl.toml` where none is named and it exists.
    ///
    /// # Errors
    /// A message that names the setting and its origin.
    pub fn load(file: Option<&Path>, flags: &Flags) -> Result<Self, String> {
        if let Some(missing) = file.filter(|file| !file.is_file()) {
            return Err(format!("there is no settings file {}", missing.display()));
        }
        let mut layers = vec![Layer::from_values(&Self::default())?];
        if let Some(file) = file.map(Path::to_owned).or_else(default_file) {
            layers.push(Layer::from_file(&file)?);
        }
        layers.extend(environment::layers());
        layers.push(Layer::from_values(flags)?);
        let mut config: Self = layers::read(&layers)?;
        config.master_key = environment::master_key().or(config.master_key);
        config.check()?;
        Ok(config)
    }

    /// The effective settings as TOML, secrets masked.
    pub fn to_toml(&self) -> Result<String, String> {
        toml::to_string_pretty(self).map_err(|error| error.to_string())
    }

    /// Address for clients without a trailing slash; also the issuer of tokens.
    pub fn public_url(&self) -> String {
        match &self.public_url {
            Some(url) => url.as_str().trim_end_matches('/').to_owned(),
            None => format!("http://{}", self.listen),
        }
    }

    /// Default deadline of a search.
    pub fn search_timeout(&self) -> Duration {
        Duration::from_millis(self.search.timeout_ms)
    }

    fn check(&self) -> Result<(), String> {
        let positive: [(&str, u64); 30] = [
            ("auth.token_seconds", u64::from(self.auth.token_seconds)),
            ("auth.secret_checks_at_once", self.auth.secret_checks_at_once as u64),
            ("store.readers", u64::from(self.store.readers)),
            ("index.batch_changes", self.index.batch_changes),
            ("search.at_once", self.search.at_once as u64),
            ("search.source_pages", self.search.source_pages as u64),
            ("connectors.max_body_bytes", self.connectors.max_body_bytes as u64),
            ("subscriptions.at_once", self.subscriptions.at_once as u64),
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
            ("tasks.callbacks_at_once", self.tasks.callbacks_at_once as u64),
            ("tasks.callbacks_at_once_per_application", self.tasks.callbacks_at_once_per_application as u64),
            ("storage.upload_hours", u64::from(self.storage.upload_hours)),
            ("web.session_idle_minutes", u64::from(self.web.session_idle_minutes)),
            ("web.session_hours", u64::from(self.web.session_hours)),
        ];
        if let Some((name, _)) = positive.into_iter().find(|(_, value)| *value == 0) {
            return Err(format!("{name}: must be at least 1"));
        }
        if !(50..=10_000).contains(&self.search.timeout_ms) {
            return Err("search.timeout_ms: must be 50 to 10000 (milliseconds)".to_owned());
        }
        if self.index.writer_memory_bytes < 16 << 20 {
            return Err("index.writer_memory_bytes: must be at least 16777216 (16 MiB)".to_owned());
        }
        if self.public_url.as_ref().is_some_and(|url| !is_plain_address(url)) {
            return Err("public_url: must be an http or https address without query and fragment".to_owned());
        }
        if let Some(folder) = self.subscriptions.folders.iter().find(|folder| !folder.is_absolute()) {
            return Err(format!(
                "subscriptions.folders: must be absolute paths, unlike {}",
                folder.display()
            ));
        }
        let largest_body = self.limits.body_bytes.max(self.limits.sync_body_bytes);
        if self.limits.held_body_bytes / 2 < largest_body {
            return Err(format!(
                "limits.held_body_bytes: must be at least {}, twice the size of the largest body",
                largest_body.saturating_mul(2)
            ));
        }
        if self.limits.held_answer_bytes < MIN_HELD_ANSWER_BYTES {
            return Err(format!("limits.held_answer_bytes: must be at least {MIN_HELD_ANSWER_BYTES}"));
        }
        issuers::check(&self.auth.issuers, &self.connectors.allow_http_hosts, &self.public_url())?;
        self.cluster.check()?;
        self.engine.check()?;
        self.suspension.check()?;
        self.tasks.check()?;
        self.storage.check()?;
        self.scanner.check()?;
        self.telemetry.check()?;
        self.web.check()?;
        self.console.check()
    }
}

/// `trawl.toml` of this directory, or of the nearest one above.
fn default_file() -> Option<PathBuf> {
    let directory = std::env::current_dir().ok()?;
    directory.ancestors().map(|directory| directory.join(DEFAULT_FILE)).find(|file| file.is_file())
}

/// Whether an address is http or https, without query and fragment.
fn is_plain_address(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https") && url.query().is_none() && url.fragment().is_none()
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

/// A single address is a network of one.
fn networks<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<IpNet>, D::Error> {
    let texts = Vec::<String>::deserialize(deserializer)?;
    let network = |text: String| {
        text.parse::<IpNet>().or_else(|_| text.parse::<IpAddr>().map(IpNet::from)).map_err(|_| {
            D::Error::custom(format!("{text:?} is neither an address nor a network such as 10.0.0.0/8"))
        })
    };
    texts.into_iter().map(network).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_is_refused_by_name() {
        let mut config = Config::default();
        assert_eq!(config.check(), Ok(()));
        config.web.session_hours = 0;
        assert_eq!(config.check(), Err("web.session_hours: must be at least 1".to_owned()));
        config.tasks.callbacks_at_once_per_application = 0;
        assert!(config.check().unwrap_err().starts_with("tasks.callbacks_at_once_per_application: "));
    }

    #[test]
    fn proxy_is_an_address_or_a_network() {
        let read = |text: &str| networks(&mut serde_json::Deserializer::from_str(text));
        let both = read(r#"["10.0.0.0/8", "::1"]"#).unwrap();
        assert_eq!(both.iter().map(ToString::to_string).collect::<Vec<_>>(), ["10.0.0.0/8", "::1/128"]);
        assert!(read(r#"["proxy.example"]"#).unwrap_err().to_string().contains("proxy.example"));
    }
}
