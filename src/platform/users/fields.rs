//! The forms of a user: as he is sent, as his further fields are kept, and as he is read (specification, "User").

use std::collections::HashSet;

use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use super::picture::PictureParam;
use crate::platform::common::{TextRule, WHOLE_NUMBERS, Written, check_id_of};

/// Further departments of a user.
const MOST_DEPUTY_DEPARTMENTS: usize = 100;

/// What a name or a login may be.
pub const NAME: TextRule = TextRule::Line(256);

/// A user as `PUT /v1/users/sync` takes it. A field that is absent or null means no change, an empty text means set to
/// null, which for what has a default is the default.
#[derive(Clone, Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserWrite {
    /// User id on the synchronising party's side; 1 to 512 bytes.
    #[serde(default)]
    pub user_id: String,
    /// User id inside the platform, at most 512 bytes, no other user's; a random UUID when a new user has none. It cannot be
    /// set to null: an empty text is no change.
    pub platform_user_id: Option<String>,
    /// User number; at most 256 bytes.
    pub user_num: Option<String>,
    /// Login account, no other user's; `mobile` stands in where there is none. Where the enterprise has an account suffix, the
    /// login is this, `@` and the suffix, unless it ends with that already; at most 256 bytes with it.
    pub login_id: Option<String>,
    /// Name, at most 256 bytes; required for a new user.
    pub name: Option<String>,
    /// Full name; at most 512 bytes.
    pub full_name: Option<String>,
    /// 1 male, 2 female; required for a new user.
    #[serde(default)]
    #[schema(value_type = Option<i64>)]
    pub sex: Written<i64>,
    /// Mobile number, at most 256 bytes; the login where there is no `loginId`, without suffix.
    pub mobile: Option<String>,
    /// E-mail; at most 320 bytes.
    pub email: Option<String>,
    /// Work telephone; at most 256 bytes.
    pub telephone: Option<String>,
    /// Home telephone; at most 256 bytes.
    pub home_telephone: Option<String>,
    /// Address; at most 2,048 bytes.
    pub address: Option<String>,
    /// Birthday, at most 64 bytes: kept as it is sent, in whatever form.
    pub birthday: Option<String>,
    /// Signature; at most 4,096 bytes.
    pub description: Option<String>,
    /// Position; at most 1,024 bytes.
    pub post_description: Option<String>,
    /// Avatar.
    #[serde(default)]
    #[schema(value_type = Option<PictureParam>)]
    pub picture_param: Written<PictureParam>,
    /// User type: 1 ordinary user, 4 customer service, or one's own of 32 bits; default 1.
    #[serde(rename = "type")]
    #[serde(default)]
    #[schema(value_type = Option<i64>)]
    pub kind: Written<i64>,
    /// Main department id on the synchronising party's side; one that exists.
    pub org_id: Option<String>,
    /// Ids of additional departments on the synchronising party's side, which exist; at most 100.
    #[serde(default)]
    #[schema(value_type = Option<Vec<String>>)]
    pub deputy_org_ids: Written<Vec<String>>,
    /// Login password: base64 of its MD5 digest. It is never read back.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub password: Written<SecretString>,
    /// Sort order, within ±(2^53 − 1); default 0.
    #[serde(default)]
    #[schema(value_type = Option<i64>)]
    pub order_no: Written<i64>,
    /// 0 fully public, 1 visible to friends, 2 confidential; default 0.
    #[serde(default)]
    #[schema(value_type = Option<i64>)]
    pub secret_level: Written<i64>,
    /// 1 enabled, 0 disabled; default 1.
    #[serde(default)]
    #[schema(value_type = Option<i64>)]
    pub status: Written<i64>,
    /// Hidden; default false.
    #[serde(default)]
    #[schema(value_type = Option<bool>)]
    pub is_hidden: Written<bool>,
    /// Deleted; default false.
    #[serde(default)]
    #[schema(value_type = Option<bool>)]
    pub is_deleted: Written<bool>,
    /// As `isHidden`, where that is absent.
    #[serde(default)]
    #[schema(value_type = Option<bool>)]
    pub hidden: Written<bool>,
    /// As `isDeleted`, where that is absent.
    #[serde(default)]
    #[schema(value_type = Option<bool>)]
    pub deleted: Written<bool>,
    /// Extension fields; at most 16 KiB.
    pub extend_fields: Option<String>,
}

impl UserWrite {
    /// Checks what can be checked without knowing anything else.
    ///
    /// # Errors
    /// A message that names the field.
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
            if distinct.len() > MOST_DEPUTY_DEPARTMENTS {
                return Err(format!("deputyOrgIds: must be at most {MOST_DEPUTY_DEPARTMENTS}"));
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

/// The fields of a user that are kept and read back, and that no rule asks for: the column `details`.
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
    /// Birthday, as it was sent.
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

/// A user as `GET /v1/users/sync` gives him.
#[allow(clippy::struct_excessive_bools, reason = "the documented form has them")]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserRead {
    /// User id on the synchronising party's side.
    pub user_id: String,
    /// User id inside the platform.
    pub platform_user_id: String,
    /// User number.
    pub user_num: Option<String>,
    /// Login account, with the enterprise's account suffix; the mobile number where there is no other.
    pub login_id: String,
    /// User name.
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
    /// Birthday, as it was sent.
    pub birthday: Option<String>,
    /// Signature.
    pub description: Option<String>,
    /// Position.
    pub post_description: Option<String>,
    /// The address of the avatar.
    pub picture: Option<String>,
    /// User type; 1 is an ordinary user.
    #[serde(rename = "type")]
    pub kind: i64,
    /// Main department id on the synchronising party's side.
    pub org_id: Option<String>,
    /// Main department id inside the platform.
    pub platform_org_id: Option<String>,
    /// Ids of additional departments on the synchronising party's side.
    pub deputy_org_ids: Vec<String>,
    /// null: a password is never read back.
    #[schema(value_type = Option<String>)]
    pub password: (),
    /// Sort order.
    pub order_no: i64,
    /// 0 fully public, 1 visible to friends, 2 confidential.
    pub secret_level: i64,
    /// 1 enabled, 0 disabled.
    pub status: i64,
    /// The code of his work status; null where he has none.
    pub work_status: Option<String>,
    /// Hidden.
    pub is_hidden: bool,
    /// Deleted.
    pub is_deleted: bool,
    /// As `isHidden`.
    pub hidden: bool,
    /// As `isDeleted`.
    pub deleted: bool,
    /// Extension fields.
    pub extend_fields: Option<String>,
    /// When he changed last: epoch milliseconds as text, another one for each change of the tenant's directory.
    pub last_updated_date: String,
}
