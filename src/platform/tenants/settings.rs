//! Tenant settings (`/admin/v1/tenants/{eCode}`).

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::field_rules::number;
use crate::{
    audit::{self, Actor, AuditEvent},
    auth::{caller::Caller, tenants},
    error::{Error, Result},
    http::precondition::IfMatch,
    json::BoundedList,
    platform::{insights, shared::patch::check_id_of, tenants::TenantsState},
    store::{self, Cached, Connection, FromRow, sql},
};

/// RFC 1035 §2.3.4.
const HOST_BYTES: usize = 253;
const LABEL_BYTES: usize = 63;
const MAX_BYTES: i64 = (1 << 53) - 1;
/// Upper bound of labels per favorite.
pub const MAX_LABELS_OF_A_FAVORITE: i64 = 1_000;
const MAX_ADMINISTRATORS: usize = 100;

/// Tenant with profile and settings.
#[expect(clippy::struct_excessive_bools, reason = "the documented object has them")]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TenantSettings {
    /// Tenant code.
    pub e_code: String,
    /// Enterprise name.
    pub name: String,
    /// Whether all its calls are refused.
    pub frozen: bool,
    /// Epoch milliseconds.
    pub created_at: i64,
    /// Whether other domain applications may manage it.
    pub is_allow_manage: bool,
    /// Nonempty fields of the registration.
    #[schema(value_type = std::collections::BTreeMap<String, String>)]
    pub profile: Map<String, Value>,
    /// Suffix of new logins; null if none.
    pub login_suffix: Option<String>,
    /// Whether its people may join other tenants' groups.
    pub allow_outer_members: bool,
    /// Byte quota of all files; 0: none.
    pub quota_bytes: i64,
    /// Byte quota of each enterprise, department, group and user; 0: none.
    pub subject_quota_bytes: i64,
    /// Maximum labels per favorite.
    pub label_limit: i64,
    /// User ids of folder administrators.
    pub administrators: Vec<String>,
    /// Whether finished searches of its people are counted by keyword, without the people.
    pub search_insights: bool,
}

/// Settings to change; absent or null fields stay.
#[derive(Clone, Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SettingsForm {
    /// Suffix of later logins, like a host name (`acme.com`); empty removes it.
    pub login_suffix: Option<String>,
    /// Whether its people may join other tenants' groups.
    pub allow_outer_members: Option<bool>,
    /// Byte quota of all files; 0: none.
    pub quota_bytes: Option<i64>,
    /// Byte quota of each subject; 0: none.
    pub subject_quota_bytes: Option<i64>,
    /// Maximum labels per favorite, 0 to 1,000.
    pub label_limit: Option<i64>,
    /// Up to 100 user ids of folder administrators, future users' too.
    pub administrators: Option<BoundedList<String, { MAX_ADMINISTRATORS }>>,
    /// Whether finished searches are counted by keyword; false removes all counts.
    pub search_insights: Option<bool>,
}

impl SettingsForm {
    fn over(self, known: &TenantSettings) -> Result<TenantSettings> {
        let bytes = |field: &str, given: Option<i64>, known: i64| {
            given.map_or(Ok(known), |given| number(field, given, &(0..=MAX_BYTES)))
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
                number("labelLimit", limit, &(0..=MAX_LABELS_OF_A_FAVORITE))
            })?,
            administrators: match self.administrators {
                None => known.administrators.clone(),
                Some(ids) => check_administrators(ids)?,
            },
            search_insights: self.search_insights.unwrap_or(known.search_insights),
            ..known.clone()
        })
    }
}

fn check_administrators(ids: BoundedList<String, { MAX_ADMINISTRATORS }>) -> Result<Vec<String>> {
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

fn changed(before: &TenantSettings, after: &TenantSettings) -> Vec<&'static str> {
    let changes = [
        ("loginSuffix", before.login_suffix != after.login_suffix),
        ("allowOuterMembers", before.allow_outer_members != after.allow_outer_members),
        ("quotaBytes", before.quota_bytes != after.quota_bytes),
        ("subjectQuotaBytes", before.subject_quota_bytes != after.subject_quota_bytes),
        ("labelLimit", before.label_limit != after.label_limit),
        ("administrators", before.administrators != after.administrators),
        ("searchInsights", before.search_insights != after.search_insights),
    ];
    changes.into_iter().filter(|(_, changed)| *changed).map(|(field, _)| field).collect()
}

/// Listed tenant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, FromRow, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListedTenant {
    /// Id, the sort key.
    #[serde(skip)]
    pub id: i64,
    /// Tenant code.
    #[sqlx(rename = "code")]
    pub e_code: String,
    /// Enterprise name.
    pub name: String,
    /// Whether all its calls are refused.
    #[sqlx(rename = "is_frozen")]
    pub frozen: bool,
    /// Epoch milliseconds.
    pub created_at: i64,
}

/// Up to `limit` tenants after this id.
pub async fn list(state: &TenantsState, after: i64, limit: u64) -> Result<Vec<ListedTenant>> {
    let statement = sql(
        "SELECT id, code, name, is_frozen, created_at FROM tenants \
         WHERE id > ? AND removed_at IS NULL ORDER BY id LIMIT ?",
        [after.into(), limit.into()],
    );
    Ok(statement.fetch_all::<ListedTenant>(state.store.reader()).await?)
}

/// Settings by tenant code.
pub async fn find(state: &TenantsState, code: &str) -> Result<TenantSettings> {
    read(state.store.reader(), code).await
}

/// Changes settings and returns all; 412 if `if_match` does not hold.
pub async fn change(
    state: &TenantsState,
    caller: Arc<Caller>,
    code: String,
    form: SettingsForm,
    if_match: IfMatch,
) -> Result<TenantSettings> {
    let job = state.store.write(move |transaction| {
        Box::pin(async move {
            let before = read(transaction, &code).await?;
            if_match.check(&before)?;
            let after = form.over(&before)?;
            let fields = changed(&before, &after);
            if fields.is_empty() {
                return Ok(after);
            }
            let statement = sql(
                "UPDATE tenants SET login_suffix = ?, allow_outer_members = ?, quota_bytes = ?, \
                   subject_quota_bytes = ?, label_limit = ?, administrators = ?, search_insights = ? WHERE code = ?",
                [
                    after.login_suffix.as_deref().into(),
                    after.allow_outer_members.into(),
                    after.quota_bytes.into(),
                    after.subject_quota_bytes.into(),
                    after.label_limit.into(),
                    serde_json::to_string(&after.administrators).map_err(Error::internal)?.into(),
                    after.search_insights.into(),
                    code.as_str().into(),
                ],
            );
            statement.execute(transaction).await?;
            let tenant = tenants::find_by_code(transaction, &code).await?.ok_or_else(unknown)?;
            let event = AuditEvent::new("change", "tenant", code).with("fields", fields);
            audit::record(transaction, &Actor::caller(&caller), &tenant, vec![event]).await?;
            if before.search_insights && !after.search_insights {
                insights::service::remove_all(transaction, tenant.id).await?;
            }
            if before.administrators != after.administrators || before.search_insights != after.search_insights {
                // Folder ownership and the tenant of callers change at once.
                transaction.invalidate(Cached::Identities(tenant.id));
            }
            Ok(after)
        })
    });
    job.await
}

#[expect(clippy::struct_excessive_bools, reason = "columns of a table")]
#[derive(FromRow)]
struct SettingsRow {
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
    search_insights: bool,
}

async fn read(connection: &Connection, code: &str) -> Result<TenantSettings> {
    let statement = sql(
        "SELECT code, name, is_frozen, created_at, allow_manage, profile, login_suffix, allow_outer_members, quota_bytes, \
           subject_quota_bytes, label_limit, administrators, search_insights FROM tenants WHERE code = ? AND removed_at IS NULL",
        [code.into()],
    );
    let row: store::Result<Option<SettingsRow>> = statement.fetch_optional::<SettingsRow>(connection).await;
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
        search_insights: row.search_insights,
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
