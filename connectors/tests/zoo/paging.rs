//! Faults of the pages: limit, cursor, order. Items and envelope are right.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use futures::FutureExt;
use serde_json::{Value, json};

use super::fault::{Act, Fault, Rows};
use super::layer::{Asked, Call, Reference, send_json};

/// A page, or the reference's refusal.
type Paged = Result<Value, Response>;

fn send(page: Paged) -> Response {
    page.map_or_else(|refusal| refusal, |page| send_json(page.to_string()))
}

/// The faults of this family.
pub(super) fn faults() -> Vec<Fault> {
    let mut faults = limits();
    faults.extend(cursors());
    faults.extend(rows());
    faults
}

fn limits() -> Vec<Fault> {
    vec![
        Fault::used(
            "limit-exceeded",
            "limit",
            "were asked for",
            Act::Search(|call| exceed_the_limit(call).map(send).boxed()),
        ),
        Fault::unseen(
            "twenty-without-limit",
            "limit-default",
            Act::Search(|call| send_twenty_without_limit(call).map(send).boxed()),
        ),
    ]
}

/// Five more than asked for.
async fn exceed_the_limit(Call { asked, reference, .. }: Call) -> Paged {
    let length = asked.length();
    let asked = if asked.limit.is_some() && length > 0 { asked.of_length(length + 5) } else { asked };
    reference.page(&asked).await
}

async fn send_twenty_without_limit(Call { asked, reference, .. }: Call) -> Paged {
    let asked = if asked.limit.is_none() { asked.of_length(20) } else { asked };
    reference.page(&asked).await
}

fn cursors() -> Vec<Fault> {
    vec![
        Fault::slip(
            "cursor-a-number",
            "cursor",
            "`cursor` is a number",
            Act::Search(|call| count_in_the_cursor(call).map(send).boxed()),
        ),
        Fault::partly(
            "cursor-of-5000-bytes",
            "cursor",
            "`cursor` is longer",
            Act::Search(|call| lengthen_the_cursor(call).map(send).boxed()),
        ),
        Fault::partly(
            "cursor-stands-still",
            "cursor-advances",
            "cursor",
            Act::Search(|call| stand_still(call).map(send).boxed()),
        ),
        Fault::partly(
            "cursors-in-a-circle",
            "cursor-ends",
            "circle",
            Act::Search(|call| lead_in_a_circle(call).map(send).boxed()),
        ),
        Fault::slip(
            "cursor-without-end",
            "cursor-ends",
            "pages without",
            Act::Search(|call| go_on_without_end(call).map(send).boxed()),
        ),
        Fault::failing(
            "cursor-that-works-once",
            "cursor-repeatable",
            ("error", "400"),
            Act::Search(|call| work_once(call).boxed()),
        )
        .with_rows(Rows::Some),
        Fault::unseen(
            "cursor-shifts-when-repeated",
            "cursor-repeatable",
            Act::Search(|call| shift_when_repeated(call).map(send).boxed()),
        ),
    ]
}

/// The cursor is the number of items before it, as JSON has numbers; the pages are right.
async fn count_in_the_cursor(Call { asked, reference, .. }: Call) -> Paged {
    let before: usize = asked.cursor.as_deref().and_then(|cursor| cursor.parse().ok()).unwrap_or(0);
    let after = match before {
        0 => None,
        before => {
            let all_before = reference.page(&asked.after(None).of_length(before)).await?;
            all_before["cursor"].as_str().map(str::to_owned)
        }
    };
    let mut page = reference.page(&asked.after(after)).await?;
    if page["cursor"].is_string() {
        page["cursor"] = json!(before + page["data"].as_array().unwrap().len());
    }
    Ok(page)
}

const PADDING: char = '~';

/// The cursor carries padding, which is taken off when it comes back.
async fn lengthen_the_cursor(Call { asked, reference, .. }: Call) -> Paged {
    let cursor = asked.cursor.as_deref().map(|cursor| cursor.trim_end_matches(PADDING).to_owned());
    let mut page = reference.page(&asked.after(cursor)).await?;
    if let Some(cursor) = page["cursor"].as_str() {
        page["cursor"] = format!("{cursor:~<5000}").into();
    }
    Ok(page)
}

/// The second page names itself as the next one, be it the last or not.
async fn stand_still(Call { asked, reference, .. }: Call) -> Paged {
    let mut page = reference.page(&asked).await?;
    if let Some(cursor) = asked.cursor {
        page["cursor"] = cursor.into();
    }
    Ok(page)
}

/// The third page names the second as the next one, be it the last or not.
async fn lead_in_a_circle(Call { asked, reference, .. }: Call) -> Paged {
    let mut page = reference.page(&asked).await?;
    if asked.cursor.is_some() {
        let second = reference.page(&asked.after(None)).await?["cursor"].take();
        if second.as_str() != asked.cursor.as_deref() {
            page["cursor"] = second;
        }
    }
    Ok(page)
}

/// Behind the last page there are empty ones, each with a new cursor.
async fn go_on_without_end(Call { asked, reference, .. }: Call) -> Paged {
    let beyond = asked.cursor.as_deref().and_then(|cursor| cursor.strip_prefix("beyond/"));
    let Some(beyond) = beyond.and_then(|beyond| beyond.parse::<usize>().ok()) else {
        let mut page = reference.page(&asked).await?;
        if page["cursor"].is_null() {
            page["cursor"] = json!("beyond/1");
        }
        return Ok(page);
    };
    let mut page = reference.page(&asked.after(None)).await?;
    (page["data"], page["count"], page["cursor"]) =
        (json!([]), json!(0), json!(format!("beyond/{}", beyond + 1)));
    Ok(page)
}

/// A cursor used a second time is refused, as by a server that keeps a session.
async fn work_once(Call { asked, reference, memory, .. }: Call) -> Response {
    let response = reference.ask(&asked).await;
    let is_new = asked.cursor.is_none_or(|cursor| memory.used.lock().unwrap().insert(cursor));
    if is_new || response.status() != StatusCode::OK {
        response
    } else {
        StatusCode::BAD_REQUEST.into_response()
    }
}

/// A cursor used a second time leads one item further.
async fn shift_when_repeated(Call { asked, reference, memory, .. }: Call) -> Paged {
    let page = reference.page(&asked).await?;
    let Some(cursor) = asked.cursor.clone() else { return Ok(page) };
    if memory.used.lock().unwrap().insert(cursor) {
        return Ok(page);
    }
    let first = reference.page(&asked.of_length(1)).await?["cursor"].take();
    match first.as_str() {
        Some(after_the_first) => reference.page(&asked.after(Some(after_the_first.to_owned()))).await,
        None => Ok(page),
    }
}

fn rows() -> Vec<Fault> {
    vec![
        Fault::used(
            "row-twice-in-a-page",
            "item-id-unique",
            "repeat an id",
            Act::Search(|call| repeat_within_a_page(call).map(send).boxed()),
        ),
        Fault::used(
            "row-twice-in-the-chain",
            "cursor-unique",
            "repeat an id",
            Act::Search(|call| repeat_a_row(call).map(send).boxed()),
        ),
        Fault::unseen(
            "row-lost-between-pages",
            "cursor-complete",
            Act::Search(|call| lose_a_row(call).map(send).boxed()),
        )
        .with_rows(Rows::Some),
        Fault::unseen(
            "cursor-lost-on-large-pages",
            "cursor-complete",
            Act::Page(|asked, page| {
                if asked.length() > MOST {
                    cut(page, MOST);
                }
            }),
        ),
        Fault::unseen(
            "ends-before-its-total",
            "total",
            Act::Search(|call| end_early(call).map(send).boxed()),
        )
        .with_rows(Rows::Some),
        Fault::unseen(
            "total-of-what-is-left",
            "total",
            Act::Search(|call| count_what_is_left(call).map(send).boxed()),
        ),
        Fault::used(
            "page-upside-down",
            "order",
            "order",
            Act::Page(|_, page| page["data"].as_array_mut().unwrap().reverse()),
        ),
        Fault::used(
            "pages-in-the-wrong-order",
            "order",
            "order",
            Act::Search(|call| exchange_the_first_pages(call).map(send).boxed()),
        ),
    ]
}

/// Rows after which a source goes no further.
const MOST: usize = 50;

/// The page becomes the last one, of `length` rows.
fn cut(page: &mut Value, length: usize) {
    let data = page["data"].as_array_mut().unwrap();
    data.truncate(length);
    (page["count"], page["cursor"]) = (json!(data.len()), json!(null));
}

/// How many rows there are from this page on.
async fn left(asked: &Asked, reference: &Reference) -> Result<usize, Response> {
    let all = reference.page(&asked.of_length(100)).await?;
    Ok(all["data"].as_array().unwrap().len())
}

/// After 50 rows there are no more, though `total` counts them.
async fn end_early(Call { asked, reference, .. }: Call) -> Paged {
    let mut page = reference.page(&asked).await?;
    let before = left(&asked.after(None), &reference).await? - left(&asked, &reference).await?;
    if before + asked.length() >= MOST {
        cut(&mut page, MOST - before);
    }
    Ok(page)
}

/// `total` does not count what was on the pages before.
async fn count_what_is_left(Call { asked, reference, .. }: Call) -> Paged {
    let mut page = reference.page(&asked).await?;
    page["total"] = json!(left(&asked, &reference).await?);
    Ok(page)
}

/// The last row of a page is there twice; the row that is pushed out begins the next page.
async fn repeat_within_a_page(Call { asked, reference, .. }: Call) -> Paged {
    let length = asked.length();
    if length < 2 {
        return reference.page(&asked).await;
    }
    let mut page = reference.page(&asked.of_length(length - 1)).await?;
    let data = page["data"].as_array_mut().unwrap();
    if let Some(last) = data.last().cloned() {
        data.push(last);
        let count = data.len();
        // Where everything is on one page, the row counts among all matches too.
        let total = page["total"].as_u64().unwrap().max(count as u64);
        (page["count"], page["total"]) = (json!(count), json!(total));
    }
    Ok(page)
}

/// The second page begins with the last row of the first one; nothing is lost for that.
async fn repeat_a_row(Call { asked, reference, .. }: Call) -> Paged {
    let length = asked.length();
    let first = reference.page(&asked.after(None)).await?;
    if length < 2 || asked.cursor.is_none() || first["cursor"].as_str() != asked.cursor.as_deref() {
        return reference.page(&asked).await;
    }
    let all_but_one = reference.page(&asked.after(None).of_length(length - 1)).await?["cursor"].take();
    reference.page(&asked.after(all_but_one.as_str().map(str::to_owned))).await
}

/// The first row of the second page is left out; its length, count and total are right.
async fn lose_a_row(Call { asked, reference, .. }: Call) -> Paged {
    let first = reference.page(&asked.after(None)).await?;
    if asked.cursor.is_none() || first["cursor"].as_str() != asked.cursor.as_deref() {
        return reference.page(&asked).await;
    }
    let lost = reference.page(&asked.of_length(1)).await?["cursor"].take();
    match lost.as_str() {
        Some(after_the_lost) => reference.page(&asked.after(Some(after_the_lost.to_owned()))).await,
        None => reference.page(&asked).await,
    }
}

/// The second page comes first, then the first one, then the others; each is in order.
async fn exchange_the_first_pages(Call { asked, reference, .. }: Call) -> Paged {
    const FIRST: &str = "first";
    let (is_start, is_second) = (asked.cursor.is_none(), asked.cursor.as_deref() == Some(FIRST));
    if !is_start && !is_second {
        return reference.page(&asked).await;
    }
    let mut first = reference.page(&asked.after(None)).await?;
    let Some(cursor) = first["cursor"].as_str().map(str::to_owned) else { return Ok(first) };
    let mut second = reference.page(&asked.after(Some(cursor))).await?;
    if is_start {
        second["cursor"] = json!(FIRST);
        return Ok(second);
    }
    first["cursor"] = second["cursor"].take();
    Ok(first)
}
