//! Counts of all matches by author and day.

use std::sync::Arc;

use serde_json::{Value, json};
use trawl_engine::{Days, FacetFields, Failure, FieldCounts, Request, Scope, Start, TimeZone};

use crate::query::matches;
use crate::relevance;
use crate::served_indexes::ServedIndexes;

/// Authors of one scope; a cluster allows 65,535 buckets by default.
const MAX_AUTHORS: usize = 20_000;
const MAX_DAYS: usize = 20_000;

const DAY_MILLIS: i64 = 86_400_000;
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
            Start::Relevance { beside, .. } => {
                selections.extend(relevance::selections(indexes, request, beside).await?);
            }
        }
    }
    let Some(principals) = requests.first().map(|request| &request.principals) else {
        return Ok(FieldCounts::default());
    };
    let (scopes, searches): (Vec<_>, Vec<_>) =
        selections.into_iter().map(|(scope, matches)| (scope, search(&matches, &fields))).unzip();
    let mut counts = FieldCounts::default();
    let mut days = Days::new(fields.time.unwrap_or(TimeZone::UTC));
    for answer in indexes.search_scopes(&scopes, principals, &searches).await? {
        add(&answer["aggregations"], &mut days, &mut counts)?;
    }
    Ok(counts)
}

/// A tenant's documents are in one shard, so counts are exact.
fn search(matches: &Value, fields: &FacetFields) -> Value {
    let mut counted = serde_json::Map::new();
    if fields.author {
        let authors = json!({"terms": {"field": "author_name", "size": MAX_AUTHORS}});
        counted.insert("authors".to_owned(), authors);
    }
    if let Some(zone) = &fields.time {
        let day = day(zone);
        let days = json!({"composite": {"size": MAX_DAYS, "sources": [{"day": day}]}});
        counted.insert("days".to_owned(), days);
    }
    json!({"size": 0, "track_total_hits": false, "query": matches, "aggs": counted})
}

fn day(zone: &TimeZone) -> Value {
    let name = match zone.to_fixed_offset() {
        Ok(offset) if offset.is_zero() => {
            return json!({"histogram": {"field": FIELD, "interval": DAY_MILLIS, "order": "desc"}});
        }
        Ok(offset) => Some(offset.to_string()),
        Err(_) => zone.iana_name().map(str::to_owned),
    };
    json!({"date_histogram": {"field": FIELD, "calendar_interval": "1d", "time_zone": name, "order": "desc"}})
}

fn add(counted: &Value, days: &mut Days, counts: &mut FieldCounts) -> Result<(), Failure> {
    let unreadable = || Failure::Failed("OpenSearch answered counts without values".to_owned());
    let buckets = |name: &str| counted[name]["buckets"].as_array().into_iter().flatten();
    for bucket in buckets("authors") {
        let (author, count) =
            bucket["key"].as_str().zip(bucket["doc_count"].as_u64()).ok_or_else(unreadable)?;
        *counts.authors.entry(author.to_owned()).or_default() += count;
    }
    for bucket in buckets("days") {
        let time = bucket["key"]["day"].as_f64();
        let (time, count) = time.zip(bucket["doc_count"].as_u64()).ok_or_else(unreadable)?;
        #[expect(clippy::cast_possible_truncation, reason = "the times that there are")]
        let begin = time.round() as i64;
        // The middle, as Java may know other midnights of a zone.
        *counts.days.entry(days.day_of(begin.saturating_add(DAY_MILLIS / 2))).or_default() += count;
    }
    counts.is_cut |= counted["authors"]["sum_other_doc_count"].as_u64().is_some_and(|others| others > 0)
        || buckets("days").count() == MAX_DAYS;
    Ok(())
}
