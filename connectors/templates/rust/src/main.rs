//! A source of trawl: answers searches by the contract. Put your own system's search into `find`.

use std::{cmp::Reverse, env, error::Error};

use axum::{
    Router,
    extract::Query,
    http::{HeaderMap, StatusCode, header::CONTENT_TYPE},
    response::IntoResponse,
};
use serde::Deserialize;
use serde_json::{Value, json};

const NEW_YEAR: i64 = 1_704_067_200_000;

#[derive(Clone, Debug, PartialEq)]
struct Item {
    id: String,
    title: String,
    display_time: i64,
}

impl Item {
    /// The newest first; of equal times by id, so that every page has its place.
    fn place(&self) -> (Reverse<i64>, &str) {
        (Reverse(self.display_time), &self.id)
    }

    fn json(&self) -> Value {
        let action = json!({"web": format!("[OpenUrl]\nurl=https://intranet.example/{}", self.id)}).to_string();
        json!({"id": self.id, "title": self.title, "displayTime": self.display_time, "action": action})
    }
}

fn items() -> Vec<Item> {
    let item = |number: i64| Item {
        id: format!("reports/{number:02}"),
        title: format!("Report {number} of the harbour"),
        display_time: NEW_YEAR - number / 2 * 3_600_000,
    };
    let mut items: Vec<Item> = (0..45).map(item).collect();
    items.sort_by(|one, other| one.place().cmp(&other.place()));
    items
}

/// A page of matches, the number of all, and the cursor of the next page.
type Found = (Vec<Item>, usize, Option<String>);

/// An error is answered by 500.
///
/// The cursor names the last item, not an offset: added and removed items shift no page.
fn find(keyword: &str, limit: usize, after: Option<(i64, &str)>) -> Result<Found, Box<dyn Error>> {
    let keyword = keyword.to_lowercase();
    let holds_all = |item: &Item| keyword.split_whitespace().all(|word| item.title.to_lowercase().contains(word));
    let matches: Vec<Item> = items().into_iter().filter(holds_all).collect();
    let is_shown = |item: &Item| after.is_some_and(|(time, id)| item.place() <= (Reverse(time), id));
    let start = matches.partition_point(is_shown);
    let page = matches[start..matches.len().min(start + limit)].to_vec();
    let is_last = start + page.len() == matches.len();
    let cursor = page.last().filter(|_| !is_last).map(|item| format!("{}/{}", item.display_time, item.id));
    Ok((page, matches.len(), cursor))
}

/// Takes the same time wherever keys differ.
fn is_equal(given: &[u8], key: &[u8]) -> bool {
    given.len() == key.len() && given.iter().zip(key).fold(0, |differs, (one, other)| differs | (one ^ other)) == 0
}

#[derive(Deserialize)]
struct Search {
    keyword: Option<String>,
    limit: Option<String>,
    cursor: Option<String>,
}

fn answer(headers: &HeaderMap, search: &Search) -> Value {
    let refuse = |code: u16, message: &str| json!({"code": code, "message": message});
    let key = env::var("SOURCE_API_KEY").unwrap_or_default();
    if key.is_empty() || headers.get("x-api-key").is_none_or(|given| !is_equal(given.as_bytes(), key.as_bytes())) {
        return refuse(401, "the key is missing or wrong");
    }
    let Some(keyword) = search.keyword.as_deref().filter(|keyword| !keyword.trim().is_empty()) else {
        return refuse(400, "keyword: is required");
    };
    let limit = search.limit.as_deref().unwrap_or("10").parse::<usize>();
    let after = search.cursor.as_deref().map(|cursor| {
        let (time, id) = cursor.split_once('/')?;
        Some((time.parse().ok()?, id))
    });
    let (Ok(limit), None | Some(Some(_))) = (limit, after) else {
        return refuse(400, "limit or cursor: is not one of this source");
    };
    let (page, total, cursor) = match find(keyword, limit.clamp(1, 100), after.flatten()) {
        Ok(found) => found,
        Err(error) => {
            eprintln!("{error}");
            return refuse(500, "the search failed");
        }
    };
    let data: Vec<Value> = page.iter().map(Item::json).collect();
    json!({"code": 200, "message": null, "count": data.len(), "data": data, "total": total, "cursor": cursor})
}

async fn search(headers: HeaderMap, Query(search): Query<Search>) -> impl IntoResponse {
    let body = answer(&headers, &search);
    let status = body["code"].as_u64().and_then(|code| StatusCode::from_u16(code as u16).ok());
    (status.unwrap_or_default(), [(CONTENT_TYPE, "application/json;charset=UTF-8")], body.to_string())
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    if env::var("SOURCE_API_KEY").unwrap_or_default().is_empty() {
        return Err(std::io::Error::other("SOURCE_API_KEY: is required"));
    }
    let host = env::var("HOST").unwrap_or_else(|_| "127.0.0.1".to_owned());
    let port = env::var("PORT").ok().and_then(|port| port.parse::<u16>().ok()).unwrap_or(8090);
    let listener = tokio::net::TcpListener::bind((host.as_str(), port)).await?;
    println!("http://{}/search", listener.local_addr()?);
    axum::serve(listener, Router::new().fallback(search)).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_hold_every_match_once() {
        let mut found = Vec::new();
        let mut cursor: Option<String> = None;
        loop {
            let last = cursor.as_deref().and_then(|cursor| cursor.split_once('/'));
            let after = last.map(|(time, id)| (time.parse().unwrap(), id));
            let (page, total, next) = find("report", 7, after).unwrap();
            assert_eq!(total, items().len());
            found.extend(page);
            if next.is_none() {
                break;
            }
            cursor = next;
        }
        assert_eq!(found, items());
    }

    #[test]
    fn unknown_word_finds_nothing() {
        assert_eq!(find("nowhere", 10, None).unwrap(), (Vec::new(), 0, None));
    }
}
