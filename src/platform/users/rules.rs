//! Rules of user synchronisation.

use std::collections::HashSet;

use uuid::Uuid;

use super::{
    forms::{NAME, UserDetails, UserWrite},
    password::PasswordHash,
    picture::Picture,
};
use crate::{
    error::Result,
    identity::logins,
    platform::shared::{
        directory_rows::DirectoryRow,
        patch::{Written, written_text},
    },
    store::{FromRow, Json, Value},
};

/// Stored user.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct StoredUser {
    /// Source user id.
    pub user_id: String,
    /// Platform user id.
    pub platform_user_id: String,
    /// Login with suffix.
    pub login_id: String,
    /// Whether the login was set explicitly, not from the mobile number.
    pub has_own_login: bool,
    /// Name.
    pub name: String,
    /// 1 male, 2 female.
    pub sex: i64,
    /// Mobile number.
    pub mobile: Option<String>,
    /// Main department's source id.
    pub org_id: Option<String>,
    /// Further departments, each once.
    pub deputy_org_ids: Json<Vec<String>>,
    /// User type.
    #[sqlx(rename = "type")]
    pub kind: i64,
    /// Sort order.
    pub order_no: i64,
    /// 0 public, 1 friends (treated as 2), 2 confidential.
    pub secret_level: i64,
    /// 1 enabled, 0 disabled.
    pub status: i64,
    /// Hidden.
    pub is_hidden: bool,
    /// Deleted.
    pub is_deleted: bool,
    /// Details without rules.
    pub details: Json<UserDetails>,
    /// Hash of the canonical password.
    pub password_hash: Option<PasswordHash>,
    /// Avatar address, or path of a stored picture ([`super::picture::public_address`]).
    pub picture: Option<String>,
    /// Earlier epochs' tokens are invalid.
    pub epoch: i64,
}

/// Validated change; password hashed, picture decoded.
#[derive(Clone, Debug, Default)]
pub struct UserChange {
    /// Validated form.
    pub form: UserWrite,
    /// Password hash; the stored one if unchanged.
    pub password_hash: Written<PasswordHash>,
    /// New avatar.
    pub picture: Option<Picture>,
}

/// Appends the enterprise's suffix if missing.
pub fn with_suffix(login: &str, suffix: Option<&str>) -> String {
    match suffix.map(|suffix| suffix.trim_start_matches('@')).filter(|suffix| !suffix.is_empty()) {
        // Host names ignore case.
        Some(suffix)
            if !login
                .rsplit_once('@')
                .is_some_and(|(rest, end)| !rest.is_empty() && end.eq_ignore_ascii_case(suffix)) =>
        {
            format!("{login}@{suffix}")
        }
        _ => login.to_owned(),
    }
}

impl UserChange {
    /// Resulting row.
    pub fn apply(
        &self,
        known: Option<&StoredUser>,
        suffix: Option<&str>,
        picture: &Written<String>,
    ) -> Result<StoredUser, String> {
        let form = &self.form;
        let mobile = written_text(form.mobile.as_ref(), known.and_then(|user| user.mobile.as_ref()));
        let given = form.login_id.as_ref().map(|login| match login.as_str() {
            "" => String::new(),
            login => with_suffix(login, suffix),
        });
        let known_login = known.filter(|user| user.has_own_login).map(|user| &user.login_id);
        let own_login = written_text(given.as_ref(), known_login);
        let has_own_login = own_login.is_some();
        let login_id =
            own_login.or_else(|| mobile.clone()).ok_or("loginId: either loginId or mobile is required")?;
        let name =
            written_text(form.name.as_ref(), known.map(|user| &user.name)).ok_or("name: is required")?;
        NAME.check("loginId", &login_id)?;
        for (field, text) in [("loginId", &login_id), ("name", &name)] {
            if text.trim().is_empty() {
                return Err(format!("{field}: must not be blank"));
            }
        }
        let sex = form.sex.over(known.map(|user| &user.sex)).ok_or("sex: is required, 1 or 2")?;
        let is_deleted =
            form.is_deleted.or(&form.deleted).over_default(known.map(|user| &user.is_deleted), false);
        let mut user = StoredUser {
            user_id: form.user_id.clone(),
            platform_user_id: form
                .platform_user_id
                .clone()
                .filter(|id| !id.is_empty())
                .or_else(|| known.map(|user| user.platform_user_id.clone()))
                .unwrap_or_else(|| Uuid::new_v4().to_string()),
            login_id,
            has_own_login,
            name,
            sex,
            mobile,
            org_id: written_text(form.org_id.as_ref(), known.and_then(|user| user.org_id.as_ref())),
            deputy_org_ids: self.deputy_departments(known),
            kind: form.kind.over_default(known.map(|user| &user.kind), 1),
            order_no: form.order_no.over_default(known.map(|user| &user.order_no), 0),
            secret_level: form.secret_level.over_default(known.map(|user| &user.secret_level), 0),
            status: form.status.over_default(known.map(|user| &user.status), 1),
            is_hidden: form.is_hidden.or(&form.hidden).over_default(known.map(|user| &user.is_hidden), false),
            is_deleted,
            details: self.details(known),
            password_hash: self.password_hash.over(known.and_then(|user| user.password_hash.as_ref())),
            picture: picture.over(known.and_then(|user| user.picture.as_ref())).filter(|_| !is_deleted),
            epoch: known.map_or(0, |user| user.epoch),
        };
        user.epoch += i64::from(known.is_some_and(|known| user.ends_tokens_of(known)));
        Ok(user)
    }

    /// Additional departments.
    pub fn deputy_org_ids(&self) -> &[String] {
        match &self.form.deputy_org_ids {
            Written::Set(ids) => ids,
            Written::Keep | Written::Clear => &[],
        }
    }

    fn deputy_departments(&self, known: Option<&StoredUser>) -> Json<Vec<String>> {
        let known = known.map(|user| user.deputy_org_ids.0.as_slice()).unwrap_or_default();
        let mut ids = match &self.form.deputy_org_ids {
            Written::Keep => known.to_vec(),
            Written::Clear | Written::Set(_) => self.deputy_org_ids().to_vec(),
        };
        let mut seen = HashSet::new();
        ids.retain(|id| seen.insert(id.clone()));
        Json(ids)
    }

    fn details(&self, known: Option<&StoredUser>) -> Json<UserDetails> {
        let form = &self.form;
        let text = |field: &Option<String>, of: fn(&UserDetails) -> &Option<String>| {
            written_text(field.as_ref(), known.and_then(|user| of(&user.details).as_ref()))
        };
        Json(UserDetails {
            user_num: text(&form.user_num, |details| &details.user_num),
            full_name: text(&form.full_name, |details| &details.full_name),
            email: text(&form.email, |details| &details.email),
            telephone: text(&form.telephone, |details| &details.telephone),
            home_telephone: text(&form.home_telephone, |details| &details.home_telephone),
            address: text(&form.address, |details| &details.address),
            birthday: text(&form.birthday, |details| &details.birthday),
            description: text(&form.description, |details| &details.description),
            post_description: text(&form.post_description, |details| &details.post_description),
            extend_fields: text(&form.extend_fields, |details| &details.extend_fields),
        })
    }
}

impl StoredUser {
    /// Whether tokens become invalid.
    fn ends_tokens_of(&self, before: &Self) -> bool {
        self.password_hash != before.password_hash
            || (self.is_deleted && !before.is_deleted)
            || (self.status == 0 && before.status != 0)
    }
}

impl DirectoryRow for StoredUser {
    const TABLE: &'static str = "users";
    const COLUMNS: &'static [&'static str] = &[
        "user_id",
        "platform_user_id",
        "login_id",
        "login_folded",
        "has_own_login",
        "name",
        "sex",
        "mobile",
        "org_id",
        "deputy_org_ids",
        "type",
        "order_no",
        "secret_level",
        "status",
        "is_hidden",
        "is_deleted",
        "details",
        "password_hash",
        "picture",
        "epoch",
    ];
    const UNIQUE: &'static [&'static str] = &["login_id", "platform_user_id"];
    const KIND: &'static str = "user";

    fn id(&self) -> &str {
        &self.user_id
    }

    fn values(&self) -> Result<Vec<Value>> {
        Ok(vec![
            Value::from(self.user_id.as_str()),
            self.platform_user_id.as_str().into(),
            self.login_id.as_str().into(),
            logins::fold(&self.login_id).into(),
            self.has_own_login.into(),
            self.name.as_str().into(),
            self.sex.into(),
            self.mobile.as_deref().into(),
            self.org_id.as_deref().into(),
            Value::json(&self.deputy_org_ids)?,
            self.kind.into(),
            self.order_no.into(),
            self.secret_level.into(),
            self.status.into(),
            self.is_hidden.into(),
            self.is_deleted.into(),
            Value::json(&self.details)?,
            self.password_hash.as_ref().map(PasswordHash::as_str).into(),
            self.picture.as_deref().into(),
            self.epoch.into(),
        ])
    }

    fn leaves_something_unique(&self, before: &Self) -> bool {
        self.login_id != before.login_id
            || self.platform_user_id != before.platform_user_id
            || self.is_deleted != before.is_deleted
    }

    fn is_deleted(&self) -> bool {
        self.is_deleted
    }

    fn status(&self) -> i64 {
        self.status
    }

    fn changed_fields(&self, before: &Self) -> Vec<&'static str> {
        let (ours, theirs) = (&self.details, &before.details);
        [
            ("platformUserId", self.platform_user_id != before.platform_user_id),
            ("loginId", self.login_id != before.login_id || self.has_own_login != before.has_own_login),
            ("name", self.name != before.name),
            ("sex", self.sex != before.sex),
            ("mobile", self.mobile != before.mobile),
            ("orgId", self.org_id != before.org_id),
            ("deputyOrgIds", self.deputy_org_ids != before.deputy_org_ids),
            ("type", self.kind != before.kind),
            ("orderNo", self.order_no != before.order_no),
            ("secretLevel", self.secret_level != before.secret_level),
            ("status", self.status != before.status),
            ("isHidden", self.is_hidden != before.is_hidden),
            ("isDeleted", self.is_deleted != before.is_deleted),
            ("password", self.password_hash != before.password_hash),
            ("picture", self.picture != before.picture),
            ("userNum", ours.user_num != theirs.user_num),
            ("fullName", ours.full_name != theirs.full_name),
            ("email", ours.email != theirs.email),
            ("telephone", ours.telephone != theirs.telephone),
            ("homeTelephone", ours.home_telephone != theirs.home_telephone),
            ("address", ours.address != theirs.address),
            ("birthday", ours.birthday != theirs.birthday),
            ("description", ours.description != theirs.description),
            ("postDescription", ours.post_description != theirs.post_description),
            ("extendFields", ours.extend_fields != theirs.extend_fields),
        ]
        .into_iter()
        .filter_map(|(name, differs)| differs.then_some(name))
        .collect()
    }
}

/// Kind of a user identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedBy {
    /// Source user id.
    UserId,
    /// Login.
    LoginId,
}

impl NamedBy {
    /// Column of `users`.
    pub fn column(self) -> &'static str {
        match self {
            Self::UserId => "user_id",
            Self::LoginId => "login_id",
        }
    }
}

/// Visible person.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct ShownPerson {
    /// Source user id.
    pub user_id: String,
    /// Login.
    pub login_id: String,
    /// Main department's source id.
    pub org_id: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffix_is_added_once() {
        for (login, suffix, expected) in [
            ("mei", Some("acme"), "mei@acme"),
            ("mei", Some("@acme"), "mei@acme"),
            ("mei@acme", Some("acme"), "mei@acme"),
            ("mei@other", Some("acme"), "mei@other@acme"),
            ("meiacme", Some("acme"), "meiacme@acme"),
            ("@acme", Some("acme"), "@acme@acme"),
            ("mei", Some(""), "mei"),
            ("mei", None, "mei"),
        ] {
            assert_eq!(with_suffix(login, suffix), expected);
        }
    }

    #[test]
    fn deputy_departments_are_counted_once() {
        let ids: [String; 200] = std::array::from_fn(|place| (place % 100).to_string());
        let deputy_org_ids = Written::Set(ids.into());
        let form = UserWrite { user_id: "u1".to_owned(), deputy_org_ids, ..UserWrite::default() };
        assert_eq!(form.check(), Ok(()));
    }
}
