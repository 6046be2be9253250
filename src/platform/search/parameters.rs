//! Parameters in the query or a JSON body; the query wins.
//!
//! An invalid one fails with 400 and is named.

mod forms;

use std::{borrow::Cow, fmt::Display, str::FromStr, sync::LazyLock, time::Duration};

use axum::{body::Bytes, extract::Request, http::Uri};
use jiff::{
    fmt::temporal::DateTimeParser,
    tz::{TimeZone, TimeZoneDatabase},
};
use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use trawl_connectors::TraceContext;
use trawl_search::{
    FacetSelection, Filters, PageRequest, PageStart, SearchOrder, SearchParameters, SuggestionRequest,
};

use crate::{
    auth::caller::Caller,
    error::{Error, Result},
    http::extract::{check_content_type, has_body, read_body},
    identity::scopes::TokenScope,
    json,
    platform::search::{SearchState, after::wait_for_change},
};

pub(super) use self::forms::{
    PersonParameter, PlaceParameters, SuggestionParameters, TermParameters, TopParameter,
};

const DEFAULT_LIMIT: usize = 10;
const DEFAULT_SUGGESTIONS: usize = 8;
const MAX_EXPLAINED: usize = 50;
const MAX_OFFSET_SECONDS: i32 = 18 * 3_600;

pub(super) struct RawParameters {
    uri: Uri,
    body: Option<Bytes>,
    trace: Option<TraceContext>,
}

impl RawParameters {
    pub(super) fn in_query(request: &Request) -> Self {
        Self { uri: request.uri().clone(), body: None, trace: TraceContext::read(request.headers()) }
    }

    /// 413 and 415 for the body.
    pub(super) async fn read(request: Request) -> Result<Self> {
        let mut given = Self::in_query(&request);
        if has_body(&request) {
            check_content_type(request.headers(), "application/json")?;
            given.body = Some(read_body(request).await?);
        }
        Ok(given)
    }

    /// Checks the parameters; 403 for an explanation without the scope `admin`.
    ///
    /// Waits until the index holds the change of `after`.
    pub(super) async fn parameters(&self, state: &SearchState, caller: &Caller) -> Result<SearchParameters> {
        let mut terms = self.terms()?;
        let after = parse("after", terms.after.take(), &0, &i64::MAX)?;
        let mut parameters = terms.check(state, self.trace.clone())?;
        if parameters.explain {
            caller.require(TokenScope::Admin)?;
        }
        if let Some(change) = after {
            wait_for_change(state, change, &mut parameters).await;
        }
        Ok(parameters)
    }

    fn terms(&self) -> Result<TermParameters> {
        let (query, body) = self.read_both::<TermParameters>()?;
        Ok(TermParameters {
            keyword: query.keyword.or(body.keyword),
            limit: query.limit.or(body.limit),
            sort: query.sort.or(body.sort),
            from: query.from.or(body.from),
            to: query.to.or(body.to),
            author: query.author.or(body.author),
            highlight: query.highlight.or(body.highlight),
            exact: query.exact.or(body.exact),
            explain: query.explain.or(body.explain),
            typing: query.typing.or(body.typing),
            facets: query.facets.or(body.facets),
            time_zone: query.time_zone.or(body.time_zone),
            after: query.after.or(body.after),
            timeout: query.timeout.or(body.timeout),
        })
    }

    pub(super) fn place(&self) -> Result<PlaceParameters> {
        let (query, body) = self.read_both::<PlaceParameters>()?;
        Ok(PlaceParameters {
            module_id: query.module_id.or(body.module_id),
            cursor: query.cursor.or(body.cursor),
            paging: query.paging.or(body.paging),
            source: query.source.or(body.source),
            pinned: query.pinned.or(body.pinned),
        })
    }

    pub(super) fn top(&self, order: SearchOrder) -> Result<Option<usize>> {
        let (query, body) = self.read_both::<TopParameter>()?;
        let top = parse("top", query.top.or(body.top), &1, &20)?;
        match order {
            SearchOrder::Time if top.is_some() => Err(Error::bad_request("top: takes `sort=relevance`")),
            _ => Ok(top),
        }
    }

    pub(super) fn person(&self) -> Result<PersonParameter> {
        let (query, body) = self.read_both::<PersonParameter>()?;
        let user_id = query.user_id.or(body.user_id).filter(|user_id| !user_id.is_empty());
        Ok(PersonParameter { user_id })
    }

    pub(super) fn suggestions(&self, state: &SearchState) -> Result<SuggestionRequest> {
        let (query, _) = self.read_both::<SuggestionParameters>()?;
        query.check(state)
    }

    fn read_both<T: DeserializeOwned + Default>(&self) -> Result<(T, T)> {
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

/// Reads an empty parameter as blank, not as missing.
fn text_or_blank<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    String::deserialize(deserializer).map(Some)
}

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
    fn check(self, state: &SearchState, trace: Option<TraceContext>) -> Result<SearchParameters> {
        let keyword = self.keyword.filter(|keyword| !keyword.trim().is_empty());
        let keyword =
            keyword.ok_or_else(|| Error::bad_request("keyword: is required and must not be blank"))?;
        check_length("keyword", &keyword, state)?;
        let order = match self.sort.as_deref() {
            None | Some("" | "time") => SearchOrder::Time,
            Some("relevance") => SearchOrder::Relevance,
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
        };
        let explain = flag("explain", self.explain.as_deref())?;
        let limit = parse("limit", self.limit, &1, &1_000)?.unwrap_or(DEFAULT_LIMIT);
        if explain && limit > MAX_EXPLAINED {
            return Err(Error::bad_request(format!("limit: must be at most {MAX_EXPLAINED} with `explain`")));
        }
        Ok(SearchParameters {
            keyword,
            order,
            filters,
            limit,
            explain,
            highlight: flag("highlight", self.highlight.as_deref())?,
            exact: flag("exact", self.exact.as_deref())?,
            facets: facets(
                self.facets.as_deref().unwrap_or_default(),
                &time_zone(self.time_zone.as_deref())?,
            )?,
            timeout: parse("timeout", self.timeout, &50, &10_000)?
                .map_or(state.timeout, Duration::from_millis),
            typing: flag("typing", self.typing.as_deref())?,
            missing_change: None,
            trace,
        })
    }
}

/// Reads a time zone, of the program's own database: the same one at every replica.
fn time_zone(name: Option<&str>) -> Result<TimeZone> {
    static ZONES: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);
    let Some(name) = name.filter(|name| !name.is_empty()) else { return Ok(TimeZone::UTC) };
    // `+` in a query is a space.
    let text = name.strip_prefix(' ').map_or(Cow::Borrowed(name), |offset| format!("+{offset}").into());
    let zone = DateTimeParser::new().parse_time_zone_with(&ZONES, text.as_bytes()).ok();
    // Others are rules in POSIX's words, and offsets that no clock has.
    let zone = zone.filter(|zone| match zone.to_fixed_offset() {
        Ok(offset) => offset.seconds().abs() <= MAX_OFFSET_SECONDS,
        Err(_) => zone.iana_name().is_some(),
    });
    zone.ok_or_else(|| {
        let expected = "must be an IANA name such as `Asia/Shanghai`, or an offset such as `+08:00`";
        Error::bad_request(format!("timeZone: {expected}, not {name:?}"))
    })
}

fn facets(names: &str, zone: &TimeZone) -> Result<FacetSelection> {
    let mut facets = FacetSelection::default();
    for name in names.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        match name {
            "module" => facets.module = true,
            "source" => facets.source = true,
            "author" => facets.author = true,
            "time" => facets.time = Some(zone.clone()),
            other => {
                return Err(Error::bad_request(format!(
                    "facets: must be of `module`, `source`, `author` and `time`, not {other:?}"
                )));
            }
        }
    }
    Ok(facets)
}

impl SuggestionParameters {
    fn check(self, state: &SearchState) -> Result<SuggestionRequest> {
        let prefix = self.prefix.ok_or_else(|| Error::bad_request("prefix: is required"))?;
        check_length("prefix", &prefix, state)?;
        Ok(SuggestionRequest {
            prefix,
            module: self.module_id.filter(|module| !module.is_empty()),
            limit: parse("limit", self.limit, &1, &20)?.unwrap_or(DEFAULT_SUGGESTIONS),
            timeout: state.timeout,
        })
    }
}

impl PlaceParameters {
    pub(super) fn check(self, order: SearchOrder) -> Result<(String, PageRequest)> {
        let module = self
            .module_id
            .filter(|module| !module.is_empty())
            .ok_or_else(|| Error::bad_request("moduleId: is required, a module's id or code"))?;
        let is_exact = match self.paging.as_deref() {
            None | Some("") => false,
            Some("cursor") => true,
            Some(other) => {
                return Err(Error::bad_request(format!("paging: must be `cursor` or absent, not {other:?}")));
            }
        };
        // With `paging=cursor` a module is a source of another server: pages hold `limit` items in their order.
        let hides_pinned = match self.pinned.as_deref() {
            None | Some("") => is_exact,
            given => !flag("pinned", given)?,
        };
        let start = start(self.cursor, order)?;
        let source = self.source.filter(|source| !source.is_empty());
        Ok((module, PageRequest { source, start, is_exact, hides_pinned }))
    }
}

/// Reads where a page starts (book: explanation/cursors.md).
///
/// Digits are a time, before 1970 with a minus; other texts are opaque cursors.
fn start(cursor: Option<String>, order: SearchOrder) -> Result<PageStart> {
    let Some(cursor) = cursor.filter(|cursor| !cursor.is_empty()) else { return Ok(PageStart::Beginning) };
    if !cursor.strip_prefix('-').unwrap_or(&cursor).bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(PageStart::Cursor(cursor));
    }
    if order == SearchOrder::Relevance {
        return Err(Error::bad_request(
            "cursor: relevance order needs the cursor of the last answer, not a time",
        ));
    }
    cursor
        .parse()
        .map(PageStart::Before)
        .map_err(|_| Error::bad_request("cursor: digits must be epoch milliseconds"))
}

fn check_length(name: &str, text: &str, state: &SearchState) -> Result<()> {
    let most = state.limits.keyword_chars;
    if text.chars().count() > most {
        return Err(Error::bad_request(format!("{name}: must be at most {most} characters")));
    }
    Ok(())
}

fn flag(name: &str, text: Option<&str>) -> Result<bool> {
    match text {
        None | Some("" | "false") => Ok(false),
        Some("true") => Ok(true),
        Some(other) => Err(Error::bad_request(format!("{name}: must be `true` or `false`, not {other:?}"))),
    }
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
