//! What an operator settles for a tenant, and sees of it (decisions 9.8).

use std::sync::Arc;

use sea_orm::{ConnectionTrait, DbErr, FromQueryResult};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::fields::number;
use crate::{
    app::App,
    audit::{self, Actor, Deed},
    auth::{caller::Caller, tenants},
    error::{Error, Result},
    platform::common::check_id_of,
    store::sql,
};

/// Bytes of a host name, and of a part of it (RFC 1035 §2.3.4).
const HOST_BYTES: usize = 253;
const LABEL_BYTES: usize = 63;
/// The largest number that every reader of JSON takes exactly.
const MOST_BYTES: i64 = (1 << 53) - 1;
/// Labels that one favorite may have at the most.
pub const MOST_LABELS_OF_A_FAVORITE: i64 = 1_000;
/// People who look after the folders of an enterprise, at the most.
const MOST_ADMINISTRATORS: usize = 100;

/// A tenant as operators see it: what it is, what it told of itself, and its settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TenantSettings {
    /// The tenant code.
    pub e_code: String,
    /// The enterprise's name.
    pub name: String,
    /// Whether every call of it or on it is refused.
    pub frozen: bool,
    /// Epoch milliseconds.
    pub created_at: i64,
    /// Whether domain applications that did not register it may manage it.
    pub is_allow_manage: bool,
    /// The registration request, as far as it was filled in.
    #[schema(value_type = Object)]
    pub profile: Map<String, Value>,
    /// What is added to logins that are synchronised from now on; null where nothing is.
    pub login_suffix: Option<String>,
    /// Whether its people may be added to groups of other tenants.
    pub allow_outer_members: bool,
    /// Bytes of all its files; 0: as many as there are.
    pub quota_bytes: i64,
    /// Bytes of the files of each enterprise, department, group and user; 0: as many as there are.
    pub subject_quota_bytes: i64,
    /// Labels that one favorite may have.
    pub label_limit: i64,
    /// Who looks after the folders of the enterprise: user ids.
    pub administrators: Vec<String>,
}

/// What is to be changed of a tenant's settings; what is absent or null stays.
#[derive(Clone, Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SettingsForm {
    /// Like a host name: `acme.com`; an empty text takes it away. It counts for logins that are synchronised from then on.
    pub login_suffix: Option<String>,
    /// Whether its people may be added to groups of other tenants.
    pub allow_outer_members: Option<bool>,
    /// Bytes of all its files; 0: as many as there are.
    pub quota_bytes: Option<i64>,
    /// Bytes of the files of each subject; 0: as many as there are.
    pub subject_quota_bytes: Option<i64>,
    /// Labels that one favorite may have, 0 to 1,000.
    pub label_limit: Option<i64>,
    /// Who looks after the folders of the enterprise: up to 100 user ids; those whom nobody has are kept for who comes.
    pub administrators: Option<Vec<String>>,
}

impl SettingsForm {
    /// The settings that become of these by this form.
    ///
    /// # Errors
    /// 400 that names the field.
    fn over(self, known: &TenantSettings) -> Result<TenantSettings> {
        let bytes = |field: &str, given: Option<i64>, known: i64| {
            given.map_or(Ok(known), |given| number(field, given, &(0..=MOST_BYTES)))
        };
        Ok(TenantSettings {
            login_suffix: match self.login_suffix {
                None => known.login_suffix.clone(),
                Some(suffix) if suffix.is_empty() => None,
                Some(suffix) => Some(check_suffix(suffix)?),
            },
            allow_outer_members: self.allow_outer_members.unwrap_or(known.allow_outer_members),
            quota_bytes: bytes("quotaBytes", self.quota_bytes, known.quota_bytes)?,
            subject_quota_bytes: bytes(
                "subjectQuotaBytes",
                self.subject_quota_bytes,
                known.subject_quota_bytes,
            )?,
            label_limit: self.label_limit.map_or(Ok(known.label_limit), |limit| {
                number("labelLimit", limit, &(0..=MOST_LABELS_OF_A_FAVORITE))
            })?,
            administrators: match self.administrators {
                None => known.administrators.clone(),
                Some(ids) => check_administrators(ids)?,
            },
            ..known.clone()
        })
    }
}

fn check_administrators(ids: Vec<String>) -> Result<Vec<String>> {
    if ids.len() > MOST_ADMINISTRATORS {
        return Err(Error::bad_request(format!(
            "administrators: must hold at most {MOST_ADMINISTRATORS} user ids, not {}",
            ids.len()
        )));
    }
    let mut named: Vec<String> = Vec::with_capacity(ids.len());
    for id in ids {
        check_id_of("administrators", &id).map_err(Error::bad_request)?;
        if !named.contains(&id) {
            named.push(id);
        }
    }
    Ok(named)
}

fn check_suffix(suffix: String) -> Result<String> {
    let is_label = |label: &str| {
        (1..=LABEL_BYTES).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    if suffix.len() <= HOST_BYTES && suffix.split('.').all(is_label) {
        return Ok(suffix);
    }
    Err(Error::bad_request("loginSuffix: must be like a host name, such as acme.com, or empty"))
}

/// The names of the settings that differ.
fn changed(before: &TenantSettings, after: &TenantSettings) -> Vec<&'static str> {
    let changes = [
        ("loginSuffix", before.login_suffix != after.login_suffix),
        ("allowOuterMembers", before.allow_outer_members != after.allow_outer_members),
        ("quotaBytes", before.quota_bytes != after.quota_bytes),
        ("subjectQuotaBytes", before.subject_quota_bytes != after.subject_quota_bytes),
        ("labelLimit", before.label_limit != after.label_limit),
        ("administrators", before.administrators != after.administrators),
    ];
    changes.into_iter().filter(|(_, changed)| *changed).map(|(field, _)| field).collect()
}

/// A tenant in the list of all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, FromQueryResult, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListedTenant {
    /// Its number, by which the list is ordered.
    #[serde(skip)]
    pub id: i64,
    /// The tenant code.
    #[sea_orm(from_alias = "code")]
    pub e_code: String,
    /// The enterprise's name.
    pub name: String,
    /// Whether every call of it or on it is refused.
    #[sea_orm(from_alias = "is_frozen")]
    pub frozen: bool,
    /// Epoch milliseconds.
    pub created_at: i64,
}

/// Up to `limit` tenants behind the one of this number, the oldest first.
pub async fn list(app: &App, after: i64, limit: u64) -> Result<Vec<ListedTenant>> {
    let statement = sql(
        "SELECT id, code, name, is_frozen, created_at FROM tenants \
         WHERE id > ? AND removed_at IS NULL ORDER BY id LIMIT ?",
        [after.into(), limit.into()],
    );
    Ok(ListedTenant::find_by_statement(statement).all(app.store.reader()).await?)
}

/// The settings of the tenant with this code.
///
/// # Errors
/// 404.
pub async fn find(app: &App, code: &str) -> Result<TenantSettings> {
    read(app.store.reader(), code).await
}

/// Changes settings of the tenant with this code; answers all of them.
///
/// # Errors
/// 400 that names the field, 404.
pub async fn change(
    app: &Arc<App>,
    caller: Arc<Caller>,
    code: String,
    form: SettingsForm,
) -> Result<TenantSettings> {
    let forgetting = Arc::clone(app);
    let job = app.store.write(move |transaction| {
        Box::pin(async move {
            let before = read(&**transaction, &code).await?;
            let after = form.over(&before)?;
            let fields = changed(&before, &after);
            if fields.is_empty() {
                return Ok(after);
            }
            let statement = sql(
                "UPDATE tenants SET login_suffix = ?, allow_outer_members = ?, quota_bytes = ?, \
                   subject_quota_bytes = ?, label_limit = ?, administrators = ? WHERE code = ?",
                [
                    after.login_suffix.as_deref().into(),
                    after.allow_outer_members.into(),
                    after.quota_bytes.into(),
                    after.subject_quota_bytes.into(),
                    after.label_limit.into(),
                    serde_json::to_string(&after.administrators).map_err(Error::internal)?.into(),
                    code.as_str().into(),
                ],
            );
            transaction.execute_raw(statement).await?;
            let tenant = tenants::find_by_code(&**transaction, &code).await?.ok_or_else(unknown)?;
            let deed = Deed::new("change", "tenant", code).with("fields", fields);
            audit::record(transaction, &Actor::caller(&caller), &tenant, vec![deed]).await?;
            if before.administrators != after.administrators {
                // What somebody owns counts from the answer on.
                transaction.after_commit(move || forgetting.authenticator.forget_callers(tenant.id));
            }
            Ok(after)
        })
    });
    job.await
}

#[derive(FromQueryResult)]
struct Row {
    code: String,
    name: String,
    is_frozen: bool,
    created_at: i64,
    allow_manage: bool,
    profile: String,
    login_suffix: Option<String>,
    allow_outer_members: bool,
    quota_bytes: i64,
    subject_quota_bytes: i64,
    label_limit: i64,
    administrators: String,
}

async fn read<C: ConnectionTrait>(connection: &C, code: &str) -> Result<TenantSettings> {
    let statement = sql(
        "SELECT code, name, is_frozen, created_at, allow_manage, profile, login_suffix, allow_outer_members, quota_bytes, \
           subject_quota_bytes, label_limit, administrators FROM tenants WHERE code = ? AND removed_at IS NULL",
        [code.into()],
    );
    let row: Result<Option<Row>, DbErr> = Row::find_by_statement(statement).one(connection).await;
    let row = row?.ok_or_else(unknown)?;
    Ok(TenantSettings {
        e_code: row.code,
        name: row.name,
        frozen: row.is_frozen,
        created_at: row.created_at,
        is_allow_manage: row.allow_manage,
        profile: serde_json::from_str(&row.profile).map_err(Error::internal)?,
        login_suffix: row.login_suffix,
        allow_outer_members: row.allow_outer_members,
        quota_bytes: row.quota_bytes,
        subject_quota_bytes: row.subject_quota_bytes,
        label_limit: row.label_limit,
        administrators: serde_json::from_str(&row.administrators).map_err(Error::internal)?,
    })
}

fn unknown() -> Error {
    Error::not_found("there is no tenant with this code")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suffix_is_like_a_host_name() {
        for suffix in ["acme", "acme.com", "a-b.example.org", "ACME.com", &"x".repeat(63)] {
            assert_eq!(check_suffix(suffix.to_owned()).unwrap(), suffix);
        }
        let long = vec!["x".repeat(60); 5].join(".");
        for wrong in
            ["@acme.com", ".acme", "acme.", "a..b", "-a", "a-", "ä.com", "a b", &"x".repeat(64), &long]
        {
            assert!(
                check_suffix(wrong.to_owned()).unwrap_err().message.starts_with("loginSuffix: "),
                "{wrong}"
            );
        }
    }
}
