//! Pages in time order, with whole ties.

use std::sync::Arc;

use serde_json::{Value, json};
use trawl_engine::{Failure, Hit, HitPage, Request, Scope, TimePosition};

use crate::document::read_hit;
use crate::query::matches;
use crate::served_indexes::{ServedIndexes, hits_of, total_of};

/// Hits of a tie that are asked for at first; four times as many each time.
const TIE_CHUNK: usize = 128;

/// The page of a request in time order, with the total.
pub(crate) async fn page(
    indexes: &ServedIndexes,
    request: &Request,
    matches: &Value,
    after: Option<&TimePosition>,
    whole_ties: Option<usize>,
) -> Result<HitPage, Failure> {
    let count = json!({"query": matches, "size": 0, "track_total_hits": true});
    if request.limit == 0 {
        let total = total_of(&indexes.search_one(request, &count).await?)?;
        return Ok(HitPage { total, more: total > 0, ..HitPage::default() });
    }
    let first = newest(matches, after, request.limit.saturating_add(1));
    let [counted, found] = indexes.search_two(request, [&count, &first]).await?;
    let total = total_of(&counted)?;
    let mut hits = hits(found)?;
    if hits.len() <= request.limit {
        return Ok(page_of(hits, total, false, false));
    }
    let following = hits.pop();
    let (Some(last), Some(following), Some(cap)) = (hits.last(), following, whole_ties) else {
        return Ok(page_of(hits, total, true, false));
    };
    let time = last.display_time;
    if following.display_time != time {
        return Ok(page_of(hits, total, true, false));
    }
    let in_page = hits.iter().rev().take_while(|hit| hit.display_time == time).count();
    let mut left = cap.saturating_sub(in_page);
    let mut chunk = TIE_CHUNK;
    loop {
        let last = hits.last().map(|hit| TimePosition { display_time: time, id: Some(hit.id.clone()) });
        let size = chunk.min(left.saturating_add(1));
        let read = self::hits(indexes.search_one(request, &newest(matches, last.as_ref(), size)).await?)?;
        let count = read.len();
        for hit in read {
            if hit.display_time != time {
                return Ok(page_of(hits, total, true, false));
            }
            if left == 0 {
                return Ok(page_of(hits, total, true, true));
            }
            hits.push(hit);
            left -= 1;
        }
        if count < size {
            return Ok(page_of(hits, total, false, false));
        }
        chunk *= 4;
    }
}

/// The newest hits of each request of one viewer, uncounted.
pub(crate) async fn newest_of_each(
    indexes: &ServedIndexes,
    requests: &[Request],
) -> Result<Vec<Vec<Hit>>, Failure> {
    let Some(first) = requests.first() else { return Ok(Vec::new()) };
    let scopes: Vec<Arc<Scope>> = requests.iter().map(|request| Arc::clone(&request.scope)).collect();
    let nothing = json!({"match_none": {}});
    let search =
        |request: &Request| newest(matches(request, None).as_ref().unwrap_or(&nothing), None, request.limit);
    let searches: Vec<Value> = requests.iter().map(search).collect();
    let answers = indexes.search_scopes(&scopes, &first.principals, &searches).await?;
    answers.into_iter().map(hits).collect()
}

fn page_of(hits: Vec<Hit>, total: u64, more: bool, cut: bool) -> HitPage {
    HitPage { hits, total, more, cut, ..HitPage::default() }
}

fn newest(matches: &Value, after: Option<&TimePosition>, size: usize) -> Value {
    let mut search = json!({
        "query": matches,
        "size": size,
        "sort": [{"display_time": "desc"}, {"id": "asc"}],
        "track_total_hits": false,
    });
    match after {
        None => {}
        Some(TimePosition { display_time, id: None }) => {
            let before = json!({"range": {"display_time": {"lt": display_time}}});
            search["query"] = json!({"bool": {"filter": [matches, before]}});
        }
        Some(TimePosition { display_time, id: Some(id) }) => {
            // The filter lets segments be skipped.
            let until = json!({"range": {"display_time": {"lte": display_time}}});
            search["query"] = json!({"bool": {"filter": [matches, until]}});
            search["search_after"] = json!([display_time, id]);
        }
    }
    search
}

fn hits(answer: Value) -> Result<Vec<Hit>, Failure> {
    let hits: Option<Vec<Hit>> = hits_of(answer)?.iter_mut().map(read_hit).collect();
    hits.ok_or_else(|| Failure::Failed("OpenSearch answered a hit without its document".to_owned()))
}
