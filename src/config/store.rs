//! The database, and the settings that one shared by servers requires.

use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use super::{Config, StorageKind};

/// Database.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct StoreSettings {
    /// Address of a PostgreSQL database, `postgres://USER@HOST:PORT/DATABASE`; default: SQLite in `data`.
    #[serde(serialize_with = "super::masked", skip_serializing_if = "Option::is_none")]
    pub url: Option<SecretString>,
    /// Read connections.
    pub readers: u32,
    /// Connections to PostgreSQL that each write for one tenant. One more makes all other writes; 0: all take turns.
    pub writers: u32,
    /// Time that the server waits at start for a PostgreSQL that it cannot reach, in seconds.
    pub wait_seconds: u32,
    /// Writes get 503 with less free disk space; 0 disables the check.
    pub reserve_bytes: u64,
}

impl Default for StoreSettings {
    fn default() -> Self {
        Self { url: None, readers: 4, writers: 4, wait_seconds: 60, reserve_bytes: 256 << 20 }
    }
}

impl Config {
    /// Checks that servers over one PostgreSQL share everything else too (book: how-to/postgresql.md).
    ///
    /// # Errors
    /// A message that names the setting.
    pub fn check_shared_store(&self) -> Result<(), String> {
        if self.store.url.is_none() {
            return Ok(());
        }
        if self.master_key.is_none() {
            return Err("master_key: is required where store.url is set (TRAWL_MASTER_KEY)".to_owned());
        }
        if self.public_url.is_none() {
            return Err("public_url: is required where store.url is set".to_owned());
        }
        if self.storage.kind == StorageKind::Local {
            return Err("storage.kind: must be s3 or none where store.url is set, not local".to_owned());
        }
        Ok(())
    }
}
