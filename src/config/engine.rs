//! The full-text engine (book: reference/configuration.md).

use std::path::PathBuf;

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use trawl_opensearch::{Client, Credentials};
use url::Url;

use super::is_plain_address;

/// Full-text engine.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct EngineSettings {
    /// `tantivy` keeps an index in the data directory, `opensearch` in a cluster.
    pub kind: EngineKind,
    /// Cluster, also for `trawl index move`.
    #[serde(default)]
    pub opensearch: OpenSearchSettings,
}

/// Full-text engine.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema, clap::ValueEnum,
)]
#[serde(rename_all = "lowercase")]
#[value(rename_all = "lowercase")]
pub enum EngineKind {
    /// Embedded.
    #[default]
    Tantivy,
    /// A cluster of OpenSearch.
    OpenSearch,
}

/// OpenSearch cluster.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct OpenSearchSettings {
    /// Addresses of its nodes.
    pub urls: Vec<Url>,
    /// User, with a password.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub username: Option<String>,
    /// Password of the user.
    #[serde(serialize_with = "super::masked", skip_serializing_if = "Option::is_none")]
    pub password: Option<SecretString>,
    /// API key instead of a user, as `Authorization: ApiKey` takes it.
    #[serde(serialize_with = "super::masked", skip_serializing_if = "Option::is_none")]
    pub api_key: Option<SecretString>,
    /// PEM certificates of the authorities that are trusted instead of the system's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_file: Option<PathBuf>,
    /// Begins the names of the indexes.
    pub index_prefix: String,
    /// Shards of each index; takes effect at a rebuild.
    pub shards: u32,
    /// Copies of each shard; takes effect at a rebuild.
    pub replicas: u32,
    /// Codes of tenants with indexes of their own; takes effect at a rebuild.
    pub own_indexes: Vec<String>,
}

impl Default for OpenSearchSettings {
    fn default() -> Self {
        Self {
            urls: Vec::new(),
            username: None,
            password: None,
            api_key: None,
            ca_file: None,
            index_prefix: "trawl".to_owned(),
            shards: 1,
            replicas: 1,
            own_indexes: Vec::new(),
        }
    }
}

impl EngineKind {
    /// The name in the settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tantivy => "tantivy",
            Self::OpenSearch => "opensearch",
        }
    }
}

impl EngineSettings {
    pub(super) fn check(&self) -> Result<(), String> {
        if self.kind == EngineKind::OpenSearch && self.opensearch.urls.is_empty() {
            return Err("engine.opensearch.urls: is required where engine.kind is opensearch".to_owned());
        }
        self.opensearch.check()
    }
}

impl OpenSearchSettings {
    /// Connects to the cluster when it is first asked.
    ///
    /// # Errors
    /// A message that names the setting.
    pub fn client(&self) -> Result<Client, String> {
        let authorities = self.ca_file.as_ref().map(|path| {
            std::fs::read(path).map_err(|error| {
                format!("engine.opensearch.ca_file: cannot read {}: {error}", path.display())
            })
        });
        let credentials = match (&self.username, &self.password, &self.api_key) {
            (Some(username), Some(password), None) => {
                Credentials::Basic { username: username.clone(), password: password.clone() }
            }
            (None, None, Some(api_key)) => Credentials::ApiKey(api_key.clone()),
            _ => Credentials::None,
        };
        Client::new(self.urls.clone(), credentials, authorities.transpose()?.as_deref())
            .map_err(|error| format!("engine.opensearch.ca_file: {error}"))
    }

    fn check(&self) -> Result<(), String> {
        for url in &self.urls {
            if !is_plain_address(url) {
                return Err(
                    "engine.opensearch.urls: must be http or https addresses without query and fragment"
                        .to_owned(),
                );
            }
            if !url.username().is_empty() || url.password().is_some() {
                return Err(
                    "engine.opensearch.urls: must not hold credentials; use engine.opensearch.username and \
                            password, or api_key"
                        .to_owned(),
                );
            }
        }
        if self.username.is_some() != self.password.is_some() {
            return Err(
                "engine.opensearch.username: needs engine.opensearch.password, and the reverse".to_owned()
            );
        }
        if self.username.is_some() && self.api_key.is_some() {
            return Err("engine.opensearch.api_key: excludes engine.opensearch.username".to_owned());
        }
        let key = self.api_key.as_ref().map_or("", ExposeSecret::expose_secret);
        if !key.chars().all(|character| character.is_ascii_graphic()) {
            return Err("engine.opensearch.api_key: must be printable ASCII without spaces".to_owned());
        }
        let is_name = |prefix: &str| {
            prefix.len() <= 100
                && prefix.starts_with(|first: char| first.is_ascii_lowercase())
                && prefix
                    .chars()
                    .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_'))
        };
        if !is_name(&self.index_prefix) {
            return Err(
                "engine.opensearch.index_prefix: must be at most 100 lower-case letters, digits, - and _, \
                        and begin with a letter"
                    .to_owned(),
            );
        }
        if !(1..=1_024).contains(&self.shards) {
            return Err("engine.opensearch.shards: must be 1 to 1024".to_owned());
        }
        if self.replicas > 10 {
            return Err("engine.opensearch.replicas: must be at most 10".to_owned());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_setting_is_refused_by_name() {
        type Change = fn(&mut OpenSearchSettings);
        let wrong: [(&str, Change); 7] = [
            ("urls", |settings| settings.urls = vec!["ftp://one:9200".parse().unwrap()]),
            ("urls", |settings| settings.urls = vec!["https://me:secret@one:9200".parse().unwrap()]),
            ("username", |settings| settings.username = Some("me".to_owned())),
            ("api_key", |settings| settings.api_key = Some("two words".into())),
            ("index_prefix", |settings| settings.index_prefix = "Trawl".to_owned()),
            ("shards", |settings| settings.shards = 0),
            ("replicas", |settings| settings.replicas = 11),
        ];
        for (name, change) in wrong {
            let mut settings = OpenSearchSettings::default();
            change(&mut settings);
            let refusal = settings.check().unwrap_err();
            assert!(refusal.starts_with(&format!("engine.opensearch.{name}: ")), "{refusal}");
            assert!(!refusal.contains("secret@") && !refusal.contains("two words"), "{refusal}");
        }
        let engine =
            EngineSettings { kind: EngineKind::OpenSearch, opensearch: OpenSearchSettings::default() };
        assert!(engine.check().unwrap_err().starts_with("engine.opensearch.urls: is required"));
    }
}
