//! What a device and the ways to name its user must be.

use sea_orm::FromQueryResult;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{json, platform::common::check_id};

/// Devices that a person may have at once.
pub const MOST_DEVICES: usize = 100;

/// Bytes of a device's name.
const NAME_BYTES: usize = 256;

/// How a user is named: `idType` of the document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "i64")]
pub enum IdType {
    /// 1: by the id inside the platform.
    #[default]
    Platform,
    /// 2: by the login account.
    Login,
    /// 3: by the id on the synchronising side.
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

/// Why a device is unbound: `reason` of the document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "i64", rename_all = "kebab-case")]
pub enum Reason {
    /// 0.
    #[default]
    Ordinary,
    /// 1: only one device may be signed in.
    SingleDeviceLogin,
    /// 2.
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

/// Whose devices.
#[derive(Clone, Debug, Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct Whose {
    /// The user's id; a user token may leave it out.
    pub id: Option<String>,
    /// What `id` is: 1 platform user id, 2 login, 3 source user id; default 1.
    #[param(value_type = Option<i64>, minimum = 1, maximum = 3)]
    pub id_type: Option<IdType>,
}

/// A device to bind.
#[derive(Clone, Debug, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeviceForm {
    /// The user's id; a user token may leave it out.
    pub id: Option<String>,
    /// What `id` is: 1 platform user id, 2 login, 3 source user id; default 1.
    #[schema(value_type = Option<i64>, minimum = 1, maximum = 3)]
    pub id_type: Option<IdType>,
    /// The device's id.
    pub device_id: String,
    /// A name for people.
    pub name: Option<String>,
}

impl DeviceForm {
    /// # Errors
    /// A message that names the field.
    pub fn check(&self) -> Result<(), String> {
        check_device_id(&self.device_id)?;
        let is_fit = |name: &String| name.len() <= NAME_BYTES && !name.chars().any(char::is_control);
        if self.name.as_ref().is_none_or(is_fit) {
            Ok(())
        } else {
            Err(format!("name: must be at most {NAME_BYTES} bytes of UTF-8 without control characters"))
        }
    }
}

/// A device to unbind (the document's "device unbind request").
#[derive(Clone, Debug, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Unbinding {
    /// The user's id; a user token may leave it out.
    pub id: Option<String>,
    /// What `id` is: 1 platform user id, 2 login, 3 source user id; default 1.
    #[schema(value_type = Option<i64>, minimum = 1, maximum = 3)]
    pub id_type: Option<IdType>,
    /// The device; all of the user's where it is absent.
    pub device_id: Option<String>,
    /// 0 ordinary, 1 single-device login, 2 password change; default 0.
    #[schema(value_type = Option<i64>, minimum = 0, maximum = 2)]
    pub reason: Option<Reason>,
}

/// One device to unbind, or several.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "describes the body, which is read by its first character")]
pub enum Unbindings {
    /// One.
    One(Unbinding),
    /// Several.
    Many(Vec<Unbinding>),
}

/// Reads one unbinding or a list of them.
///
/// # Errors
/// A message that names the field.
pub fn read_unbindings(body: &RawValue, most: usize) -> Result<Vec<Unbinding>, String> {
    let is_list = body.get().starts_with('[');
    let read: Vec<&RawValue> = if is_list { json::read(body.get().as_bytes())? } else { vec![body] };
    if read.len() > most {
        return Err(format!("must hold at most {most} devices, not {}", read.len()));
    }
    let unbindings = read.into_iter().enumerate().map(|(place, raw)| {
        let unbinding = json::read_object::<Unbinding>(raw.get().as_bytes()).and_then(Unbinding::checked);
        unbinding.map_err(|reason| if is_list { format!("[{place}].{reason}") } else { reason })
    });
    unbindings.collect()
}

/// A device that is bound.
#[derive(Clone, Debug, PartialEq, Eq, FromQueryResult, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Device {
    /// The device's id.
    pub device_id: String,
    /// A name for people.
    pub name: Option<String>,
    /// Since when, epoch milliseconds.
    pub bound_at: i64,
}

impl Unbinding {
    fn checked(self) -> Result<Self, String> {
        // Nothing but absence unbinds all: an empty id is a slip.
        self.device_id.as_deref().map_or(Ok(()), check_device_id)?;
        Ok(self)
    }
}

fn check_device_id(device_id: &str) -> Result<(), String> {
    check_id(device_id).map_err(|reason| reason.replacen("id:", "deviceId:", 1))
}
