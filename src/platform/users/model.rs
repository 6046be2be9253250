//! What a synchronised user must be: the rules of the write form, judged on the resulting row.

use serde::Deserialize;
use uuid::Uuid;

use crate::platform::common::{check_id, written_text};

/// A user as `PUT /v1/users/sync` takes it, core fields. A field that is absent or null means no change, an empty
/// string means set to null.
#[derive(Clone, Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct UserWrite {
    /// User id on the synchronising party's side.
    pub user_id: String,
    /// User id inside the platform; a random UUID when a new user has none.
    pub platform_user_id: Option<String>,
    /// Login account; `mobile` stands in where there is none.
    pub login_id: Option<String>,
    /// Name; required for a new user.
    pub name: Option<String>,
    /// 1 male, 2 female; required for a new user.
    pub sex: Option<i64>,
    /// Mobile number.
    pub mobile: Option<String>,
    /// Main department id on the synchronising party's side; one that exists.
    pub org_id: Option<String>,
    /// 1 enabled, 0 disabled; default 1.
    pub status: Option<i64>,
    /// Hidden; default false.
    pub is_hidden: Option<bool>,
    /// Deleted; default false.
    pub is_deleted: Option<bool>,
}

/// A user as he is kept.
#[derive(Clone, Debug, PartialEq, Eq, sea_orm::FromQueryResult)]
pub struct User {
    /// User id on the synchronising party's side.
    pub user_id: String,
    /// User id inside the platform.
    pub platform_user_id: String,
    /// Login account.
    pub login_id: String,
    /// Name.
    pub name: String,
    /// 1 male, 2 female.
    pub sex: i64,
    /// Mobile number.
    pub mobile: Option<String>,
    /// Main department id on the synchronising party's side.
    pub org_id: Option<String>,
    /// 1 enabled, 0 disabled.
    pub status: i64,
    /// Hidden.
    pub is_hidden: bool,
    /// Deleted.
    pub is_deleted: bool,
}

impl UserWrite {
    /// The row that this change leaves.
    ///
    /// # Errors
    /// A message that names the field.
    pub fn apply(&self, known: Option<&User>) -> Result<User, String> {
        check_id(&self.user_id).map_err(|reason| reason.replacen("id:", "userId:", 1))?;
        let text = |field: &Option<String>, of: fn(&User) -> Option<&String>| {
            written_text(field.as_ref(), known.and_then(of))
        };
        let mobile = text(&self.mobile, |user| user.mobile.as_ref());
        // A login that is the mobile number follows it: the number stands in where there is no login.
        let own_login = |user: &User| user.mobile.as_ref() != Some(&user.login_id);
        let known_login = known.filter(|user| own_login(user)).map(|user| &user.login_id);
        let login_id = written_text(self.login_id.as_ref(), known_login)
            .or_else(|| mobile.clone())
            .ok_or("loginId: either loginId or mobile must be there")?;
        let sex = self.sex.or(known.map(|user| user.sex)).ok_or("sex: is required for a new user, 1 or 2")?;
        let status = self.status.or(known.map(|user| user.status)).unwrap_or(1);
        if !(1..=2).contains(&sex) {
            return Err(format!("sex: must be 1 (male) or 2 (female), not {sex}"));
        }
        if !(0..=1).contains(&status) {
            return Err(format!("status: must be 1 (enabled) or 0 (disabled), not {status}"));
        }
        let name = text(&self.name, |user| Some(&user.name)).ok_or("name: is required")?;
        for (field, value) in [("loginId", &login_id), ("name", &name)] {
            if value.len() > 256 || value.chars().any(char::is_control) {
                return Err(format!(
                    "{field}: must be at most 256 bytes of UTF-8 without control characters"
                ));
            }
        }
        Ok(User {
            user_id: self.user_id.clone(),
            platform_user_id: text(&self.platform_user_id, |user| Some(&user.platform_user_id))
                .unwrap_or_else(|| Uuid::new_v4().to_string()),
            login_id,
            name,
            sex,
            mobile,
            org_id: text(&self.org_id, |user| user.org_id.as_ref()),
            status,
            is_hidden: self.is_hidden.or(known.map(|user| user.is_hidden)).unwrap_or(false),
            is_deleted: self.is_deleted.or(known.map(|user| user.is_deleted)).unwrap_or(false),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new_user() -> UserWrite {
        UserWrite {
            user_id: "u1".to_owned(),
            login_id: Some("mei".to_owned()),
            name: Some("Mei".to_owned()),
            sex: Some(2),
            ..UserWrite::default()
        }
    }

    #[test]
    fn a_new_user_needs_name_sex_and_a_login() {
        assert!(new_user().apply(None).is_ok());
        assert!(UserWrite { name: None, ..new_user() }.apply(None).unwrap_err().starts_with("name:"));
        assert!(UserWrite { sex: None, ..new_user() }.apply(None).unwrap_err().starts_with("sex:"));
        assert!(UserWrite { login_id: None, ..new_user() }.apply(None).unwrap_err().starts_with("loginId:"));
        let by_mobile = UserWrite { login_id: None, mobile: Some("139".to_owned()), ..new_user() };
        assert_eq!(by_mobile.apply(None).unwrap().login_id, "139");
    }

    #[test]
    fn absent_keeps_and_empty_clears() {
        let with_department = UserWrite { org_id: Some("d1".to_owned()), ..new_user() };
        let known = with_department.apply(None).unwrap();
        let nothing = UserWrite { user_id: "u1".to_owned(), ..UserWrite::default() };
        assert_eq!(nothing.apply(Some(&known)).unwrap(), known);
        let cleared = UserWrite { org_id: Some(String::new()), ..nothing.clone() };
        assert_eq!(cleared.apply(Some(&known)).unwrap().org_id, None);
        let nameless = UserWrite { name: Some(String::new()), ..nothing };
        assert!(nameless.apply(Some(&known)).unwrap_err().starts_with("name:"));
    }

    #[test]
    fn a_login_that_is_the_mobile_number_follows_it() {
        let known =
            UserWrite { login_id: None, mobile: Some("139".to_owned()), ..new_user() }.apply(None).unwrap();
        let moved =
            UserWrite { user_id: "u1".to_owned(), mobile: Some("138".to_owned()), ..UserWrite::default() };
        assert_eq!(moved.apply(Some(&known)).unwrap().login_id, "138");
    }
}
