//! Applications (book: explanation/security.md).

mod forms;
mod repo;

use std::{collections::HashSet, sync::Arc};

use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;

use self::{forms::ValidatedApplication, repo::ApplicationRow};
use crate::{
    audit::{self, Actor, AuditEvent},
    auth::{
        applications::{self, ApplicationCredentials, Kind, NewApplication},
        caller::Caller,
        tenants,
    },
    error::{Error, Result},
    http::precondition::{EntityTag, IfMatch, Tagged},
    identity::scopes::TokenScope,
    platform::tenants::TenantsState,
    store::{Cached, Transaction, now_millis},
};

pub use self::forms::{ApplicationForm, RotationForm};

const MAX_APPLICATIONS: i64 = 1_000;

/// Application without its secrets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RegisteredApplication {
    /// Client id.
    pub client_id: String,
    /// Owning tenant's code.
    pub tenant: String,
    /// Application kind.
    pub kind: Kind,
    /// Display name.
    pub name: String,
    /// Further tenants of a domain application.
    pub bound: Vec<String>,
    /// Granted scopes.
    pub scopes: Vec<String>,
    /// Whether tokens are refused.
    pub disabled: bool,
    /// Redirect URIs for logins.
    pub redirect_uris: Vec<String>,
    /// Whether it has no secret.
    pub public: bool,
    /// Epoch milliseconds.
    pub created_at: i64,
    /// Last call or token request, epoch milliseconds, or null.
    pub last_used_at: Option<i64>,
    /// Previous secret's end, epoch milliseconds, or null.
    pub previous_secret_until: Option<i64>,
}

/// New application with its secrets, shown once.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreatedApplication {
    /// The application.
    #[serde(flatten)]
    pub application: RegisteredApplication,
    /// Client secret; null if public.
    pub client_secret: Option<String>,
    /// Callback signing key.
    pub callback_key: String,
}

/// New secret, shown once.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RotatedSecret {
    /// Client id.
    pub client_id: String,
    /// New secret.
    pub client_secret: String,
    /// Previous secret's end, epoch milliseconds, or null.
    pub previous_secret_until: Option<i64>,
}

/// The tenant's applications, oldest first.
pub async fn list(state: &TenantsState, caller: &Caller) -> Result<Vec<RegisteredApplication>> {
    let rows = repo::list(state.store.reader(), caller.tenant.id).await?;
    rows.into_iter().map(|row| shown(state, caller, row)).collect()
}

/// One application.
pub async fn find(
    state: &TenantsState,
    caller: &Caller,
    client_id: &str,
) -> Result<Tagged<RegisteredApplication>> {
    let row = repo::find(state.store.reader(), caller.tenant.id, client_id).await?;
    tagged(state, caller, row.ok_or_else(unknown)?)
}

/// Registers an application; 409 at the limit.
pub async fn create(
    state: &TenantsState,
    caller: &Arc<Caller>,
    form: ApplicationForm,
) -> Result<CreatedApplication> {
    let ValidatedApplication { kind, name, bound, scopes, login, is_disabled } = form.for_new()?;
    let tenant = caller.tenant.code.clone();
    let new = NewApplication { tenant, kind, bound, scopes: Some(scopes), name, login };
    let credentials = ApplicationCredentials::generate(&state.store, &state.keys, &new).await?;
    let is_public = new.login.is_public;
    let (calling, stored) = (Arc::clone(caller), credentials.clone());
    let job = state.store.write(move |transaction| {
        Box::pin(async move {
            let tenant = &calling.tenant;
            if repo::count(transaction, tenant.id).await? >= MAX_APPLICATIONS {
                let full = format!("the tenant already has {MAX_APPLICATIONS} applications, the maximum");
                return Err(Error::conflict(full));
            }
            check_tenants_exist(transaction, &new.bound, &[]).await?;
            applications::insert(transaction, tenant.id, &new, &stored).await?;
            let id = stored.client_id.as_str();
            if is_disabled {
                repo::disable(transaction, id).await?;
            }
            let event = AuditEvent::new("create", "application", id)
                .with("kind", new.kind.as_str())
                .with("scopes", stored.scopes.to_string());
            audit::record(transaction, &Actor::caller(&calling), tenant, vec![event]).await?;
            let row = repo::find(transaction, tenant.id, id).await?;
            row.ok_or_else(|| Error::internal("a just-stored application is missing"))
        })
    });
    let row = job.await?;
    Ok(CreatedApplication {
        application: shown(state, caller, row)?,
        client_secret: (!is_public).then(|| text(&credentials.client_secret)),
        callback_key: text(&credentials.callback_key),
    })
}

/// Changes an application; applies to issued tokens, too.
///
/// 409 for locking out the caller, 412 if `if_match` does not hold.
pub async fn change(
    state: &TenantsState,
    caller: &Arc<Caller>,
    client_id: String,
    form: ApplicationForm,
    if_match: IfMatch,
) -> Result<Tagged<RegisteredApplication>> {
    let calling = Arc::clone(caller);
    let job = state.store.write(move |transaction| {
        Box::pin(async move {
            let tenant = &calling.tenant;
            let known = repo::find(transaction, tenant.id, &client_id).await?.ok_or_else(unknown)?;
            if_match.check(&known.settings())?;
            let before = ValidatedApplication::try_from(&known)?;
            let after = form.over(&before)?;
            if *calling.client_id == *client_id
                && (after.is_disabled || !after.scopes.allow(TokenScope::Admin))
            {
                return Err(Error::conflict(
                    "an application cannot disable itself or give up its scope admin",
                ));
            }
            if calling.is_by(&client_id) && after.is_disabled {
                return Err(signed_in("disable"));
            }
            check_tenants_exist(transaction, &after.bound, &before.bound).await?;
            let events = events(&client_id, &before, &after);
            if !events.is_empty() {
                repo::update(transaction, &client_id, &after).await?;
                // User tokens end with the right to act as users.
                let had_people =
                    before.scopes.allow(TokenScope::ActAsUser) && !after.scopes.allow(TokenScope::ActAsUser);
                if had_people || (after.is_disabled && !before.is_disabled) {
                    repo::end_tokens(transaction, &client_id).await?;
                }
                audit::record(transaction, &Actor::caller(&calling), tenant, events).await?;
                let tenant_id = tenant.id;
                transaction.invalidate(Cached::Identities(tenant_id));
            }
            repo::find(transaction, tenant.id, &client_id).await?.ok_or_else(unknown)
        })
    });
    let row = job.await?;
    tagged(state, caller, row)
}

/// Removes an application and its tokens.
///
/// 409 for the caller's own, 412 if `if_match` does not hold.
pub async fn remove(
    state: &TenantsState,
    caller: &Arc<Caller>,
    client_id: String,
    if_match: IfMatch,
) -> Result<()> {
    if *caller.client_id == *client_id {
        return Err(Error::conflict("an application cannot remove itself"));
    }
    if caller.is_by(&client_id) {
        return Err(signed_in("remove"));
    }
    let calling = Arc::clone(caller);
    let job = state.store.write(move |transaction| {
        Box::pin(async move {
            let tenant = &calling.tenant;
            let known = repo::find(transaction, tenant.id, &client_id).await?.ok_or_else(unknown)?;
            if_match.check(&known.settings())?;
            repo::remove(transaction, tenant.id, &client_id).await?;
            let event = AuditEvent::new("delete", "application", client_id);
            audit::record(transaction, &Actor::caller(&calling), tenant, vec![event]).await?;
            let tenant_id = tenant.id;
            transaction.invalidate(Cached::Identities(tenant_id));
            Ok(())
        })
    });
    job.await
}

/// The old secret stays valid for the overlap; tokens stay valid.
///
/// 409 if public or during an overlap.
pub async fn rotate(
    state: &TenantsState,
    caller: &Arc<Caller>,
    client_id: String,
    form: &RotationForm,
) -> Result<RotatedSecret> {
    let overlap_seconds = form.checked()?;
    let (secret, hash) = applications::new_secret(&state.store, &state.keys).await?;
    let (calling, rotated) = (Arc::clone(caller), client_id.clone());
    let job = state.store.write(move |transaction| {
        Box::pin(async move {
            let tenant = &calling.tenant;
            let known = repo::find(transaction, tenant.id, &rotated).await?.ok_or_else(unknown)?;
            if known.is_public {
                return Err(Error::conflict("a public application has no secret"));
            }
            // A retry must not end the promised overlap.
            if overlap_seconds > 0 && known.previous_secret_until.is_some_and(|until| until > now_millis()) {
                return Err(Error::conflict(
                    "the previous secret is still valid; overlapSeconds 0 ends both older secrets",
                ));
            }
            let until = (overlap_seconds > 0).then(|| now_millis() + overlap_seconds * 1_000);
            repo::rotate(transaction, &rotated, &hash, until).await?;
            let event =
                AuditEvent::new("rotate", "secret", rotated.as_str()).with("overlapSeconds", overlap_seconds);
            audit::record(transaction, &Actor::caller(&calling), tenant, vec![event]).await?;
            Ok(until)
        })
    });
    let previous_secret_until = job.await?;
    Ok(RotatedSecret { client_id, client_secret: text(&secret), previous_secret_until })
}

fn tagged(
    state: &TenantsState,
    caller: &Caller,
    row: ApplicationRow,
) -> Result<Tagged<RegisteredApplication>> {
    let tag = EntityTag::of(&row.settings())?;
    Ok(Tagged { tag, object: shown(state, caller, row)? })
}

fn shown(state: &TenantsState, caller: &Caller, row: ApplicationRow) -> Result<RegisteredApplication> {
    let ValidatedApplication { kind, name, bound, scopes, login, is_disabled } =
        ValidatedApplication::try_from(&row)?;
    // Memory is newer than the row.
    let last_used_at = state.authenticator.usage().noted(&row.client_id).max(row.last_used_at);
    Ok(RegisteredApplication {
        client_id: row.client_id,
        tenant: caller.tenant.code.clone(),
        kind,
        name,
        bound,
        scopes: scopes.names(),
        disabled: is_disabled,
        redirect_uris: login.redirect_uris,
        public: login.is_public,
        created_at: row.created_at,
        last_used_at,
        previous_secret_until: row.previous_secret_until.filter(|until| *until > now_millis()),
    })
}

fn events(client_id: &str, before: &ValidatedApplication, after: &ValidatedApplication) -> Vec<AuditEvent> {
    let changes = [
        ("name", before.name != after.name),
        ("bound", before.bound != after.bound),
        ("scopes", before.scopes != after.scopes),
        ("redirectUris", before.login.redirect_uris != after.login.redirect_uris),
    ];
    let fields: Vec<&str> = changes.iter().filter(|(_, changed)| *changed).map(|(field, _)| *field).collect();
    let mut events = Vec::new();
    if !fields.is_empty() {
        events.push(AuditEvent::new("change", "application", client_id).with("fields", fields));
    }
    if before.is_disabled != after.is_disabled {
        let action = if after.is_disabled { "disable" } else { "enable" };
        events.push(AuditEvent::new(action, "application", client_id));
    }
    events
}

/// New codes must exist; 400 names the position.
async fn check_tenants_exist(transaction: &Transaction, bound: &[String], before: &[String]) -> Result<()> {
    let before: HashSet<&String> = before.iter().collect();
    for (place, code) in bound.iter().enumerate().filter(|(_, code)| !before.contains(code)) {
        if tenants::find_by_code(transaction, code).await?.is_none() {
            return Err(Error::bad_request(format!("bound[{place}]: there is no tenant with this code")));
        }
    }
    Ok(())
}

fn text(secret: &SecretString) -> String {
    secret.expose_secret().to_owned()
}

fn signed_in(event: &str) -> Error {
    Error::conflict(format!("you are signed in by this application; only an application may {event} it"))
}

fn unknown() -> Error {
    Error::not_found("there is no application with this clientId in the tenant")
}
