//! `POST /modules` and `/contents/search` (decisions 5).

use std::{fmt::Display, str::FromStr, sync::Arc, time::Duration};

use axum::{
    extract::{Request, State},
    http::{HeaderValue, StatusCode, header::RETRY_AFTER},
    response::{IntoResponse, Response},
};
use serde::{Deserialize, Serialize};

use super::{
    envelope::{BodyRefusals, Envelope, FailureEnvelope, Refusals, json, json_text},
    extract::{Identified, check_content_type, has_body, read_body},
};
use crate::{
    app::App,
    auth::caller::Caller,
    error::{Error, Result},
    json,
    search::{
        Answer, Failure, SourceReport,
        registry::Module,
        request::{Filters, Order, SearchRequest, Start, Viewer},
    },
    store::now_millis,
};

/// Items of a page when the caller names no number.
const DEFAULT_LIMIT: usize = 10;

/// What a search takes, as query parameters or as fields of a JSON body; a query parameter wins.
#[derive(Clone, Debug, Default, Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase", default)]
#[into_params(parameter_in = Query)]
pub struct SearchParameters {
    /// What to look for: words are joined by AND, `"a phrase"`, `-word` excludes, `author:NAME`; the last word also matches
    /// as a prefix. Required.
    #[param(required = true)]
    keyword: Option<String>,
    /// The module's id or code. Required.
    #[param(required = true)]
    module_id: Option<String>,
    /// Items of a page.
    #[param(value_type = Option<u16>, minimum = 1, maximum = 1000, default = 10)]
    limit: Option<String>,
    /// Digits: only items with a `displayTime` below this (epoch milliseconds). Else the `cursor` of an answer.
    cursor: Option<String>,
    /// `cursor`: pages hold exactly `limit` from the first on.
    #[param(inline, value_type = Option<String>, example = "cursor")]
    paging: Option<String>,
    /// `time` (the default) or `relevance`.
    #[param(value_type = Option<String>, example = "time")]
    sort: Option<String>,
    /// The earliest `displayTime`, inclusive, epoch milliseconds.
    #[param(value_type = Option<i64>)]
    from: Option<String>,
    /// The latest `displayTime`, exclusive, epoch milliseconds.
    #[param(value_type = Option<i64>)]
    to: Option<String>,
    /// Only this author's items.
    author: Option<String>,
    /// Only this source's items, by its id or name.
    source: Option<String>,
    /// The deadline in milliseconds.
    #[param(value_type = Option<u64>, minimum = 50, maximum = 10000, default = 2000)]
    timeout: Option<String>,
}

/// The answer of a search: the envelope, with an account of each source (decisions 5.4, 5.5).
#[derive(utoipa::ToSchema)]
#[expect(dead_code, reason = "only described; `page` writes it")]
struct SearchEnvelope {
    /// 200.
    code: u16,
    /// null.
    message: Option<String>,
    /// The items, as each source gave them.
    data: Vec<ContentItemSchema>,
    #[schema(inline)]
    #[serde(flatten)]
    account: PageAccount,
}

/// What the envelope of a search says besides its items.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct PageAccount {
    /// Every match: exact for built-in sources, plus what external sources state.
    total: u64,
    /// Items in `data`.
    count: usize,
    /// What to send back for the next page; null at the end.
    cursor: Option<String>,
    /// Whether something is missing that was asked for.
    partial: bool,
    /// One report for each source.
    sources: Vec<SourceReport>,
}

/// The answer when no source answered: 502, or 504 when all timed out.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct NoSourceEnvelope {
    #[serde(flatten)]
    failure: FailureEnvelope,
    /// One report for each source.
    sources: Vec<SourceReport>,
}

/// A search content item.
#[derive(utoipa::ToSchema)]
#[schema(as = ContentItem)]
#[expect(dead_code, reason = "only described")]
struct ContentItemSchema {
    /// Content id.
    id: String,
    /// Title.
    title: String,
    /// Subtitle.
    #[schema(rename = "subTitle")]
    sub_title: Option<String>,
    /// Summary.
    brief: Option<String>,
    /// Icon.
    image: Option<String>,
    /// Author.
    author: Option<String>,
    /// Epoch milliseconds.
    #[schema(rename = "displayTime")]
    display_time: i64,
    /// Click-handling action, a JSON object in a string, keyed by client kind.
    action: Option<String>,
    /// Additional information.
    #[schema(rename = "attachInfo")]
    attach_info: Option<String>,
    /// Description of the additional information.
    #[schema(rename = "attachDescription")]
    attach_description: Option<String>,
}

/// The modules that the caller may search, by `orderNo`.
#[utoipa::path(post, path = "/modules", tag = "search", responses(
    (status = 200, description = "The modules", body = Envelope<Vec<Module>>),
    Refusals,
))]
pub async fn list_modules(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
) -> Result<Envelope<Vec<Module>>> {
    let modules = app.coordinator.modules(caller.tenant.id).await?;
    Ok(Envelope::list(modules.iter().map(|module| Module::clone(module)).collect()))
}

/// Searches one module: all of its sources at once, as one list.
#[utoipa::path(
    post, path = "/contents/search", tag = "search", params(SearchParameters),
    request_body(content = Option<Object>, description = "The same names as the query parameters"),
    responses(
        (status = 200, description = "One page", body = SearchEnvelope),
        Refusals, BodyRefusals,
        (status = 404, description = "There is no such module", body = FailureEnvelope),
        (status = 502, description = "No source answered", body = NoSourceEnvelope),
        (status = 504, description = "Every source timed out", body = NoSourceEnvelope),
    )
)]
pub async fn post_search(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    request: Request,
) -> Response {
    match read_parameters(request).await {
        Ok(parameters) => search(&app, &caller, parameters).await,
        Err(error) => error.into_response(),
    }
}

/// Searches one module, by GET.
#[utoipa::path(
    get, path = "/contents/search", tag = "search", params(SearchParameters),
    responses(
        (status = 200, description = "One page", body = SearchEnvelope),
        Refusals,
        (status = 404, description = "There is no such module", body = FailureEnvelope),
        (status = 502, description = "No source answered", body = NoSourceEnvelope),
        (status = 504, description = "Every source timed out", body = NoSourceEnvelope),
    )
)]
pub async fn get_search(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    request: Request,
) -> Response {
    match query_parameters(&request) {
        Ok(parameters) => search(&app, &caller, parameters).await,
        Err(error) => error.into_response(),
    }
}

async fn search(app: &App, caller: &Caller, parameters: SearchParameters) -> Response {
    let request = match parameters.check(app) {
        Ok(request) => request,
        Err(error) => return error.into_response(),
    };
    let viewer = Viewer {
        tenant_id: caller.tenant.id,
        user_id: caller.user.as_ref().map(|user| user.person.user_id.clone()),
        principals: caller.principals(),
    };
    match app.coordinator.search(viewer, request).await {
        Ok(answer) => page(answer),
        Err(Failure::Refused(error)) => error.into_response(),
        Err(Failure::NoSource { all_timed_out, retry_after, sources }) => {
            no_source(all_timed_out, retry_after, sources)
        }
    }
}

/// The envelope of a page. The items are JSON already and are copied as they are: no work per item beyond that.
fn page(answer: Answer) -> Response {
    const START: &str = r#"{"code":200,"message":null,"data":["#;
    let Answer { items, total, cursor, partial, sources } = answer;
    let account = PageAccount { total, count: items.len(), cursor, partial, sources };
    let account = match serde_json::to_string(&account) {
        Ok(account) => account,
        Err(error) => return Error::internal(error).into_response(),
    };
    let length: usize = items.iter().map(|item| item.json.len() + 1).sum();
    let mut body = String::with_capacity(START.len() + length + account.len() + 2);
    body.push_str(START);
    for (place, item) in items.iter().enumerate() {
        if place > 0 {
            body.push(',');
        }
        body.push_str(&item.json);
    }
    body.push_str("],");
    body.push_str(account.trim_start_matches('{'));
    json_text(StatusCode::OK, body)
}

fn no_source(all_timed_out: bool, retry_after: Option<Duration>, sources: Vec<SourceReport>) -> Response {
    let (status, message) = if all_timed_out {
        (StatusCode::GATEWAY_TIMEOUT, "no source of the module answered in time")
    } else {
        (StatusCode::BAD_GATEWAY, "no source of the module answered; `sources` says why")
    };
    let failure =
        FailureEnvelope { code: status.as_u16(), message: message.to_owned(), data: (), date: now_millis() };
    let mut response = json(status, &NoSourceEnvelope { failure, sources });
    if let Some(wait) = retry_after {
        // Rounded up: who comes back then must not come early.
        let seconds = wait.as_millis().div_ceil(1_000).max(1);
        response
            .headers_mut()
            .extend(HeaderValue::try_from(seconds.to_string()).ok().map(|seconds| (RETRY_AFTER, seconds)));
    }
    response
}

fn query_parameters(request: &Request) -> Result<SearchParameters> {
    json::read_form(request.uri().query().unwrap_or_default().as_bytes()).map_err(Error::bad_request)
}

async fn read_parameters(request: Request) -> Result<SearchParameters> {
    let query = query_parameters(&request)?;
    if !has_body(request.headers()) {
        return Ok(query);
    }
    check_content_type(request.headers(), "application/json")?;
    let body = read_body(request).await?;
    let body: SearchBody =
        json::read_object(&body).map_err(|reason| Error::bad_request(format!("body: {reason}")))?;
    Ok(query.or(body))
}

/// The same names in a JSON body; numbers may be sent as numbers or as text.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SearchBody {
    keyword: Option<String>,
    module_id: Option<String>,
    limit: Option<NumberOrText>,
    cursor: Option<NumberOrText>,
    paging: Option<String>,
    sort: Option<String>,
    from: Option<NumberOrText>,
    to: Option<NumberOrText>,
    author: Option<String>,
    source: Option<String>,
    timeout: Option<NumberOrText>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "a number or a text")]
enum NumberOrText {
    Number(serde_json::Number),
    Text(String),
}

impl From<NumberOrText> for String {
    fn from(value: NumberOrText) -> Self {
        match value {
            NumberOrText::Number(number) => number.to_string(),
            NumberOrText::Text(text) => text,
        }
    }
}

impl SearchParameters {
    fn or(self, body: SearchBody) -> Self {
        Self {
            keyword: self.keyword.or(body.keyword),
            module_id: self.module_id.or(body.module_id),
            limit: self.limit.or(body.limit.map(String::from)),
            cursor: self.cursor.or(body.cursor.map(String::from)),
            paging: self.paging.or(body.paging),
            sort: self.sort.or(body.sort),
            from: self.from.or(body.from.map(String::from)),
            to: self.to.or(body.to.map(String::from)),
            author: self.author.or(body.author),
            source: self.source.or(body.source),
            timeout: self.timeout.or(body.timeout.map(String::from)),
        }
    }

    /// # Errors
    /// 400 that names the parameter.
    fn check(self, app: &App) -> Result<SearchRequest> {
        let most = app.config.limits.keyword_chars;
        let keyword = self.keyword.filter(|keyword| !keyword.trim().is_empty());
        let keyword =
            keyword.ok_or_else(|| Error::bad_request("keyword: is required and must not be blank"))?;
        if keyword.chars().count() > most {
            return Err(Error::bad_request(format!("keyword: must be at most {most} characters")));
        }
        let module = self
            .module_id
            .filter(|module| !module.is_empty())
            .ok_or_else(|| Error::bad_request("moduleId: is required, a module's id or code"))?;
        let exact_pages = match self.paging.as_deref() {
            None | Some("") => false,
            Some("cursor") => true,
            Some(other) => {
                return Err(Error::bad_request(format!("paging: must be `cursor` or absent, not {other:?}")));
            }
        };
        let order = match self.sort.as_deref() {
            None | Some("" | "time") => Order::Time,
            Some("relevance") => Order::Relevance,
            Some(other) => {
                return Err(Error::bad_request(format!(
                    "sort: must be `time` or `relevance`, not {other:?}"
                )));
            }
        };
        let filters = Filters {
            from: parse("from", self.from, &i64::MIN, &i64::MAX)?,
            to: parse("to", self.to, &i64::MIN, &i64::MAX)?,
            author: self.author.filter(|author| !author.trim().is_empty()),
            source: self.source.filter(|source| !source.is_empty()),
        };
        Ok(SearchRequest {
            keyword,
            module,
            limit: parse("limit", self.limit, &1, &1_000)?.unwrap_or(DEFAULT_LIMIT),
            start: start(self.cursor, order)?,
            exact_pages,
            order,
            filters,
            timeout: parse("timeout", self.timeout, &50, &10_000)?
                .map_or(app.config.search_timeout(), Duration::from_millis),
        })
    }
}

/// Digits are the documented time condition, anything else is an opaque cursor (decisions 5.3, 5.4).
fn start(cursor: Option<String>, order: Order) -> Result<Start> {
    let Some(cursor) = cursor.filter(|cursor| !cursor.is_empty()) else { return Ok(Start::Beginning) };
    if !cursor.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(Start::Cursor(cursor));
    }
    if order == Order::Relevance {
        return Err(Error::bad_request(
            "cursor: a time does not page by relevance; send the cursor of the last answer",
        ));
    }
    cursor
        .parse()
        .map(Start::Before)
        .map_err(|_| Error::bad_request("cursor: as digits it must be epoch milliseconds"))
}

fn parse<T: FromStr + PartialOrd + Display>(
    name: &str,
    text: Option<String>,
    least: &T,
    most: &T,
) -> Result<Option<T>> {
    let Some(text) = text else { return Ok(None) };
    match text.trim().parse() {
        Ok(value) if value >= *least && value <= *most => Ok(Some(value)),
        _ => Err(Error::bad_request(format!("{name}: must be an integer, {least} to {most}, not {text:?}"))),
    }
}
