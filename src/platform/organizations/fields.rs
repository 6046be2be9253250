//! The forms of a department: as it is sent, as its further fields are kept, and as it is read (specification, "Department").

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::platform::common::{TextRule, WHOLE_NUMBERS, Written, check_id_of};

/// A department as `PUT /v1/organizations/sync` takes it. A field that is absent or null means no change, an empty text means
/// set to null, which for what has a default is the default.
#[derive(Clone, Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct OrganizationWrite {
    /// Department id on the synchronising party's side; 1 to 512 bytes.
    #[serde(default)]
    pub org_id: String,
    /// Parent department id on the synchronising party's side; one that exists or comes earlier in the call.
    pub parent_id: Option<String>,
    /// Platform-internal department id, a UUID, no other department's; a random one when a new department has none. It cannot be
    /// set to null: an empty text is no change.
    pub platform_org_id: Option<String>,
    /// Platform-internal parent department id: another way to name the parent, where `parentId` is absent.
    pub platform_parent_id: Option<String>,
    /// Department number; at most 256 bytes.
    pub org_num: Option<String>,
    /// Department name, at most 256 bytes; required for a new department.
    pub name: Option<String>,
    /// Full name; at most 512 bytes.
    pub full_name: Option<String>,
    /// Full path name; at most 4,096 bytes.
    pub full_path_name: Option<String>,
    /// Description; at most 4,096 bytes.
    pub description: Option<String>,
    /// Contact telephone; at most 256 bytes.
    pub telephone: Option<String>,
    /// Department e-mail; at most 320 bytes.
    pub email: Option<String>,
    /// Person in charge; at most 512 bytes.
    pub principal: Option<String>,
    /// Level, an integer of 32 bits: kept as it is sent.
    #[serde(default)]
    #[schema(value_type = Option<i64>)]
    pub level: Written<i64>,
    /// Sort order, within ±(2^53 − 1); default 0.
    #[serde(default)]
    #[schema(value_type = Option<i64>)]
    pub order_no: Written<i64>,
    /// 1 chat allowed, 0 not allowed; default 1.
    #[serde(default)]
    #[schema(value_type = Option<i64>)]
    pub enable_chat: Written<i64>,
    /// Privacy level, an integer of 32 bits; default 0.
    #[serde(default)]
    #[schema(value_type = Option<i64>)]
    pub secret_level: Written<i64>,
    /// Whether a user's do-not-disturb setting has no effect on department messages; default false.
    #[serde(default)]
    #[schema(value_type = Option<bool>)]
    pub is_force_receive: Written<bool>,
    /// Hidden; default false.
    #[serde(default)]
    #[schema(value_type = Option<bool>)]
    pub is_hidden: Written<bool>,
    /// Deleted; default false. What lies below it and its people stay as they are.
    #[serde(default)]
    #[schema(value_type = Option<bool>)]
    pub is_deleted: Written<bool>,
    /// 1 enabled, 0 disabled; default 1.
    #[serde(default)]
    #[schema(value_type = Option<i64>)]
    pub status: Written<i64>,
    /// Source marker; at most 256 bytes.
    pub source: Option<String>,
    /// As `isHidden`, where that is absent.
    #[serde(default)]
    #[schema(value_type = Option<bool>)]
    pub hidden: Written<bool>,
    /// As `isDeleted`, where that is absent.
    #[serde(default)]
    #[schema(value_type = Option<bool>)]
    pub deleted: Written<bool>,
    /// As `isForceReceive`, where that is absent.
    #[serde(default)]
    #[schema(value_type = Option<bool>)]
    pub force_receive: Written<bool>,
}

impl OrganizationWrite {
    /// Checks what can be checked without knowing anything else.
    ///
    /// # Errors
    /// A message that names the field.
    pub fn check(&self) -> Result<(), String> {
        check_id_of("orgId", &self.org_id)?;
        if let Some(id) = self.parent_id.as_ref().filter(|id| !id.is_empty()) {
            check_id_of("parentId", id)?;
        }
        for (field, id) in
            [("platformOrgId", &self.platform_org_id), ("platformParentId", &self.platform_parent_id)]
        {
            if id.as_ref().is_some_and(|id| !id.is_empty() && Uuid::parse_str(id).is_err()) {
                return Err(format!("{field}: must be a UUID"));
            }
        }
        let line = TextRule::Line(256);
        for (field, text, rule) in [
            ("orgNum", &self.org_num, line),
            ("name", &self.name, line),
            ("fullName", &self.full_name, TextRule::Line(512)),
            ("fullPathName", &self.full_path_name, TextRule::Line(4_096)),
            ("description", &self.description, TextRule::Lines(4_096)),
            ("telephone", &self.telephone, line),
            ("email", &self.email, TextRule::Line(320)),
            ("principal", &self.principal, TextRule::Line(512)),
            ("source", &self.source, line),
        ] {
            rule.check(field, text.as_deref().unwrap_or_default())?;
        }
        let of_32_bits = i64::from(i32::MIN)..=i64::from(i32::MAX);
        self.level.check("level", &of_32_bits, "an integer of 32 bits")?;
        self.order_no.check("orderNo", &WHOLE_NUMBERS, "an integer within ±(2^53 − 1)")?;
        self.enable_chat.check("enableChat", &(0..=1), "1 (allowed) or 0 (not allowed)")?;
        self.secret_level.check("secretLevel", &of_32_bits, "an integer of 32 bits")?;
        self.status.check("status", &(0..=1), "1 (enabled) or 0 (disabled)")
    }
}

/// The fields of a department that are kept and read back, and that no rule asks for: the column `details`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OrganizationDetails {
    /// Department number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub org_num: Option<String>,
    /// Full name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full_name: Option<String>,
    /// Full path name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full_path_name: Option<String>,
    /// Description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Contact telephone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub telephone: Option<String>,
    /// Department e-mail.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// Person in charge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub principal: Option<String>,
    /// Level.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<i64>,
    /// Source marker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// A department as `GET /v1/organizations/sync` gives it.
#[allow(clippy::struct_excessive_bools, reason = "the documented form has them")]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct OrganizationRead {
    /// Department id on the synchronising party's side.
    pub org_id: String,
    /// Parent department id on the synchronising party's side.
    pub parent_id: Option<String>,
    /// Platform-internal department id.
    pub platform_org_id: String,
    /// Platform-internal parent department id.
    pub platform_parent_id: Option<String>,
    /// Department number.
    pub org_num: Option<String>,
    /// Department name.
    pub name: String,
    /// Full name.
    pub full_name: Option<String>,
    /// Full path name.
    pub full_path_name: Option<String>,
    /// Description.
    pub description: Option<String>,
    /// Contact telephone.
    pub telephone: Option<String>,
    /// Department e-mail.
    pub email: Option<String>,
    /// Person in charge.
    pub principal: Option<String>,
    /// Level.
    pub level: Option<i64>,
    /// Sort order.
    pub order_no: i64,
    /// 1 chat allowed, 0 not allowed.
    pub enable_chat: i64,
    /// Privacy level.
    pub secret_level: i64,
    /// Whether a user's do-not-disturb setting has no effect on department messages.
    pub is_force_receive: bool,
    /// Hidden.
    pub is_hidden: bool,
    /// Deleted.
    pub is_deleted: bool,
    /// 1 enabled, 0 disabled.
    pub status: i64,
    /// Source marker.
    pub source: Option<String>,
    /// As `isHidden`.
    pub hidden: bool,
    /// As `isDeleted`.
    pub deleted: bool,
    /// As `isForceReceive`.
    pub force_receive: bool,
    /// When it changed last: epoch milliseconds as text, another one for each change of the tenant's directory.
    pub last_updated_date: String,
}
