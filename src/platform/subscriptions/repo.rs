//! Rows of subscriptions, and of the hosts that they call.

use serde::Serialize;

use super::{origins::Origin, report::LastRun};
use crate::{
    platform::contents::forms::Visibility,
    store::{Connection, FromRow, Json, Result, Transaction, Value, execute_in, sql},
};

/// The settings of a subscription.
///
/// Serialised for its entity tag, and for the names of changed fields in the audit log.
#[derive(Clone, Debug, PartialEq, FromRow, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SubscriptionSettings {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) module: String,
    pub(super) origin: Json<Origin>,
    pub(super) secret_sealed: Option<Vec<u8>>,
    pub(super) interval_minutes: i64,
    pub(super) keep_days: Option<i64>,
    pub(super) enabled: bool,
    pub(super) visibility: Option<Json<Visibility>>,
}

/// The row of a subscription.
#[derive(Clone, Debug, FromRow)]
pub(super) struct SubscriptionRow {
    pub(super) tenant_id: i64,
    #[sqlx(flatten)]
    pub(super) settings: SubscriptionSettings,
    pub(super) revision: i64,
    pub(super) audience: i64,
    pub(super) audience_is_new: bool,
    pub(super) host: String,
    /// JSON of the kind of source.
    pub(super) position: String,
    pub(super) items: i64,
    pub(super) runs: i64,
    pub(super) failures: i64,
    pub(super) last_run: Option<Json<LastRun>>,
    pub(super) next_run_at: Option<i64>,
    pub(super) run_requests: i64,
}

const SELECT: &str = "SELECT tenant_id, id, name, module, origin, secret_sealed, interval_minutes, keep_days, \
    enabled, visibility, revision, audience, audience_is_new, host, position, items, runs, failures, last_run, next_run_at, \
    run_requests FROM subscriptions";

/// The end of a run, for its row.
#[derive(Clone, Debug)]
pub(super) struct RunEnd {
    pub(super) last_run: LastRun,
    pub(super) failures: i64,
    /// Unless a run was asked for meanwhile.
    pub(super) next_run_at: Option<i64>,
    /// Absent keeps the row's.
    pub(super) position: Option<String>,
    /// A host that asked for a pause, and the pause's end.
    pub(super) rest: Option<(String, i64)>,
    /// Entries that are too old and still in a wholly read source.
    ///
    /// Other entries of removed items are forgotten. `Run::write` fills it.
    pub(super) aged: Option<Vec<String>>,
}

/// Lists subscriptions by name.
pub(super) async fn list(connection: &Connection, tenant_id: i64) -> Result<Vec<SubscriptionRow>> {
    let text = format!("{SELECT} WHERE tenant_id = ? AND removed_at IS NULL ORDER BY name, id");
    sql(text, [tenant_id.into()]).fetch_all(connection).await
}

/// The row with this id, unless removed.
pub(super) async fn find(
    connection: &Connection,
    tenant_id: i64,
    id: &str,
) -> Result<Option<SubscriptionRow>> {
    let text = format!("{SELECT} WHERE tenant_id = ? AND id = ? AND removed_at IS NULL");
    sql(text, [tenant_id.into(), id.into()]).fetch_optional(connection).await
}

/// Ids, also of removed ones whose items are still there.
pub(super) async fn ids(connection: &Connection, tenant_id: i64) -> Result<Vec<String>> {
    sql("SELECT id FROM subscriptions WHERE tenant_id = ?", [tenant_id.into()]).fetch_values(connection).await
}

pub(super) async fn insert(
    transaction: &Transaction,
    tenant_id: i64,
    settings: &SubscriptionSettings,
    next_run_at: Option<i64>,
) -> Result<()> {
    let text = "INSERT INTO subscriptions (tenant_id, id, name, module, origin, secret_sealed, interval_minutes, \
                keep_days, enabled, visibility, host, next_run_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
    let values = [
        tenant_id.into(),
        settings.id.as_str().into(),
        settings.name.as_str().into(),
        settings.module.as_str().into(),
        Value::json(&settings.origin)?,
        settings.secret_sealed.clone().into(),
        settings.interval_minutes.into(),
        settings.keep_days.into(),
        settings.enabled.into(),
        settings.visibility.as_ref().map(Value::json).transpose()?.unwrap_or(Value::Null),
        settings.origin.host().into(),
        next_run_at.into(),
    ];
    sql(text, values).execute(transaction).await.map(drop)
}

/// Writes settings, and where and when the next run begins.
pub(super) async fn update(transaction: &Transaction, row: &SubscriptionRow) -> Result<()> {
    let text = "UPDATE subscriptions SET name = ?, origin = ?, secret_sealed = ?, interval_minutes = ?, keep_days = ?, \
                enabled = ?, visibility = ?, host = ?, revision = ?, audience = ?, audience_is_new = ?, position = ?, \
                failures = ?, next_run_at = ? WHERE tenant_id = ? AND id = ?";
    let settings = &row.settings;
    let values = [
        settings.name.as_str().into(),
        Value::json(&settings.origin)?,
        settings.secret_sealed.clone().into(),
        settings.interval_minutes.into(),
        settings.keep_days.into(),
        settings.enabled.into(),
        settings.visibility.as_ref().map(Value::json).transpose()?.unwrap_or(Value::Null),
        settings.origin.host().into(),
        row.revision.into(),
        row.audience.into(),
        row.audience_is_new.into(),
        row.position.as_str().into(),
        row.failures.into(),
        row.next_run_at.into(),
        row.tenant_id.into(),
        settings.id.as_str().into(),
    ];
    sql(text, values).execute(transaction).await.map(drop)
}

/// Makes a subscription due. Returns whether it exists.
pub(super) async fn request_run(
    transaction: &Transaction,
    tenant_id: i64,
    id: &str,
    now: i64,
) -> Result<bool> {
    let text = "UPDATE subscriptions SET next_run_at = ?, run_requests = run_requests + 1 \
                WHERE tenant_id = ? AND id = ? AND removed_at IS NULL";
    Ok(sql(text, [now.into(), tenant_id.into(), id.into()]).execute(transaction).await? > 0)
}

/// Ends a subscription; its items follow in portions.
pub(super) async fn set_aside(transaction: &Transaction, tenant_id: i64, id: &str, now: i64) -> Result<()> {
    let text = "UPDATE subscriptions SET removed_at = ?, next_run_at = NULL, secret_sealed = NULL, revision = revision + 1 \
                WHERE tenant_id = ? AND id = ?";
    sql(text, [now.into(), tenant_id.into(), id.into()]).execute(transaction).await.map(drop)
}

/// Makes a run that begins the last of those that are due.
pub(super) async fn begin_run(transaction: &Transaction, begun: &SubscriptionRow, now: i64) -> Result<()> {
    let text = "UPDATE subscriptions SET next_run_at = ? WHERE tenant_id = ? AND id = ? AND revision = ? AND next_run_at < ?";
    let (tenant_id, id) = (begun.tenant_id, begun.settings.id.as_str());
    let values = [now.into(), tenant_id.into(), id.into(), begun.revision.into(), now.into()];
    sql(text, values).execute(transaction).await.map(drop)
}

/// Writes a run's end.
pub(super) async fn end_run(transaction: &Transaction, begun: &SubscriptionRow, end: &RunEnd) -> Result<()> {
    let text = "UPDATE subscriptions SET last_run = ?, failures = ?, position = COALESCE(?, position), runs = runs + 1, \
                next_run_at = CASE WHEN run_requests = ? THEN ? ELSE next_run_at END WHERE tenant_id = ? AND id = ?";
    let values = [
        Value::json(&end.last_run)?,
        end.failures.into(),
        end.position.as_deref().into(),
        begun.run_requests.into(),
        end.next_run_at.into(),
        begun.tenant_id.into(),
        begun.settings.id.as_str().into(),
    ];
    sql(text, values).execute(transaction).await?;
    if let Some((host, until)) = &end.rest {
        let text = "INSERT INTO subscription_hosts (host, rests_to) VALUES (?, ?) ON CONFLICT (host) DO UPDATE SET \
                    rests_to = excluded.rests_to WHERE subscription_hosts.rests_to < excluded.rests_to";
        sql(text, [host.into(), (*until).into()]).execute(transaction).await?;
    }
    if let Some(aged) = &end.aged {
        let text = "DELETE FROM subscription_items WHERE tenant_id = ? AND subscription_id = ? AND hash IS NULL \
                    AND item_id NOT IN (SELECT value FROM json_each(?))";
        let values = [begun.tenant_id.into(), begun.settings.id.as_str().into(), Value::list(aged)];
        sql(text, values).execute(transaction).await?;
    }
    Ok(())
}

/// Changes the number of present items.
pub(super) async fn count_items(
    transaction: &Transaction,
    tenant_id: i64,
    id: &str,
    more: i64,
) -> Result<()> {
    if more == 0 {
        return Ok(());
    }
    let text = "UPDATE subscriptions SET items = items + ? WHERE tenant_id = ? AND id = ?";
    sql(text, [more.into(), tenant_id.into(), id.into()]).execute(transaction).await.map(drop)
}

/// Forgets entries; returns how many had an item.
pub(super) async fn forget_entries(
    transaction: &Transaction,
    tenant_id: i64,
    id: &str,
    item_ids: &[String],
) -> Result<u64> {
    let of_subscription = [tenant_id.into(), id.into()];
    let text = "DELETE FROM subscription_items WHERE tenant_id = ? AND subscription_id = ? AND hash IS NOT NULL AND item_id";
    let removed = execute_in(transaction, text, &of_subscription, item_ids).await?;
    let text = "DELETE FROM subscription_items WHERE tenant_id = ? AND subscription_id = ? AND item_id";
    execute_in(transaction, text, &of_subscription, item_ids).await?;
    Ok(removed)
}

/// Writes where the next run continues, if this one is cut off.
pub(super) async fn set_position(
    transaction: &Transaction,
    tenant_id: i64,
    id: &str,
    position: &str,
) -> Result<()> {
    let text = "UPDATE subscriptions SET position = ? WHERE tenant_id = ? AND id = ?";
    sql(text, [position.into(), tenant_id.into(), id.into()]).execute(transaction).await.map(drop)
}

/// Present items and the hashes of their entries.
pub(super) async fn known_entries(
    connection: &Connection,
    tenant_id: i64,
    id: &str,
) -> Result<Vec<(String, String)>> {
    let text = "SELECT item_id, hash FROM subscription_items WHERE tenant_id = ? AND subscription_id = ? AND hash IS NOT NULL";
    sql(text, [tenant_id.into(), id.into()]).fetch_all(connection).await
}

/// Up to `limit` due subscriptions, without those of some tenants and hosts, the longest due first.
pub(super) async fn due(
    connection: &Connection,
    now: i64,
    (without_tenants, without_hosts): (&[String], &[String]),
    limit: u64,
) -> Result<Vec<SubscriptionRow>> {
    let text = format!(
        "{SELECT} WHERE next_run_at <= ? AND host NOT IN (SELECT value FROM json_each(?)) \
         AND CAST(tenant_id AS TEXT) NOT IN (SELECT value FROM json_each(?)) \
         AND EXISTS (SELECT 1 FROM tenants WHERE tenants.id = subscriptions.tenant_id AND tenants.removed_at IS NULL) \
         ORDER BY next_run_at LIMIT ?"
    );
    let values = [now.into(), Value::list(without_hosts), Value::list(without_tenants), limit.into()];
    sql(text, values).fetch_all(connection).await
}

/// The first time after `now` at which a subscription is due.
pub(super) async fn next_due(connection: &Connection, now: i64) -> Result<Option<i64>> {
    let text = "SELECT MIN(next_run_at) AS next FROM subscriptions WHERE next_run_at > ?";
    sql(text, [now.into()]).fetch_value(connection).await
}

/// Hosts at rest, and the end of each.
pub(super) async fn resting(connection: &Connection, now: i64) -> Result<Vec<(String, i64)>> {
    let text = "SELECT host, rests_to FROM subscription_hosts WHERE rests_to > ?";
    sql(text, [now.into()]).fetch_all(connection).await
}
