//! Rules of devices and user identifiers.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{
    json,
    platform::shared::patch::{TextRule, check_id_of},
    store::FromRow,
};

/// Maximum devices per person.
pub const MAX_DEVICES: usize = 100;

const NAME_BYTES: usize = 256;

/// `idType`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "i64")]
pub enum IdType {
    /// Platform user id.
    #[default]
    Platform,
    /// Login.
    Login,
    /// Source user id.
    Source,
}

impl TryFrom<i64> for IdType {
    type Error = String;

    fn try_from(number: i64) -> Result<Self, String> {
        match number {
            1 => Ok(Self::Platform),
            2 => Ok(Self::Login),
            3 => Ok(Self::Source),
            other => {
                Err(format!("must be 1 (platform user id), 2 (login) or 3 (source user id), not {other}"))
            }
        }
    }
}

/// Reason of an unbinding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "i64", rename_all = "kebab-case")]
pub enum Reason {
    /// Ordinary.
    #[default]
    Ordinary,
    /// Single-device login.
    SingleDeviceLogin,
    /// Password change.
    PasswordChange,
}

impl TryFrom<i64> for Reason {
    type Error = String;

    fn try_from(number: i64) -> Result<Self, String> {
        match number {
            0 => Ok(Self::Ordinary),
            1 => Ok(Self::SingleDeviceLogin),
            2 => Ok(Self::PasswordChange),
            other => Err(format!(
                "must be 0 (ordinary), 1 (single-device login) or 2 (password change), not {other}"
            )),
        }
    }
}

/// Owner of devices.
#[derive(Clone, Debug, Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct DeviceOwner {
    /// User id; optional for user tokens.
    pub id: Option<String>,
    /// Type of `id`; default 1.
    #[param(value_type = Option<i64>, minimum = 1, maximum = 3)]
    pub id_type: Option<IdType>,
}

/// Device to bind.
#[derive(Clone, Debug, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeviceForm {
    /// User id; optional for user tokens.
    pub id: Option<String>,
    /// Type of `id`; default 1.
    #[schema(value_type = Option<i64>, minimum = 1, maximum = 3)]
    pub id_type: Option<IdType>,
    /// Device id.
    pub device_id: String,
    /// Display name.
    pub name: Option<String>,
}

impl DeviceForm {
    /// Checks the fields.
    pub fn check(&self) -> Result<(), String> {
        check_id_of("deviceId", &self.device_id)?;
        TextRule::Line(NAME_BYTES).check("name", self.name.as_deref().unwrap_or_default())
    }
}

/// Unbind request.
#[derive(Clone, Debug, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Unbinding {
    /// User id; optional for user tokens.
    pub id: Option<String>,
    /// Type of `id`; default 1.
    #[schema(value_type = Option<i64>, minimum = 1, maximum = 3)]
    pub id_type: Option<IdType>,
    /// Device id; absent: all devices.
    pub device_id: Option<String>,
    /// 0 ordinary (default), 1 single-device login, 2 password change.
    #[schema(value_type = Option<i64>, minimum = 0, maximum = 2)]
    pub reason: Option<Reason>,
}

/// Reads a request or a list.
pub fn read_unbindings(body: &RawValue, most: usize) -> Result<Vec<Unbinding>, String> {
    let is_list = body.get().starts_with('[');
    let read: Vec<&RawValue> =
        if is_list { json::read_list(body.get().as_bytes(), most)? } else { vec![body] };
    let unbindings = read.into_iter().enumerate().map(|(place, raw)| {
        let unbinding = json::read_object::<Unbinding>(raw.get().as_bytes()).and_then(Unbinding::checked);
        unbinding.map_err(|reason| if is_list { format!("[{place}].{reason}") } else { reason })
    });
    unbindings.collect()
}

/// Bound device.
#[derive(Clone, Debug, PartialEq, Eq, FromRow, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Device {
    /// Device id.
    pub device_id: String,
    /// Display name.
    pub name: Option<String>,
    /// Binding time, epoch milliseconds.
    pub bound_at: i64,
}

impl Unbinding {
    fn checked(self) -> Result<Self, String> {
        // Only an absent id unbinds all.
        self.device_id.as_deref().map_or(Ok(()), |id| check_id_of("deviceId", id))?;
        Ok(self)
    }
}
