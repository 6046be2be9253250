//! Forms of a department (book: reference/directory.md).

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::platform::shared::patch::{TextRule, WHOLE_NUMBERS, Written, check_id_of};

/// Department to write: absent or null keeps a field, empty text restores its default.
#[derive(Clone, Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct OrganizationWrite {
    /// 1 to 512 bytes.
    #[serde(default)]
    pub org_id: String,
    /// Parent's source id; it exists or comes earlier in the request.
    pub parent_id: Option<String>,
    /// Unique UUID; empty text keeps it. Default: random.
    pub platform_org_id: Option<String>,
    /// Parent's platform id, used without `parentId`.
    pub platform_parent_id: Option<String>,
    /// At most 256 bytes.
    pub org_num: Option<String>,
    /// At most 256 bytes; required for new departments.
    pub name: Option<String>,
    /// At most 512 bytes.
    pub full_name: Option<String>,
    /// At most 4,096 bytes.
    pub full_path_name: Option<String>,
    /// At most 4,096 bytes.
    pub description: Option<String>,
    /// At most 256 bytes.
    pub telephone: Option<String>,
    /// At most 320 bytes.
    pub email: Option<String>,
    /// Person in charge; at most 512 bytes.
    pub principal: Option<String>,
    /// 32-bit integer.
    #[serde(default)]
    #[schema(value_type = Option<i64>)]
    pub level: Written<i64>,
    /// Within ±(2^53 − 1); default 0.
    #[serde(default)]
    #[schema(value_type = Option<i64>)]
    pub order_no: Written<i64>,
    /// 1 chat allowed, 0 not allowed; default 1.
    #[serde(default)]
    #[schema(value_type = Option<i64>)]
    pub enable_chat: Written<i64>,
    /// 32-bit integer; default 0.
    #[serde(default)]
    #[schema(value_type = Option<i64>)]
    pub secret_level: Written<i64>,
    /// Whether messages override do-not-disturb; default false.
    #[serde(default)]
    #[schema(value_type = Option<bool>)]
    pub is_force_receive: Written<bool>,
    /// Default false.
    #[serde(default)]
    #[schema(value_type = Option<bool>)]
    pub is_hidden: Written<bool>,
    /// Default false; children and members stay.
    #[serde(default)]
    #[schema(value_type = Option<bool>)]
    pub is_deleted: Written<bool>,
    /// 1 enabled, 0 disabled; default 1.
    #[serde(default)]
    #[schema(value_type = Option<i64>)]
    pub status: Written<i64>,
    /// At most 256 bytes.
    pub source: Option<String>,
    /// Alias of `isHidden`.
    #[serde(default)]
    #[schema(value_type = Option<bool>)]
    pub hidden: Written<bool>,
    /// Alias of `isDeleted`.
    #[serde(default)]
    #[schema(value_type = Option<bool>)]
    pub deleted: Written<bool>,
    /// Alias of `isForceReceive`.
    #[serde(default)]
    #[schema(value_type = Option<bool>)]
    pub force_receive: Written<bool>,
}

impl OrganizationWrite {
    /// Checks fields without stored data.
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

/// JSON column `details`.
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
    /// Telephone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub telephone: Option<String>,
    /// E-mail.
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

/// Synchronised department.
#[allow(clippy::struct_excessive_bools, reason = "the documented form has them")]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct OrganizationRead {
    /// Source department id.
    pub org_id: String,
    /// Parent's source id.
    pub parent_id: Option<String>,
    /// Platform department id.
    pub platform_org_id: String,
    /// Parent's platform id.
    pub platform_parent_id: Option<String>,
    /// Department number.
    pub org_num: Option<String>,
    /// Name.
    pub name: String,
    /// Full name.
    pub full_name: Option<String>,
    /// Full path name.
    pub full_path_name: Option<String>,
    /// Description.
    pub description: Option<String>,
    /// Telephone.
    pub telephone: Option<String>,
    /// E-mail.
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
    /// Whether messages override do-not-disturb.
    pub is_force_receive: bool,
    /// Hidden.
    pub is_hidden: bool,
    /// Deleted.
    pub is_deleted: bool,
    /// 1 enabled, 0 disabled.
    pub status: i64,
    /// Source marker.
    pub source: Option<String>,
    /// Alias of `isHidden`.
    pub hidden: bool,
    /// Alias of `isDeleted`.
    pub deleted: bool,
    /// Alias of `isForceReceive`.
    pub force_receive: bool,
    /// Last change, epoch milliseconds; unique.
    pub last_updated_date: String,
}
