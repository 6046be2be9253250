//! Operators' changes of subscriptions, each with its entry in the audit log.

use super::{
    SubscriptionsState,
    forms::{Subscription, SubscriptionForm},
    repo::{self, SubscriptionRow, SubscriptionSettings},
};
use crate::{
    audit::{self, Actor, AuditEvent},
    auth::caller::Caller,
    error::{Error, Result},
    http::precondition::{EntityTag, IfMatch, Tagged},
    platform::contents::service as contents,
    registry::forms::{check_same_id, new_id},
    store::{Transaction, WriteFuture},
};

/// The kind of object in the audit log.
const SUBSCRIPTION: &str = "subscription";
const MAX_SUBSCRIPTIONS: usize = 2_000;
/// The position of a source that is read from its beginning.
const BEGINNING: &str = "{}";

/// The subscriptions by name.
pub async fn list(state: &SubscriptionsState, tenant_id: i64) -> Result<Vec<Subscription>> {
    let rows = repo::list(state.contents.store.reader(), tenant_id).await?;
    Ok(rows.into_iter().map(Subscription::of).collect())
}

/// The subscription with this id.
///
/// # Errors
/// 404.
pub async fn find(state: &SubscriptionsState, tenant_id: i64, id: &str) -> Result<Tagged<Subscription>> {
    let row = repo::find(state.contents.store.reader(), tenant_id, id).await?;
    tagged(row.ok_or_else(no_subscription)?)
}

/// Checks a form as [`create`] does, and writes nothing.
///
/// # Errors
/// Those of `create`.
pub async fn check(state: &SubscriptionsState, tenant_id: i64, form: SubscriptionForm) -> Result<()> {
    let settings = check_new(state, tenant_id, form).await?;
    check_beside(&settings, &repo::ids(state.contents.store.reader(), tenant_id).await?)
}

/// Adds a subscription, which runs at once if it is enabled.
///
/// # Errors
/// 400; 404 for the module; 409 for a taken id, or too many subscriptions.
pub async fn create(
    state: &SubscriptionsState,
    caller: &Caller,
    form: SubscriptionForm,
) -> Result<Tagged<Subscription>> {
    let tenant_id = caller.tenant.id;
    let settings = check_new(state, tenant_id, form).await?;
    let next_run_at = settings.enabled.then(|| state.clock.now());
    let job = change(state, caller, move |transaction| {
        Box::pin(async move {
            check_beside(&settings, &repo::ids(transaction, tenant_id).await?)?;
            repo::insert(transaction, tenant_id, &settings, next_run_at).await?;
            let event = AuditEvent::new("create", SUBSCRIPTION, settings.id.as_str());
            let row = repo::find(transaction, tenant_id, &settings.id).await?;
            Ok((row.ok_or_else(no_subscription)?, Some(event)))
        })
    });
    tagged(job.await?)
}

/// Replaces the settings.
///
/// Another source is read from its beginning, at once. A new password is tried at once, from the last position.
///
/// # Errors
/// 400, 404, 412.
pub async fn replace(
    state: &SubscriptionsState,
    caller: &Caller,
    id: String,
    form: SubscriptionForm,
    if_match: IfMatch,
) -> Result<Tagged<Subscription>> {
    check_same_id(&id, form.id.as_deref())?;
    let (tenant_id, keeps_password) = (caller.tenant.id, form.keeps_password());
    let mut settings = form.into_settings(tenant_id, id, state)?;
    let now = state.clock.now();
    let job = change(state, caller, move |transaction| {
        Box::pin(async move {
            let stored = repo::find(transaction, tenant_id, &settings.id).await?;
            let stored = stored.ok_or_else(no_subscription)?;
            if_match.check(&stored.settings)?;
            check_same(&stored.settings, &settings)?;
            if keeps_password {
                keep_password(&stored.settings, &mut settings)?;
            }
            let event = AuditEvent::change(SUBSCRIPTION, settings.id.as_str(), &stored.settings, &settings)?;
            let row = replaced(stored, settings, now);
            repo::update(transaction, &row).await?;
            if row.audience_is_new {
                transaction.request_maintenance();
            }
            Ok((row, event))
        })
    });
    tagged(job.await?)
}

/// Removes a subscription; its items follow in the background.
///
/// # Errors
/// 404, 412.
pub async fn remove(
    state: &SubscriptionsState,
    caller: &Caller,
    id: String,
    if_match: IfMatch,
) -> Result<()> {
    let (tenant_id, now) = (caller.tenant.id, state.clock.now());
    let job = change(state, caller, move |transaction| {
        Box::pin(async move {
            let stored = repo::find(transaction, tenant_id, &id).await?.ok_or_else(no_subscription)?;
            if_match.check(&stored.settings)?;
            repo::set_aside(transaction, tenant_id, &id, now).await?;
            transaction.request_maintenance();
            Ok(((), Some(AuditEvent::new("delete", SUBSCRIPTION, id))))
        })
    });
    job.await
}

/// Makes a run due at once, also of a subscription that is not enabled.
///
/// A host that asked for a pause gets it nevertheless.
///
/// # Errors
/// 404.
pub async fn request_run(
    state: &SubscriptionsState,
    caller: &Caller,
    id: String,
) -> Result<Tagged<Subscription>> {
    let (tenant_id, now) = (caller.tenant.id, state.clock.now());
    let job = change(state, caller, move |transaction| {
        Box::pin(async move {
            if !repo::request_run(transaction, tenant_id, &id, now).await? {
                return Err(no_subscription());
            }
            let row = repo::find(transaction, tenant_id, &id).await?.ok_or_else(no_subscription)?;
            Ok((row, Some(AuditEvent::new("run", SUBSCRIPTION, id))))
        })
    });
    tagged(job.await?)
}

/// Writes, records the event, and wakes the scheduler.
async fn change<T, J>(state: &SubscriptionsState, caller: &Caller, job: J) -> Result<T>
where
    T: Send + 'static,
    J: for<'a> FnOnce(&'a Transaction) -> WriteFuture<'a, (T, Option<AuditEvent>)> + Send + 'static,
{
    let (actor, tenant) = (Actor::caller(caller), caller.tenant.clone());
    let written = state.contents.store.write_for(tenant.id, move |transaction| {
        Box::pin(async move {
            let (written, event) = job(transaction).await?;
            audit::record(transaction, &actor, &tenant, event.into_iter().collect()).await?;
            Ok(written)
        })
    });
    let written = written.await;
    state.wake.notify_one();
    written
}

async fn check_new(
    state: &SubscriptionsState,
    tenant_id: i64,
    form: SubscriptionForm,
) -> Result<SubscriptionSettings> {
    let id = new_id(form.id.as_deref())?;
    let settings = form.into_settings(tenant_id, id, state)?;
    check_module(state, tenant_id, &settings.module).await?;
    Ok(settings)
}

/// Refuses modules to which no items can go, by the field's name here.
pub(super) async fn check_module(state: &SubscriptionsState, tenant_id: i64, module: &str) -> Result<()> {
    let checked = contents::check_module(&state.contents, tenant_id, module).await;
    checked.map_err(|error| match error.message.strip_prefix("moduleCode: ") {
        Some(reason) => Error::bad_request(format!("module: {reason}")),
        None => error,
    })
}

fn check_beside(settings: &SubscriptionSettings, others: &[String]) -> Result<()> {
    if others.contains(&settings.id) {
        return Err(Error::conflict(
            "id: is taken by another subscription, or by one whose items are being removed",
        ));
    }
    if others.len() >= MAX_SUBSCRIPTIONS {
        let reason = format!("the tenant already has {MAX_SUBSCRIPTIONS} subscriptions, the maximum");
        return Err(Error::conflict(reason));
    }
    Ok(())
}

fn check_same(stored: &SubscriptionSettings, settings: &SubscriptionSettings) -> Result<()> {
    if stored.module != settings.module {
        return Err(Error::bad_request(format!("module: must be {}, as it cannot change", stored.module)));
    }
    if stored.origin.kind() != settings.origin.kind() {
        let kind = stored.origin.kind();
        return Err(Error::bad_request(format!("{kind}: is required, as the kind cannot change")));
    }
    Ok(())
}

/// A stored password is sent only where the operator sent it.
fn keep_password(stored: &SubscriptionSettings, settings: &mut SubscriptionSettings) -> Result<()> {
    if stored.secret_sealed.is_none() {
        return Ok(());
    }
    if !settings.origin.keeps_password_of(&stored.origin) {
        return Err(Error::bad_request("sql.password: must be given again, as sql.address moves"));
    }
    settings.secret_sealed.clone_from(&stored.secret_sealed);
    Ok(())
}

/// The row with other settings.
fn replaced(stored: SubscriptionRow, settings: SubscriptionSettings, now: i64) -> SubscriptionRow {
    let before = &stored.settings;
    let is_moved = before.origin != settings.origin;
    let is_corrected = is_moved || before.secret_sealed != settings.secret_sealed;
    // Entries that were too old are read again.
    let keeps_more = before.keep_days.is_some_and(|days| settings.keep_days.is_none_or(|more| more > days));
    let has_new_audience = before.visibility != settings.visibility;
    let soonest = super::schedule::after_success(now, settings.interval_minutes);
    let next_run_at = match stored.next_run_at {
        _ if !settings.enabled => None,
        _ if is_corrected || !before.enabled => Some(now),
        next => next.map(|next| next.min(soonest)),
    };
    SubscriptionRow {
        revision: stored.revision + 1,
        audience: stored.audience + i64::from(has_new_audience),
        audience_is_new: stored.audience_is_new || has_new_audience,
        position: if is_moved || keeps_more { BEGINNING.to_owned() } else { stored.position },
        failures: if is_corrected { 0 } else { stored.failures },
        next_run_at,
        settings,
        ..stored
    }
}

fn tagged(row: SubscriptionRow) -> Result<Tagged<Subscription>> {
    Ok(Tagged { tag: EntityTag::of(&row.settings)?, object: Subscription::of(row) })
}

fn no_subscription() -> Error {
    Error::not_found("id: the tenant has no such subscription")
}
