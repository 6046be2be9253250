//! Counts of all matches by author and day.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};
use trawl_engine::{Days, FacetFields, Failure, FieldCounts, RankedPage, Request, Scope, Start, TimeZone};

use crate::query::matches;
use crate::relevance;
use crate::served_indexes::ServedIndexes;

/// Authors of one scope; a cluster allows 65,535 buckets by default.
const MAX_AUTHORS: usize = 20_000;

const DAY_MILLIS: i64 = 86_400_000;
/// Seconds since 1970 of the year 2100, behind which clocks are thought not to be changed.
const LAST_CHANGE: i64 = 4_102_444_800;
/// Beginning of the names of counts by day; the offset in seconds follows.
const PERIODS: &str = "days";
const FIELD: &str = "display_time";

pub(crate) async fn count_fields(
    indexes: &ServedIndexes,
    requests: &[Request],
    fields: FacetFields,
) -> Result<FieldCounts, Failure> {
    let mut selections: Vec<(Arc<Scope>, Value)> = Vec::new();
    for request in requests {
        match &request.start {
            Start::Time { .. } => {
                let matches = matches(request, None);
                selections.extend(matches.map(|matches| (Arc::clone(&request.scope), matches)));
            }
            Start::Relevance(RankedPage { beside, .. }) => {
                selections.extend(relevance::selections(indexes, request, beside).await?);
            }
        }
    }
    let Some(principals) = requests.first().map(|request| &request.principals) else {
        return Ok(FieldCounts::default());
    };
    let counted = aggregations(&fields);
    let search = |matches| json!({"size": 0, "track_total_hits": false, "query": matches, "aggs": counted});
    let (scopes, searches): (Vec<_>, Vec<_>) =
        selections.into_iter().map(|(scope, matches)| (scope, search(matches))).unzip();
    let mut counts = FieldCounts::default();
    let mut days = Days::new(fields.time.unwrap_or(TimeZone::UTC));
    for answer in indexes.search_scopes(&scopes, principals, &searches).await? {
        add(&answer["aggregations"], &mut days, &mut counts)?;
    }
    Ok(counts)
}

/// A tenant's documents are in one shard, so counts are exact.
fn aggregations(fields: &FacetFields) -> Value {
    let mut counted = serde_json::Map::new();
    if fields.author {
        let authors = json!({"terms": {"field": "author_name", "size": MAX_AUTHORS}});
        counted.insert("authors".to_owned(), authors);
    }
    if let Some(zone) = &fields.time {
        counted.extend(days_of(zone));
    }
    Value::Object(counted)
}

/// Counts days from midnight to midnight, within the periods of each offset from UTC.
///
/// OpenSearch knows the zones of dates alone, and times are numbers here.
fn days_of(zone: &TimeZone) -> serde_json::Map<String, Value> {
    let changes = zone.following(Timestamp::MIN).map(|change| (change.timestamp(), change.offset()));
    let changes = changes.take_while(|(time, _)| time.as_second() < LAST_CHANGE);
    let mut periods: BTreeMap<i32, Vec<Value>> = BTreeMap::new();
    let (mut from, mut offset) = (None, zone.to_offset(Timestamp::MIN));
    for (time, next) in changes {
        let to = time.as_millisecond();
        periods.entry(offset.seconds()).or_default().push(json!({"from": from, "to": to}));
        (from, offset) = (Some(to), next);
    }
    periods.entry(offset.seconds()).or_default().push(json!({"from": from}));
    let counted = periods.into_iter().map(|(seconds, periods)| {
        let midnight = (-1_000 * i64::from(seconds)).rem_euclid(DAY_MILLIS);
        let day = json!({"field": FIELD, "interval": DAY_MILLIS, "offset": midnight, "min_doc_count": 1});
        let periods = json!({"field": FIELD, "ranges": periods});
        (format!("{PERIODS}{seconds}"), json!({"range": periods, "aggs": {"days": {"histogram": day}}}))
    });
    counted.collect()
}

fn add(counted: &Value, days: &mut Days, counts: &mut FieldCounts) -> Result<(), Failure> {
    let unreadable = || Failure::Failed("OpenSearch answered counts without values".to_owned());
    let buckets = |name: &str| counted[name]["buckets"].as_array().into_iter().flatten();
    for bucket in buckets("authors") {
        let (author, count) =
            bucket["key"].as_str().zip(bucket["doc_count"].as_u64()).ok_or_else(unreadable)?;
        *counts.authors.entry(author.to_owned()).or_default() += count;
    }
    let of_offsets = counted.as_object().into_iter().flatten();
    let periods = of_offsets.filter(|(name, _)| name.starts_with(PERIODS));
    for period in periods.flat_map(|(_, periods)| periods["buckets"].as_array().into_iter().flatten()) {
        for bucket in period["days"]["buckets"].as_array().into_iter().flatten() {
            let (day, count) =
                bucket["key"].as_f64().zip(bucket["doc_count"].as_u64()).ok_or_else(unreadable)?;
            // A period may begin within a day.
            #[expect(clippy::cast_possible_truncation, reason = "the times that there are")]
            let begin = day.max(period["from"].as_f64().unwrap_or(day)).round() as i64;
            *counts.days.entry(days.day_of(begin)).or_default() += count;
        }
    }
    counts.is_cut |= counted["authors"]["sum_other_doc_count"].as_u64().is_some_and(|others| others > 0);
    Ok(())
}
