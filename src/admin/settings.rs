//! `/admin/v1/settings`: the settings in force.

use axum::extract::State;
use serde::Serialize;
use serde_json::Value;
use trawl_macros::operation;

use crate::{
    admin::AdminState,
    auth::extract::Identified,
    config::Config,
    error::{Error, Result},
    http::envelope::Envelope,
};

/// Version and settings of the server that answers.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServerSettings {
    /// Version of trawl.
    version: &'static str,
    /// The settings, in the order of the reference.
    settings: Vec<SettingInForce>,
}

/// One setting of a server.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SettingInForce {
    /// The name, such as `search.timeout_ms`.
    name: String,
    /// The value; of a secret, asterisks.
    value: Value,
    /// Whether it is that of a server without settings.
    is_default: bool,
}

/// Shows version and settings of the server that answers, secrets masked.
#[operation(admin, 200 = "Version and settings; a setting that is absent has no value")]
pub async fn show_settings(
    State(state): State<AdminState>,
    Identified(_caller): Identified,
) -> Result<Envelope<ServerSettings>> {
    let usual = flat(&Config::default())?;
    let settings = flat(&state.config)?.into_iter().map(|(name, value)| {
        let is_default = usual.iter().any(|other| *other == (name.clone(), value.clone()));
        SettingInForce { name, value, is_default }
    });
    Ok(Envelope::of(ServerSettings { version: env!("CARGO_PKG_VERSION"), settings: settings.collect() }))
}

fn flat(config: &Config) -> Result<Vec<(String, Value)>> {
    let mut found = Vec::new();
    flatten(String::new(), serde_json::to_value(config).map_err(Error::internal)?, &mut found);
    Ok(found)
}

fn flatten(name: String, value: Value, found: &mut Vec<(String, Value)>) {
    match value {
        Value::Object(section) => {
            for (key, value) in section {
                let name = if name.is_empty() { key } else { format!("{name}.{key}") };
                flatten(name, value, found);
            }
        }
        Value::Null => {}
        value => found.push((name, value)),
    }
}
