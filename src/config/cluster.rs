//! Replicas over one PostgreSQL database.

use serde::{Deserialize, Serialize};

use super::{Config, EngineKind, StorageKind};

/// This server among its replicas.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ClusterSettings {
    /// Id of this replica, unlike those of the others; default: a random one, kept in the data directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replica: Option<String>,
}

const REPLICA_BYTES: usize = 128;

impl ClusterSettings {
    pub(super) fn check(&self) -> Result<(), String> {
        let is_id = |id: &String| {
            let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
            (1..=REPLICA_BYTES).contains(&id.len()) && id.bytes().all(is_fit)
        };
        if self.replica.as_ref().is_none_or(is_id) {
            return Ok(());
        }
        Err(format!("cluster.replica: must be 1 to {REPLICA_BYTES} of A-Z, a-z, 0-9, -, _, . and :"))
    }
}

impl Config {
    /// Settings on which replicas must agree, by name, beside the master key.
    pub fn shared(&self) -> Vec<(&'static str, String)> {
        let kind = match self.storage.kind {
            StorageKind::Local => "local",
            StorageKind::S3 => "s3",
            StorageKind::None => "none",
        };
        let mut shared = vec![("public_url", self.public_url()), ("storage.kind", kind.to_owned())];
        if let Some(s3) = self.storage.s3.as_ref().filter(|_| self.storage.kind == StorageKind::S3) {
            let endpoint = s3.endpoint.as_ref().map_or("default", |endpoint| endpoint.as_str());
            shared.push(("storage.s3.endpoint", endpoint.to_owned()));
            shared.push(("storage.s3.bucket", s3.bucket.clone()));
        }
        if self.engine.kind == EngineKind::OpenSearch {
            shared.push(("engine.opensearch.index_prefix", self.engine.opensearch.index_prefix.clone()));
        }
        shared
    }
}
