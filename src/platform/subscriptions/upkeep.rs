//! Upkeep of subscriptions and their items, for `maintenance`.
//!
//! Removes items of removed subscriptions, items that are too old and pauses that are over. Writes items whose viewers
//! changed anew.

use super::{repo, schedule::DAY};
use crate::{
    error::Result,
    platform::contents::{forms::Visibility, service as contents},
    store::{FromRow, Json, Store, Transaction, Value, execute_in, sql},
};

/// Items of one transaction.
pub const PORTION: usize = 500;

#[derive(FromRow)]
struct Left {
    tenant_id: i64,
    id: String,
    module: String,
    visibility: Option<Json<Visibility>>,
    audience: i64,
}

#[derive(Clone, Copy)]
enum Work {
    Removed,
    TooOld,
    NewAudience,
}

impl Work {
    /// Subscriptions with work left.
    fn condition(self) -> &'static str {
        match self {
            Self::Removed => "removed_at IS NOT NULL",
            Self::TooOld => {
                "removed_at IS NULL AND keep_days IS NOT NULL AND EXISTS (SELECT 1 FROM subscription_items \
                 WHERE subscription_items.tenant_id = subscriptions.tenant_id \
                 AND subscription_id = subscriptions.id AND hash IS NOT NULL AND shown_at < ? - keep_days * ?)"
            }
            Self::NewAudience => "removed_at IS NULL AND audience_is_new",
        }
    }
}

/// Does one portion of what is left; returns whether it was the last.
pub async fn follow_portion(store: &Store, now: i64) -> Result<bool> {
    for work in [Work::Removed, Work::NewAudience, Work::TooOld] {
        let find = find(work, now);
        if !find.clone().exists(store.reader()).await? {
            continue;
        }
        let job = store.write(move |transaction| {
            Box::pin(async move {
                let Some(left) = find.fetch_optional::<Left>(transaction).await? else { return Ok(()) };
                match work {
                    Work::Removed => remove_some(transaction, &left).await,
                    Work::TooOld => remove_old(transaction, &left, now).await,
                    Work::NewAudience => show_some(transaction, &left).await,
                }
            })
        });
        job.await?;
        return Ok(false);
    }
    let rested = sql("SELECT host FROM subscription_hosts WHERE rests_to <= ? LIMIT 500", [now.into()]);
    store.delete_batch("subscription_hosts", "host", rested, 500).await
}

fn find(work: Work, now: i64) -> crate::store::Statement {
    let text = format!(
        "SELECT tenant_id, id, module, visibility, audience FROM subscriptions WHERE {} LIMIT 1",
        work.condition()
    );
    let values = match work {
        Work::TooOld => vec![now.into(), DAY.into()],
        Work::Removed | Work::NewAudience => Vec::new(),
    };
    sql(text, values)
}

/// The subscription's own row last.
async fn remove_some(transaction: &Transaction, left: &Left) -> Result<()> {
    let ids = items(transaction, left, "1 = 1", []).await?;
    contents::remove_items(transaction, left.tenant_id, &left.module, &ids).await?;
    change(transaction, left, "DELETE FROM subscription_items WHERE", [], &ids).await?;
    if ids.len() < PORTION {
        let text = "DELETE FROM subscriptions WHERE tenant_id = ? AND id = ?";
        sql(text, [left.tenant_id.into(), left.id.as_str().into()]).execute(transaction).await?;
    }
    Ok(())
}

/// Keeps rows of undated items, so that entries are not taken again.
async fn remove_old(transaction: &Transaction, left: &Left, now: i64) -> Result<()> {
    let is_old = "hash IS NOT NULL AND shown_at < ? - ? * (SELECT keep_days FROM subscriptions \
                  WHERE subscriptions.tenant_id = subscription_items.tenant_id AND id = subscription_id)";
    let ids = items(transaction, left, is_old, [now.into(), DAY.into()]).await?;
    contents::remove_items(transaction, left.tenant_id, &left.module, &ids).await?;
    change(transaction, left, "UPDATE subscription_items SET hash = NULL WHERE", [], &ids).await?;
    // Entries with one are too old whenever they are read.
    let dated = "DELETE FROM subscription_items WHERE shown_at <> first_seen AND";
    change(transaction, left, dated, [], &ids).await?;
    let count = i64::try_from(ids.len()).unwrap_or_default();
    repo::count_items(transaction, left.tenant_id, &left.id, -count).await?;
    Ok(())
}

async fn show_some(transaction: &Transaction, left: &Left) -> Result<()> {
    let ids = items(transaction, left, "hash IS NOT NULL AND audience <> ?", [left.audience.into()]).await?;
    let visibility = left.visibility.as_ref().map(|Json(visibility)| visibility);
    contents::set_visibility(transaction, left.tenant_id, &left.module, &ids, visibility).await?;
    let set = "UPDATE subscription_items SET audience = ? WHERE";
    change(transaction, left, set, [left.audience.into()], &ids).await?;
    if ids.len() < PORTION {
        let text = "UPDATE subscriptions SET audience_is_new = FALSE WHERE tenant_id = ? AND id = ?";
        sql(text, [left.tenant_id.into(), left.id.as_str().into()]).execute(transaction).await?;
    }
    Ok(())
}

async fn items(
    transaction: &Transaction,
    left: &Left,
    condition: &str,
    values: impl IntoIterator<Item = Value>,
) -> Result<Vec<String>> {
    let text = format!(
        "SELECT item_id FROM subscription_items WHERE tenant_id = ? AND subscription_id = ? AND {condition} LIMIT {PORTION}"
    );
    let of_subscription = [left.tenant_id.into(), left.id.as_str().into()];
    Ok(sql(text, of_subscription.into_iter().chain(values)).fetch_values(transaction).await?)
}

async fn change(
    transaction: &Transaction,
    left: &Left,
    statement: &str,
    values: impl IntoIterator<Item = Value>,
    ids: &[String],
) -> Result<()> {
    let text = format!("{statement} tenant_id = ? AND subscription_id = ? AND item_id");
    let of_subscription = [left.tenant_id.into(), left.id.as_str().into()];
    let values: Vec<Value> = values.into_iter().chain(of_subscription).collect();
    Ok(execute_in(transaction, &text, &values, ids).await.map(drop)?)
}
