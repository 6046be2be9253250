//! Enterprises, managed with scope `tenants`.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{field_rules::text, removal};
use crate::{
    audit::{self, Actor, AuditEvent},
    auth::{
        applications::{self, Kind},
        caller::Caller,
        tenants::{self, NewTenant, Tenant},
    },
    error::{Error, Result},
    identity::tenant::check_code,
    json,
    platform::{groups, tenants::TenantsState},
    registry,
    store::{Cached, Transaction},
};

const TEXT_BYTES: usize = 512;
const INTRODUCTION_BYTES: usize = 16 << 10;

const CODE_ALPHABET: &[u8] = b"abcdefghjkmnpqrstuvwxyz23456789";
const CODE_LENGTH: usize = 8;

/// Enterprise to register.
#[derive(Clone, Debug, Default, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EnterpriseForm {
    /// Required.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enterprise_name: Option<String>,
    /// Short name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub short_name: Option<String>,
    /// Enterprise edition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enterprise_version: Option<String>,
    /// Several lines are allowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enterprise_introduction: Option<String>,
    /// Several lines are allowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enterprise_address: Option<String>,
    /// E-mail.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enterprise_mail: Option<String>,
    /// Contact person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contact_name: Option<String>,
    /// Contact telephone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contact_phone: Option<String>,
    /// Whether other domain applications may manage it; default true.
    #[serde(skip_serializing_if = "json::is_in_a_column")]
    pub is_allow_manage: Option<bool>,
    /// The operator's choice of the code; generated if absent.
    ///
    /// 1 to 64 letters, digits, `-`, `_` or `.`.
    #[serde(skip_serializing_if = "json::is_in_a_column")]
    pub e_code: Option<String>,
}

impl EnterpriseForm {
    fn checked(self) -> Result<Self> {
        let line = |field: &str, value| text(field, value, TEXT_BYTES, false);
        Ok(Self {
            enterprise_name: line("enterpriseName", self.enterprise_name)?,
            short_name: line("shortName", self.short_name)?,
            enterprise_version: line("enterpriseVersion", self.enterprise_version)?,
            enterprise_introduction: text(
                "enterpriseIntroduction",
                self.enterprise_introduction,
                INTRODUCTION_BYTES,
                true,
            )?,
            enterprise_address: text("enterpriseAddress", self.enterprise_address, TEXT_BYTES, true)?,
            enterprise_mail: line("enterpriseMail", self.enterprise_mail)?,
            contact_name: line("contactName", self.contact_name)?,
            contact_phone: line("contactPhone", self.contact_phone)?,
            is_allow_manage: self.is_allow_manage,
            e_code: self.e_code.filter(|code| !code.is_empty()),
        })
    }
}

/// Returns the eCode. The domain application may act on it at once.
///
/// 403 for a code chosen by another than an operator, 409 if it is taken.
pub async fn register(state: &TenantsState, caller: Arc<Caller>, form: EnterpriseForm) -> Result<String> {
    let form = form.checked()?;
    let name = form.enterprise_name.clone().ok_or_else(|| {
        Error::bad_request(format!("enterpriseName: is required, at most {TEXT_BYTES} bytes of UTF-8"))
    })?;
    if let Some(code) = &form.e_code {
        check_code(code).map_err(|reason| Error::bad_request(format!("eCode: {reason}")))?;
        // Else domain applications would learn which codes other tenants have.
        if caller.kind != Kind::Admin {
            return Err(Error::forbidden("eCode: only an admin application may choose it; omit it"));
        }
    }
    let profile = serde_json::to_string(&form).map_err(Error::internal)?;
    let allow_manage = form.is_allow_manage.unwrap_or(true);
    let job = state.store.write(move |transaction| {
        Box::pin(async move {
            if let Some(code) = &form.e_code
                && tenants::find_by_code(transaction, code).await?.is_some()
            {
                return Err(Error::conflict("eCode: is taken by another tenant; choose another"));
            }
            let code = match form.e_code {
                Some(code) => code,
                None => free_code(transaction).await?,
            };
            let registered_by = Some(caller.client_id.to_string());
            let new = NewTenant { code, name, profile, allow_manage, registered_by };
            let tenant = tenants::insert(transaction, new).await?;
            registry::create_default_modules(transaction, tenant.id).await?;
            let actor = Actor::caller(&caller);
            let event = AuditEvent::new("register", "tenant", tenant.code.as_str());
            audit::record(transaction, &actor, &tenant, vec![event]).await?;
            if caller.kind == Kind::Domain {
                join(transaction, &actor, &caller, &tenant).await?;
                let home = caller.home.id;
                transaction.invalidate(Cached::Identities(home));
            }
            Ok(tenant.code)
        })
    });
    job.await
}

async fn join(transaction: &Transaction, actor: &Actor, caller: &Caller, tenant: &Tenant) -> Result<()> {
    if !applications::bind(transaction, &caller.client_id, &tenant.code).await? {
        return Err(Error::unauthorized("the application no longer exists"));
    }
    let event = AuditEvent::new("bind", "application", caller.client_id.as_ref())
        .with("tenant", tenant.code.as_str());
    audit::record(transaction, actor, &caller.home, vec![event]).await?;
    Ok(())
}

async fn free_code(transaction: &Transaction) -> Result<String> {
    loop {
        let code: String = std::iter::repeat_with(|| fastrand::choice(CODE_ALPHABET).map(|c| char::from(*c)))
            .flatten()
            .take(CODE_LENGTH)
            .collect();
        if tenants::find_by_code(transaction, &code).await?.is_none() {
            return Ok(code);
        }
    }
}

/// State change of an enterprise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EnterpriseAction {
    /// Refuse its calls and calls on it.
    Freeze,
    /// End a freeze.
    Unfreeze,
    /// Delete with all data.
    Delete,
}

/// Freezes, unfreezes or deletes an enterprise; idempotent.
///
/// Returns the code.
///
/// 403 if not manageable, 404 if unknown, 409 if the caller is signed in to it.
pub async fn decide(
    state: &TenantsState,
    caller: Arc<Caller>,
    code: String,
    fate: EnterpriseAction,
) -> Result<String> {
    let job = state.store.write(move |transaction| {
        Box::pin(async move {
            let tenant = managed(transaction, &caller, &code).await?;
            if fate != EnterpriseAction::Unfreeze && caller.is_signed_in_to(&tenant) {
                return Err(Error::conflict(
                    "eCode: you are signed in to this tenant and would lock yourself out; use an application",
                ));
            }
            let actor = Actor::caller(&caller);
            let tenant_id = tenant.id;
            // Its groups have become invisible.
            let guests = groups::service::tenants_in_groups_of(transaction, tenant_id).await?;
            match fate {
                EnterpriseAction::Delete => {
                    let event = AuditEvent::new("delete", "tenant", tenant.code.as_str());
                    audit::record(transaction, &actor, &tenant, vec![event]).await?;
                    let mut changed = removal::unbind(transaction, &actor, &tenant).await?;
                    changed.push(tenant_id);
                    changed.extend(guests);
                    removal::remove(transaction, tenant_id).await?;
                    for id in changed {
                        transaction.invalidate(Cached::Identities(id));
                    }
                    transaction.invalidate(Cached::Modules(tenant_id));
                    transaction.request_maintenance();
                }
                EnterpriseAction::Freeze | EnterpriseAction::Unfreeze
                    if tenant.is_frozen == (fate == EnterpriseAction::Freeze) => {}
                EnterpriseAction::Freeze | EnterpriseAction::Unfreeze => {
                    let is_frozen = fate == EnterpriseAction::Freeze;
                    tenants::set_frozen(transaction, tenant_id, is_frozen).await?;
                    let action = if is_frozen { "freeze" } else { "unfreeze" };
                    let event = AuditEvent::new(action, "tenant", tenant.code.as_str());
                    audit::record(transaction, &actor, &tenant, vec![event]).await?;
                    for id in guests.into_iter().chain([tenant_id]) {
                        transaction.invalidate(Cached::Identities(id));
                    }
                }
            }
            Ok(tenant)
        })
    });
    let tenant = job.await?;
    if fate == EnterpriseAction::Delete {
        state.registry.forget_tenant(tenant.id);
    }
    Ok(tenant.code)
}

async fn managed(transaction: &Transaction, caller: &Caller, code: &str) -> Result<Tenant> {
    if !caller.knows(code) {
        return Err(Error::forbidden("eCode: this application may not act on that tenant"));
    }
    let tenant = tenants::find_by_code(transaction, code).await?;
    let tenant = tenant.ok_or_else(|| Error::not_found("eCode: there is no such tenant"))?;
    if !caller.may_manage(&tenant) {
        return Err(Error::forbidden(
            "eCode: only the application that registered that tenant may manage it",
        ));
    }
    Ok(tenant)
}
