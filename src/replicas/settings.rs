//! Settings on which all replicas must agree (book: how-to/scale-out.md).

use std::collections::BTreeMap;

use super::{DATABASE_NOW, DEAD_AFTER, JoinError};
use crate::{
    error::Error,
    store::{Connection, FromRow, Json, sql},
};

/// Settings by name. A fingerprint stands for a secret.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SharedSettings(BTreeMap<String, String>);

/// A setting that differs from a live replica's.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{name}: is {own}, but the running replica {replica} has {other}; replicas must agree on it")]
pub struct Disagreement {
    name: String,
    own: String,
    replica: String,
    other: String,
}

#[derive(FromRow)]
struct ReplicaSettingsRow {
    id: String,
    settings: Json<BTreeMap<String, String>>,
}

impl SharedSettings {
    /// Settings of these names and values.
    pub fn new(settings: impl IntoIterator<Item = (&'static str, String)>) -> Self {
        Self(settings.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    pub(super) fn to_json(&self) -> String {
        serde_json::json!(self.0).to_string()
    }

    pub(super) async fn check_against_others(
        &self,
        connection: &Connection,
        id: &str,
    ) -> Result<(), JoinError> {
        let text = format!(
            "SELECT id, settings FROM replicas WHERE id <> ? AND process <> '' AND seen_at > {DATABASE_NOW} - ? \
             ORDER BY id"
        );
        let others =
            sql(text, [id.into(), DEAD_AFTER.into()]).fetch_all::<ReplicaSettingsRow>(connection).await;
        for ReplicaSettingsRow { id, settings: Json(settings) } in others.map_err(Error::from)? {
            self.compare(&id, &settings)?;
        }
        Ok(())
    }

    /// Compares settings that both have; versions may differ in others.
    fn compare(&self, replica: &str, others: &BTreeMap<String, String>) -> Result<(), Disagreement> {
        let differing = self.0.iter().find_map(|(name, own)| {
            let other = others.get(name)?;
            (own != other).then(|| Disagreement {
                name: name.clone(),
                own: own.clone(),
                replica: replica.to_owned(),
                other: other.clone(),
            })
        });
        differing.map_or(Ok(()), Err)
    }
}
