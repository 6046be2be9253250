//! Counting of finished searches, and the keywords that stand out.

use std::{cmp::Reverse, collections::HashMap};

use aws_lc_rs::rand;
use serde::Serialize;

use super::{
    InsightsState,
    repo::{self, KeywordRow},
    rules::{WEEK, bit_of, estimate, may_be_shown, week_of},
};
use crate::{
    auth::caller::Caller,
    error::{Error, Result},
    store::{self, Store, Transaction},
};

/// Weeks that are kept.
pub const WEEKS: i64 = 12;

/// Keywords of each list.
const LISTED: usize = 50;

/// A keyword that at least three people looked for in one week.
///
/// Weeks with fewer people do not count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct KeywordInsight {
    /// The keyword in lower case.
    pub keyword: String,
    /// Finished searches.
    pub searches: i64,
    /// Those that found nothing.
    pub without_results: i64,
    /// Those whose results were opened.
    pub openings: i64,
    /// About how many people, in the week with the most.
    pub people: u32,
}

/// The keywords that stand out, at most 50 in each list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Insights {
    /// Those that are looked for most.
    pub frequent: Vec<KeywordInsight>,
    /// Those that most often find nothing.
    pub without_results: Vec<KeywordInsight>,
    /// Those that find something, and of which nobody opened anything.
    pub never_opened: Vec<KeywordInsight>,
}

/// Counts a search of a tenant that agreed, with the person who finished it.
pub(super) async fn count(state: &InsightsState, caller: &Caller, search: KeywordRow) -> Result<()> {
    let (tenant_id, week) = (caller.tenant.id, week_of(state.clock.now()));
    let person = caller.user.as_ref().map(|user| user.person.user_id.clone());
    let mut salt = [0; 16];
    rand::fill(&mut salt).map_err(|_| Error::internal("the system returned no random bytes"))?;
    let job = state.store.write_for(tenant_id, move |transaction| {
        Box::pin(async move {
            // The tenant may have changed its mind.
            if !repo::is_enabled(transaction, tenant_id).await? {
                return Ok(());
            }
            let salt = repo::salt(transaction, tenant_id, week, salt).await?;
            let people = person.zip(salt).map_or(0, |(person, salt)| bit_of(&person, &salt));
            Ok(repo::add(transaction, tenant_id, week, KeywordRow { people, ..search }).await?)
        })
    });
    job.await
}

/// The keywords of a tenant's last weeks, this one included.
pub async fn list(state: &InsightsState, tenant_id: i64, weeks: i64) -> Result<Insights> {
    let from = week_of(state.clock.now()) - (weeks - 1) * WEEK;
    // Three people search three times.
    let rows = repo::list(state.store.reader(), tenant_id, from, 3).await?;
    let mut sums: HashMap<String, KeywordInsight> = HashMap::new();
    for row in rows.into_iter().filter(|row| may_be_shown(row.people)) {
        let keyword = row.keyword.clone();
        let sum = sums.entry(row.keyword).or_insert(KeywordInsight {
            keyword,
            searches: 0,
            without_results: 0,
            openings: 0,
            people: 0,
        });
        sum.searches += row.searches;
        sum.without_results += row.without_results;
        sum.openings += row.openings;
        sum.people = sum.people.max(estimate(row.people));
    }
    let most = |count: fn(&KeywordInsight) -> i64| {
        let mut found: Vec<_> = sums.values().filter(|insight| count(insight) > 0).collect();
        found.sort_unstable_by_key(|insight| (Reverse(count(insight)), &insight.keyword));
        found.into_iter().take(LISTED).cloned().collect()
    };
    Ok(Insights {
        frequent: most(|insight| insight.searches),
        without_results: most(|insight| insight.without_results),
        never_opened: most(|insight| match insight.openings {
            0 => insight.searches - insight.without_results,
            _ => 0,
        }),
    })
}

/// Removes all that was counted for a tenant.
pub async fn remove_all(transaction: &Transaction, tenant_id: i64) -> store::Result<()> {
    repo::remove_all(transaction, tenant_id).await
}

/// Removes salts of past weeks, and a portion of old weeks.
///
/// Returns whether none is left.
pub async fn remove_old(store: &Store, now: i64) -> Result<bool> {
    let this_week = week_of(now);
    let first_week = this_week - (WEEKS - 1) * WEEK;
    if !repo::has_old(store.reader(), this_week, first_week).await? {
        return Ok(true);
    }
    let job = store.write(move |transaction| {
        Box::pin(async move { Ok(repo::remove_old(transaction, this_week, first_week).await?) })
    });
    job.await
}
