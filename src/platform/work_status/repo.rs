use std::collections::HashMap;

use super::forms::WorkStatus;
use crate::{
    error::Result,
    platform::{shared::patch::SyncFailure, tenants},
    store::{Transaction, find_in, sql},
};

/// Skips unchanged rows; unknown people fail alone.
pub(super) async fn update(
    transaction: &Transaction,
    tenant_id: i64,
    changes: Vec<WorkStatus>,
) -> Result<Vec<SyncFailure>> {
    let ids: Vec<&str> = changes.iter().map(|change| change.user_id.as_str()).collect();
    let text = "SELECT user_id, work_status FROM users WHERE tenant_id = ? AND NOT is_deleted AND user_id";
    let known: Vec<(String, Option<String>)> = find_in(transaction, text, &[tenant_id.into()], &ids).await?;
    let known: HashMap<_, _> = known.into_iter().collect();
    let mut left: HashMap<String, Option<String>> = HashMap::new();
    let mut failures = Vec::new();
    for WorkStatus { user_id, code } in changes {
        if known.contains_key(&user_id) {
            left.insert(user_id, code);
        } else {
            failures.push(SyncFailure { id: user_id, message: "userId: there is no such user".to_owned() });
        }
    }
    left.retain(|user_id, code| known.get(user_id) != Some(code));
    if left.is_empty() {
        return Ok(failures);
    }
    let first = tenants::service::give_change_times(transaction, tenant_id, left.len()).await?;
    for (updated_at, (user_id, code)) in (first..).zip(left) {
        sql(
            "UPDATE users SET work_status = ?, updated_at = ? WHERE tenant_id = ? AND user_id = ?",
            [code.into(), updated_at.into(), tenant_id.into(), user_id.into()],
        )
        .execute(transaction)
        .await?;
    }
    Ok(failures)
}
