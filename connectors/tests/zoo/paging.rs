//! Faults of limit, cursor and order.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use futures::FutureExt;
use serde_json::{Value, json};

use super::fault::{Fault, Rows};
use super::layer::{Call, Reference, SourceRequest, send_json};

type Paged = Result<Value, Response>;

fn send(page: Paged) -> Response {
    page.map_or_else(|refusal| refusal, |page| send_json(page.to_string()))
}

pub(super) fn faults() -> Vec<Fault> {
    vec![
        Fault::search("limit-exceeded", "limit", |call| exceed_the_limit(call).map(send).boxed())
            .used("were asked for"),
        Fault::search("twenty-without-limit", "limit-default", |call| {
            send_twenty_without_limit(call).map(send).boxed()
        }),
        Fault::search("cursor-a-number", "cursor", |call| count_in_the_cursor(call).map(send).boxed())
            .noted("`cursor` is a number"),
        Fault::search("cursor-of-5000-bytes", "cursor", |call| lengthen_the_cursor(call).map(send).boxed())
            .partly("`cursor` is longer"),
        Fault::search("cursor-stands-still", "cursor-advances", |call| stand_still(call).map(send).boxed())
            .partly("cursor"),
        Fault::search("cursors-in-a-circle", "cursor-ends", |call| lead_in_a_circle(call).map(send).boxed())
            .partly("loop"),
        Fault::search("cursor-without-end", "cursor-ends", |call| go_on_without_end(call).map(send).boxed())
            .used("brought nothing new"),
        Fault::search("cursor-that-works-once", "cursor-repeatable", |call| work_once(call).boxed())
            .noted("it shows no more")
            .with_rows(Rows::Some),
        Fault::search("cursor-shifts-when-repeated", "cursor-repeatable", |call| {
            shift_when_repeated(call).map(send).boxed()
        }),
        Fault::search("row-twice-in-a-page", "item-id-unique", |call| {
            repeat_within_a_page(call).map(send).boxed()
        })
        .used("repeat an id"),
        Fault::search("row-twice-in-the-chain", "cursor-unique", |call| repeat_a_row(call).map(send).boxed())
            .used("repeat an id"),
        Fault::search("row-lost-between-pages", "cursor-complete", |call| lose_a_row(call).map(send).boxed())
            .noted("it shows no more")
            .with_rows(Rows::Some),
        Fault::page("cursor-lost-on-large-pages", "cursor-complete", |request, page| {
            if request.limit_or_default() > MAX_ROWS {
                cut(page, MAX_ROWS);
            }
        }),
        Fault::search("ends-before-its-total", "total", |call| end_early(call).map(send).boxed())
            .noted("it shows no more")
            .with_rows(Rows::Some),
        Fault::search("total-of-what-is-left", "total", |call| count_what_is_left(call).map(send).boxed()),
        Fault::page("page-upside-down", "order", |_, page| page["data"].as_array_mut().unwrap().reverse())
            .used("order"),
        Fault::search("pages-in-the-wrong-order", "order", |call| {
            exchange_the_first_pages(call).map(send).boxed()
        })
        .used("order"),
    ]
}

async fn exceed_the_limit(Call { request, reference, .. }: Call) -> Paged {
    let length = request.limit_or_default();
    let request =
        if request.limit.is_some() && length > 0 { request.with_limit(length + 5) } else { request };
    reference.page(&request).await
}

async fn send_twenty_without_limit(Call { request, reference, .. }: Call) -> Paged {
    let request = if request.limit.is_none() { request.with_limit(20) } else { request };
    reference.page(&request).await
}

/// Offset as a JSON number.
async fn count_in_the_cursor(Call { request, reference, .. }: Call) -> Paged {
    let before: usize = request.cursor.as_deref().and_then(|cursor| cursor.parse().ok()).unwrap_or(0);
    let after = match before {
        0 => None,
        before => {
            let all_before = reference.page(&request.after(None).with_limit(before)).await?;
            all_before["cursor"].as_str().map(str::to_owned)
        }
    };
    let mut page = reference.page(&request.after(after)).await?;
    if page["cursor"].is_string() {
        page["cursor"] = json!(before + page["data"].as_array().unwrap().len());
    }
    Ok(page)
}

const PADDING: char = '~';

/// Padding, removed when the cursor comes back.
async fn lengthen_the_cursor(Call { request, reference, .. }: Call) -> Paged {
    let cursor = request.cursor.as_deref().map(|cursor| cursor.trim_end_matches(PADDING).to_owned());
    let mut page = reference.page(&request.after(cursor)).await?;
    if let Some(cursor) = page["cursor"].as_str() {
        page["cursor"] = format!("{cursor:~<5000}").into();
    }
    Ok(page)
}

async fn stand_still(Call { request, reference, .. }: Call) -> Paged {
    let mut page = reference.page(&request).await?;
    if let Some(cursor) = request.cursor {
        page["cursor"] = cursor.into();
    }
    Ok(page)
}

async fn lead_in_a_circle(Call { request, reference, .. }: Call) -> Paged {
    let mut page = reference.page(&request).await?;
    if request.cursor.is_some() {
        let second = reference.page(&request.after(None)).await?["cursor"].take();
        if second.as_str() != request.cursor.as_deref() {
            page["cursor"] = second;
        }
    }
    Ok(page)
}

/// Empty pages with new cursors.
async fn go_on_without_end(Call { request, reference, .. }: Call) -> Paged {
    let beyond = request.cursor.as_deref().and_then(|cursor| cursor.strip_prefix("beyond/"));
    let Some(beyond) = beyond.and_then(|beyond| beyond.parse::<usize>().ok()) else {
        let mut page = reference.page(&request).await?;
        if page["cursor"].is_null() {
            page["cursor"] = json!("beyond/1");
        }
        return Ok(page);
    };
    let mut page = reference.page(&request.after(None)).await?;
    (page["data"], page["count"], page["cursor"]) =
        (json!([]), json!(0), json!(format!("beyond/{}", beyond + 1)));
    Ok(page)
}

/// Like a server with sessions.
async fn work_once(Call { request, reference, state, .. }: Call) -> Response {
    let response = reference.ask(&request).await;
    let is_new = request.cursor.is_none_or(|cursor| state.used.lock().unwrap().insert(cursor));
    if is_new || response.status() != StatusCode::OK {
        response
    } else {
        StatusCode::BAD_REQUEST.into_response()
    }
}

async fn shift_when_repeated(Call { request, reference, state, .. }: Call) -> Paged {
    let page = reference.page(&request).await?;
    let Some(cursor) = request.cursor.clone() else { return Ok(page) };
    if state.used.lock().unwrap().insert(cursor) {
        return Ok(page);
    }
    let first = reference.page(&request.with_limit(1)).await?["cursor"].take();
    match first.as_str() {
        Some(after_the_first) => reference.page(&request.after(Some(after_the_first.to_owned()))).await,
        None => Ok(page),
    }
}

const MAX_ROWS: usize = 50;

fn cut(page: &mut Value, length: usize) {
    let data = page["data"].as_array_mut().unwrap();
    data.truncate(length);
    (page["count"], page["cursor"]) = (json!(data.len()), json!(null));
}

async fn left(request: &SourceRequest, reference: &Reference) -> Result<usize, Response> {
    let all = reference.page(&request.with_limit(100)).await?;
    Ok(all["data"].as_array().unwrap().len())
}

async fn end_early(Call { request, reference, .. }: Call) -> Paged {
    let mut page = reference.page(&request).await?;
    let before = left(&request.after(None), &reference).await? - left(&request, &reference).await?;
    if before + request.limit_or_default() >= MAX_ROWS {
        cut(&mut page, MAX_ROWS - before);
    }
    Ok(page)
}

async fn count_what_is_left(Call { request, reference, .. }: Call) -> Paged {
    let mut page = reference.page(&request).await?;
    page["total"] = json!(left(&request, &reference).await?);
    Ok(page)
}

/// Repeats the last row of a page, and starts the next page with the displaced row.
async fn repeat_within_a_page(Call { request, reference, .. }: Call) -> Paged {
    let length = request.limit_or_default();
    if length < 2 {
        return reference.page(&request).await;
    }
    let mut page = reference.page(&request.with_limit(length - 1)).await?;
    let data = page["data"].as_array_mut().unwrap();
    if let Some(last) = data.last().cloned() {
        data.push(last);
        let count = data.len();
        // The repeated row counts among all matches.
        let total = page["total"].as_u64().unwrap().max(count as u64);
        (page["count"], page["total"]) = (json!(count), json!(total));
    }
    Ok(page)
}

async fn repeat_a_row(Call { request, reference, .. }: Call) -> Paged {
    let length = request.limit_or_default();
    let first = reference.page(&request.after(None)).await?;
    if length < 2 || request.cursor.is_none() || first["cursor"].as_str() != request.cursor.as_deref() {
        return reference.page(&request).await;
    }
    let all_but_one = reference.page(&request.after(None).with_limit(length - 1)).await?["cursor"].take();
    reference.page(&request.after(all_but_one.as_str().map(str::to_owned))).await
}

async fn lose_a_row(Call { request, reference, .. }: Call) -> Paged {
    let first = reference.page(&request.after(None)).await?;
    if request.cursor.is_none() || first["cursor"].as_str() != request.cursor.as_deref() {
        return reference.page(&request).await;
    }
    let lost = reference.page(&request.with_limit(1)).await?["cursor"].take();
    match lost.as_str() {
        Some(after_the_lost) => reference.page(&request.after(Some(after_the_lost.to_owned()))).await,
        None => reference.page(&request).await,
    }
}

async fn exchange_the_first_pages(Call { request, reference, .. }: Call) -> Paged {
    const FIRST: &str = "first";
    let (is_start, is_second) = (request.cursor.is_none(), request.cursor.as_deref() == Some(FIRST));
    if !is_start && !is_second {
        return reference.page(&request).await;
    }
    let mut first = reference.page(&request.after(None)).await?;
    let Some(cursor) = first["cursor"].as_str().map(str::to_owned) else { return Ok(first) };
    let mut second = reference.page(&request.after(Some(cursor))).await?;
    if is_start {
        second["cursor"] = json!(FIRST);
        return Ok(second);
    }
    first["cursor"] = second["cursor"].take();
    Ok(first)
}
