//! What a search takes, as query parameters or as fields of a JSON body; a query parameter wins (decisions 5.1).

use std::{fmt::Display, str::FromStr, time::Duration};

use axum::{body::Bytes, extract::Request, http::Uri};
use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use trawl_connectors::TraceContext;

use crate::{
    api::extract::{check_content_type, has_body, read_body},
    app::App,
    error::{Error, Result},
    json,
    search::request::{Filters, Order, SearchRequest, Start},
};

/// Items of a page when the caller names no number.
const DEFAULT_LIMIT: usize = 10;

/// What to look for.
#[derive(Clone, Debug, Default, Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase", default)]
#[into_params(parameter_in = Query)]
pub(super) struct TermParameters {
    /// What to look for: words are joined by AND, `"a phrase"`, `-word` excludes, `author:NAME`; the last word also matches
    /// as a prefix. Required.
    #[param(required = true)]
    keyword: Option<String>,
    /// Items of a page.
    #[serde(deserialize_with = "number_or_text")]
    #[param(value_type = Option<u16>, minimum = 1, maximum = 1000, default = 10)]
    limit: Option<String>,
    /// `time` (the default) or `relevance`.
    #[param(value_type = Option<String>, example = "time")]
    sort: Option<String>,
    /// The earliest `displayTime`, inclusive, epoch milliseconds.
    #[serde(deserialize_with = "number_or_text")]
    #[param(value_type = Option<i64>)]
    from: Option<String>,
    /// The latest `displayTime`, exclusive, epoch milliseconds.
    #[serde(deserialize_with = "number_or_text")]
    #[param(value_type = Option<i64>)]
    to: Option<String>,
    /// Only this author's items.
    author: Option<String>,
    /// `true`: each item has its texts as HTML too, with `<em>` around what matches (`highlight`).
    #[serde(deserialize_with = "boolean_or_text")]
    #[param(value_type = Option<bool>, default = false)]
    highlight: Option<String>,
    /// The deadline in milliseconds.
    #[serde(deserialize_with = "number_or_text")]
    #[param(value_type = Option<u64>, minimum = 50, maximum = 10000, default = 2000)]
    timeout: Option<String>,
}

/// Where to look.
#[derive(Clone, Debug, Default, Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase", default)]
#[into_params(parameter_in = Query)]
pub(super) struct PlaceParameters {
    /// The module's id or code. Required.
    #[param(required = true)]
    module_id: Option<String>,
    /// Digits: only items with a `displayTime` below this (epoch milliseconds). Else the `cursor` of an answer.
    #[serde(deserialize_with = "number_or_text")]
    cursor: Option<String>,
    /// `cursor`: pages hold exactly `limit` from the first on.
    #[param(inline, value_type = Option<String>, example = "cursor")]
    paging: Option<String>,
    /// Only this source's items, by its id or name.
    source: Option<String>,
}

/// The parameters of one call as they came. Each operation reads those that it knows.
pub(super) struct Given {
    uri: Uri,
    body: Option<Bytes>,
    trace: Option<TraceContext>,
}

impl Given {
    /// Those in the query.
    pub(super) fn in_query(request: &Request) -> Self {
        Self { uri: request.uri().clone(), body: None, trace: TraceContext::read(request.headers()) }
    }

    /// Those in the query and in the JSON body, if there is one.
    ///
    /// # Errors
    /// 413 and 415 for the body.
    pub(super) async fn read(request: Request) -> Result<Self> {
        let mut given = Self::in_query(&request);
        if has_body(&request) {
            check_content_type(request.headers(), "application/json")?;
            given.body = Some(read_body(request).await?);
        }
        Ok(given)
    }

    /// The search of all modules, from their beginnings, as part of its caller's trace.
    ///
    /// # Errors
    /// 400 that names the parameter.
    pub(super) fn request(&self, app: &App) -> Result<SearchRequest> {
        Ok(SearchRequest { trace: self.trace.clone(), ..self.terms()?.check(app)? })
    }

    fn terms(&self) -> Result<TermParameters> {
        let (query, body) = self.parameters::<TermParameters>()?;
        Ok(TermParameters {
            keyword: query.keyword.or(body.keyword),
            limit: query.limit.or(body.limit),
            sort: query.sort.or(body.sort),
            from: query.from.or(body.from),
            to: query.to.or(body.to),
            author: query.author.or(body.author),
            highlight: query.highlight.or(body.highlight),
            timeout: query.timeout.or(body.timeout),
        })
    }

    /// # Errors
    /// 400 that names the parameter.
    pub(super) fn place(&self) -> Result<PlaceParameters> {
        let (query, body) = self.parameters::<PlaceParameters>()?;
        Ok(PlaceParameters {
            module_id: query.module_id.or(body.module_id),
            cursor: query.cursor.or(body.cursor),
            paging: query.paging.or(body.paging),
            source: query.source.or(body.source),
        })
    }

    /// The query's parameters and the body's.
    fn parameters<T: DeserializeOwned + Default>(&self) -> Result<(T, T)> {
        let query = self.uri.query().unwrap_or_default();
        let query = json::read_form(query.as_bytes()).map_err(Error::bad_request)?;
        let body = match &self.body {
            Some(body) => {
                json::read_object(body).map_err(|reason| Error::bad_request(format!("body: {reason}")))?
            }
            None => T::default(),
        };
        Ok((query, body))
    }
}

/// A JSON body may hold a number as a number or as text.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "must be one number or one text")]
enum NumberOrText {
    Number(serde_json::Number),
    Text(String),
}

fn number_or_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let value = Option::<NumberOrText>::deserialize(deserializer)?;
    Ok(value.map(|value| match value {
        NumberOrText::Number(number) => number.to_string(),
        NumberOrText::Text(text) => text,
    }))
}

/// A JSON body may hold a boolean as one or as text.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "must be `true` or `false`")]
enum BooleanOrText {
    Boolean(bool),
    Text(String),
}

fn boolean_or_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let value = Option::<BooleanOrText>::deserialize(deserializer)?;
    Ok(value.map(|value| match value {
        BooleanOrText::Boolean(boolean) => boolean.to_string(),
        BooleanOrText::Text(text) => text,
    }))
}

impl TermParameters {
    /// The search of all modules, from their beginnings.
    ///
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
        let order = match self.sort.as_deref() {
            None | Some("" | "time") => Order::Time,
            Some("relevance") => Order::Relevance,
            Some(other) => {
                return Err(Error::bad_request(format!(
                    "sort: must be `time` or `relevance`, not {other:?}"
                )));
            }
        };
        let highlight = match self.highlight.as_deref() {
            None | Some("" | "false") => false,
            Some("true") => true,
            Some(other) => {
                return Err(Error::bad_request(format!(
                    "highlight: must be `true` or `false`, not {other:?}"
                )));
            }
        };
        let filters = Filters {
            from: parse("from", self.from, &i64::MIN, &i64::MAX)?,
            to: parse("to", self.to, &i64::MIN, &i64::MAX)?,
            author: self.author.filter(|author| !author.trim().is_empty()),
            source: None,
        };
        Ok(SearchRequest {
            keyword,
            module: String::new(),
            limit: parse("limit", self.limit, &1, &1_000)?.unwrap_or(DEFAULT_LIMIT),
            start: Start::Beginning,
            exact_pages: false,
            order,
            filters,
            highlight,
            timeout: parse("timeout", self.timeout, &50, &10_000)?
                .map_or(app.config.search_timeout(), Duration::from_millis),
            trace: None,
        })
    }
}

impl PlaceParameters {
    /// The same search, of one module and from one place on.
    ///
    /// # Errors
    /// 400 that names the parameter.
    pub(super) fn check(self, request: SearchRequest) -> Result<SearchRequest> {
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
        let start = start(self.cursor, request.order)?;
        let filters = Filters { source: self.source.filter(|source| !source.is_empty()), ..request.filters };
        Ok(SearchRequest { module, start, exact_pages, filters, ..request })
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
