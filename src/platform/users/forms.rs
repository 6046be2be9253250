//! Forms of a user (book: reference/directory.md).

use std::collections::HashSet;

use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use super::picture::PictureParam;
use crate::{
    json::BoundedList,
    platform::shared::patch::{TextRule, WHOLE_NUMBERS, Written, check_id_of},
};

const MAX_DEPUTY_DEPARTMENTS: usize = 100;
/// Maximum ids in a list, which may name a department twice.
const MAX_DEPUTY_IDS: usize = 1_000;

/// Rule for names and logins.
pub const NAME: TextRule = TextRule::Line(256);

/// User to write: absent or null keeps a field, empty text restores its default.
#[derive(Clone, Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserWrite {
    /// 1 to 512 bytes.
    #[serde(default)]
    pub user_id: String,
    /// Unique, at most 512 bytes; empty text keeps it. Default: a random UUID.
    pub platform_user_id: Option<String>,
    /// At most 256 bytes.
    pub user_num: Option<String>,
    /// Unique, at most 256 bytes with the enterprise's `@suffix`, added if missing; default `mobile`.
    pub login_id: Option<String>,
    /// At most 256 bytes; required for new users.
    pub name: Option<String>,
    /// At most 512 bytes.
    pub full_name: Option<String>,
    /// 1 male, 2 female; required for new users.
    #[serde(default)]
    #[schema(value_type = Option<i64>)]
    pub sex: Written<i64>,
    /// At most 256 bytes; also the default login.
    pub mobile: Option<String>,
    /// At most 320 bytes.
    pub email: Option<String>,
    /// Work telephone; at most 256 bytes.
    pub telephone: Option<String>,
    /// At most 256 bytes.
    pub home_telephone: Option<String>,
    /// At most 2,048 bytes.
    pub address: Option<String>,
    /// Any format, at most 64 bytes.
    pub birthday: Option<String>,
    /// Signature; at most 4,096 bytes.
    pub description: Option<String>,
    /// Position; at most 1,024 bytes.
    pub post_description: Option<String>,
    /// Avatar.
    #[serde(default)]
    #[schema(value_type = Option<PictureParam>)]
    pub picture_param: Written<PictureParam>,
    /// 1 ordinary, 4 customer service, or a custom 32-bit integer; default 1.
    #[serde(rename = "type")]
    #[serde(default)]
    #[schema(value_type = Option<i64>)]
    pub kind: Written<i64>,
    /// Existing main department.
    pub org_id: Option<String>,
    /// Up to 100 existing additional departments.
    #[serde(default)]
    #[schema(value_type = Option<BoundedList<String, { MAX_DEPUTY_IDS }>>)]
    pub deputy_org_ids: Written<BoundedList<String, { MAX_DEPUTY_IDS }>>,
    /// Base64 of the password's MD5 digest; write-only.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub password: Written<SecretString>,
    /// Within ±(2^53 − 1); default 0.
    #[serde(default)]
    #[schema(value_type = Option<i64>)]
    pub order_no: Written<i64>,
    /// 0 public, 1 friends, 2 confidential; default 0.
    #[serde(default)]
    #[schema(value_type = Option<i64>)]
    pub secret_level: Written<i64>,
    /// 1 enabled, 0 disabled; default 1.
    #[serde(default)]
    #[schema(value_type = Option<i64>)]
    pub status: Written<i64>,
    /// Default false.
    #[serde(default)]
    #[schema(value_type = Option<bool>)]
    pub is_hidden: Written<bool>,
    /// Default false.
    #[serde(default)]
    #[schema(value_type = Option<bool>)]
    pub is_deleted: Written<bool>,
    /// Alias of `isHidden`.
    #[serde(default)]
    #[schema(value_type = Option<bool>)]
    pub hidden: Written<bool>,
    /// Alias of `isDeleted`.
    #[serde(default)]
    #[schema(value_type = Option<bool>)]
    pub deleted: Written<bool>,
    /// At most 16 KiB.
    pub extend_fields: Option<String>,
}

impl UserWrite {
    /// Checks fields without stored data.
    pub fn check(&self) -> Result<(), String> {
        check_id_of("userId", &self.user_id)?;
        for (field, id) in [("platformUserId", &self.platform_user_id), ("orgId", &self.org_id)] {
            if let Some(id) = id.as_ref().filter(|id| !id.is_empty()) {
                check_id_of(field, id)?;
            }
        }
        for (field, text, rule) in self.texts() {
            rule.check(field, text.as_deref().unwrap_or_default())?;
        }
        if let Written::Set(ids) = &self.deputy_org_ids {
            let distinct: HashSet<&String> = ids.iter().collect();
            if distinct.len() > MAX_DEPUTY_DEPARTMENTS {
                return Err(format!("deputyOrgIds: must be at most {MAX_DEPUTY_DEPARTMENTS}"));
            }
            distinct.into_iter().try_for_each(|id| check_id_of("deputyOrgIds", id))?;
        }
        self.sex.check("sex", &(1..=2), "1 (male) or 2 (female)")?;
        self.kind.check("type", &(i64::from(i32::MIN)..=i64::from(i32::MAX)), "an integer of 32 bits")?;
        self.order_no.check("orderNo", &WHOLE_NUMBERS, "an integer within ±(2^53 − 1)")?;
        self.secret_level.check("secretLevel", &(0..=2), "0 (public), 1 (friends) or 2 (confidential)")?;
        self.status.check("status", &(0..=1), "1 (enabled) or 0 (disabled)")
    }

    fn texts(&self) -> [(&'static str, &Option<String>, TextRule); 13] {
        [
            ("loginId", &self.login_id, NAME),
            ("name", &self.name, NAME),
            ("mobile", &self.mobile, NAME),
            ("userNum", &self.user_num, NAME),
            ("fullName", &self.full_name, TextRule::Line(512)),
            ("email", &self.email, TextRule::Line(320)),
            ("telephone", &self.telephone, NAME),
            ("homeTelephone", &self.home_telephone, NAME),
            ("address", &self.address, TextRule::Lines(2_048)),
            ("birthday", &self.birthday, TextRule::Line(64)),
            ("description", &self.description, TextRule::Lines(4_096)),
            ("postDescription", &self.post_description, TextRule::Lines(1_024)),
            ("extendFields", &self.extend_fields, TextRule::Lines(16 << 10)),
        ]
    }
}

/// JSON column `details`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct UserDetails {
    /// User number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_num: Option<String>,
    /// Full name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full_name: Option<String>,
    /// E-mail.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// Work telephone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub telephone: Option<String>,
    /// Home telephone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub home_telephone: Option<String>,
    /// Address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Birthday as sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub birthday: Option<String>,
    /// Signature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Position.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub post_description: Option<String>,
    /// Extension fields.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extend_fields: Option<String>,
}

/// Synchronised user.
#[allow(clippy::struct_excessive_bools, reason = "the documented form has them")]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserRead {
    /// Source user id.
    pub user_id: String,
    /// Platform user id.
    pub platform_user_id: String,
    /// User number.
    pub user_num: Option<String>,
    /// Login with account suffix.
    pub login_id: String,
    /// Name.
    pub name: String,
    /// Full name.
    pub full_name: Option<String>,
    /// 1 male, 2 female.
    pub sex: i64,
    /// Mobile number.
    pub mobile: Option<String>,
    /// E-mail.
    pub email: Option<String>,
    /// Work telephone.
    pub telephone: Option<String>,
    /// Home telephone.
    pub home_telephone: Option<String>,
    /// Address.
    pub address: Option<String>,
    /// Birthday as sent.
    pub birthday: Option<String>,
    /// Signature.
    pub description: Option<String>,
    /// Position.
    pub post_description: Option<String>,
    /// Avatar address.
    pub picture: Option<String>,
    /// User type.
    #[serde(rename = "type")]
    pub kind: i64,
    /// Main department's source id.
    pub org_id: Option<String>,
    /// Main department's platform id.
    pub platform_org_id: Option<String>,
    /// Additional departments' source ids.
    pub deputy_org_ids: Vec<String>,
    /// Always null.
    #[schema(value_type = Option<String>)]
    pub password: (),
    /// Sort order.
    pub order_no: i64,
    /// 0 public, 1 friends, 2 confidential.
    pub secret_level: i64,
    /// 1 enabled, 0 disabled.
    pub status: i64,
    /// Work status code.
    pub work_status: Option<String>,
    /// Hidden.
    pub is_hidden: bool,
    /// Deleted.
    pub is_deleted: bool,
    /// Alias of `isHidden`.
    pub hidden: bool,
    /// Alias of `isDeleted`.
    pub deleted: bool,
    /// Extension fields.
    pub extend_fields: Option<String>,
    /// Last change, epoch milliseconds; unique.
    pub last_updated_date: String,
}
