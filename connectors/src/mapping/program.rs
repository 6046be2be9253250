//! Compiled filters of one mapping. They run without limits: only in an interpreter process.

mod filter;
pub(super) mod next_page;
#[cfg(test)]
mod tests;
mod value;

use std::collections::HashMap;

use jaq_core::{Ctx, Vars};
use jaq_json::{Val, read};
use serde_json::{Map, Value, json};

use self::filter::{Values, compile_filter};
use self::value::{
    Site, as_count, as_text, count, is_nothing, kind, read_action, read_time, shorten, to_json,
};
use super::message::{AnswerHead, BuiltRequest, FieldFault, MappingError, ReadAnswer, Variables};
use super::{MAX_ROWS, Mapping, Paging, names_person};
use crate::error::{names_passing_failure, names_rate_limit};
use crate::identity::KnownPerson;
use crate::nesting::read_json;

const MAX_ENVELOPE_BYTES: usize = 4 << 20;
/// Separates a page's number from that of earlier rows, in cursors.
///
/// Systems may send less than `$limit`.
const SEEN: char = '-';

/// What jq says of `.rows[]` where a page has none.
const NULL_ROWS: &str = "cannot use null as iterable";

/// Fields of an item, in the order of their messages.
const ITEM_FIELDS: [(&str, &str); 10] = [
    ("answer.id", "id"),
    ("answer.displayTime", "displayTime"),
    ("answer.title", "title"),
    ("answer.subTitle", "subTitle"),
    ("answer.brief", "brief"),
    ("answer.image", "image"),
    ("answer.author", "author"),
    ("answer.action", "action"),
    ("answer.attachInfo", "attachInfo"),
    ("answer.attachDescription", "attachDescription"),
];

pub(super) struct CompiledMapping {
    paging: Paging,
    first_page: u64,
    request_names_person: bool,
    filters: HashMap<&'static str, jaq_core::Filter<Values>>,
}

impl CompiledMapping {
    /// # Errors
    /// The first filter that does not compile.
    pub(super) fn compile(mapping: &Mapping) -> Result<Self, MappingError> {
        mapping.check_form()?;
        let filters = mapping
            .filters()
            .map(|(field, text)| match compile_filter(text) {
                Ok(filter) => Ok((field, filter)),
                Err(message) => Err(MappingError::new(field, message)),
            })
            .collect::<Result<_, _>>()?;
        let first_page = mapping.first_page.unwrap_or(1).into();
        let mut requests = mapping.filters().filter(|(field, _)| field.starts_with("request."));
        let request_names_person = requests.any(|(_, text)| names_person(text));
        Ok(Self { paging: mapping.paging, first_page, request_names_person, filters })
    }

    /// # Errors
    /// A filter that fails, or yields the wrong kind of value. A cursor of another kind of paging.
    pub(super) fn build(&self, variables: &Variables) -> Result<BuiltRequest, MappingError> {
        if variables.person.is_none() || !self.request_names_person {
            return self.build_for(variables);
        }
        let built = self.build_for(variables).and_then(|request| {
            self.check_names_person(variables, &request)?;
            Ok(request)
        });
        built.map_err(|error| MappingError { is_of_person: error.field.starts_with("request"), ..error })
    }

    /// # Errors
    /// A filter of the whole answer that fails. An answer that is no JSON, or too large.
    pub(super) fn read(
        &self,
        variables: &Variables,
        received: AnswerHead,
        body: &[u8],
    ) -> Result<ReadAnswer, MappingError> {
        let json = body.strip_prefix(crate::answer::BYTE_ORDER_MARK).unwrap_or(body);
        // Strict: jaq would accept comments, and any depth.
        let strict = read_json::<serde_json_borrow::Value<'_>>(json);
        strict.map_err(|error| {
            let is_too_deep = error.is_data();
            MappingError::new(
                "answer",
                if is_too_deep { error.to_string() } else { format!("is not JSON: {error}") },
            )
        })?;
        let answer = read::parse_single(json)
            .map_err(|error| MappingError::new("answer", format!("is not JSON: {error}")))?;
        let headers = received.headers.iter();
        let headers = headers.map(|(name, value)| (Val::from(name.clone()), Val::from(value.clone())));
        let run = self.start(variables, Val::obj(headers.collect()), answer.clone())?;
        let error = run.first("answer.error", answer.clone())?;
        if let Some(message) = error.filter(|value| !is_nothing(value)) {
            let message = shorten(as_text(&message).unwrap_or_else(|| message.to_string()));
            // Some systems repeat the keyword in their message.
            let is_echo = names_rate_limit(variables.keyword.as_bytes());
            let code = if names_rate_limit(message.as_bytes()) && !is_echo {
                429
            } else if variables.cursor.is_none() || names_passing_failure(message.as_bytes()) {
                500
            } else {
                // The system answers, but not with the page behind its own.
                400
            };
            let envelope = json!({"code": code, "message": message}).to_string();
            return Ok(ReadAnswer { envelope, ..ReadAnswer::default() });
        }
        let mut faults = FieldFaults::default();
        let incomplete = run.try_first("answer.incomplete", answer.clone()).unwrap_or_else(|message| {
            faults.add_to_page("answer.incomplete", &message);
            None
        });
        let incomplete = incomplete.and_then(read_incomplete);
        let rows = match run.rows(answer.clone()) {
            Err(error) if variables.cursor.is_some() && error.message.starts_with(NULL_ROWS) => {
                faults.add_to_page("answer.rows", "finds null in place of rows");
                Vec::new()
            }
            rows => rows?,
        };
        let site = Site::new(&variables.address, variables.site.as_deref());
        let mut data = Vec::with_capacity(rows.len());
        let mut bytes = 0;
        for row in &rows {
            let item = run.item(row, &site, &mut faults);
            bytes += item
                .iter()
                .map(|(name, value)| name.len() + value.as_str().map_or(20, str::len))
                .sum::<usize>();
            if bytes > MAX_ENVELOPE_BYTES {
                let message = format!("yields more than {MAX_ENVELOPE_BYTES} bytes of texts");
                return Err(MappingError::new("answer.rows", message));
            }
            data.push(Value::Object(item));
        }
        let total = run.first("answer.total", answer.clone())?.and_then(|total| as_count(&total));
        let cursor = run.next(answer, rows.len(), total, received, &mut faults)?;
        let envelope = json!({
            "code": 200, "message": null, "count": data.len(), "data": data,
            "total": total, "cursor": cursor,
        });
        Ok(ReadAnswer { envelope: envelope.to_string(), incomplete, faults: faults.0 })
    }

    /// # Errors
    /// A filter that fails, or yields the wrong kind of value.
    fn build_for(&self, variables: &Variables) -> Result<BuiltRequest, MappingError> {
        let run = self.start(variables, Val::Null, Val::Null)?;
        let query = run.pairs("request.query")?;
        let headers = run.pairs("request.headers")?;
        let body =
            run.first("request.body", Val::Null)?.map(|body| to_json(&body, "request.body")).transpose()?;
        Ok(BuiltRequest { query, headers, body })
    }

    /// Refuses a request that names no person: a system may answer it for everyone.
    ///
    /// # Errors
    /// The request is that of a person without id, login and departments.
    fn check_names_person(&self, variables: &Variables, request: &BuiltRequest) -> Result<(), MappingError> {
        let nobody = KnownPerson {
            user_id: String::new(),
            login_id: String::new(),
            departments: Vec::new(),
            standing: 0,
        };
        let variables = Variables { person: Some(nobody), ..variables.clone() };
        if self.build_for(&variables).is_ok_and(|of_nobody| of_nobody == *request) {
            let message =
                "names no person: `$person` has userId, loginId and departments, which may be empty";
            return Err(MappingError::new("request", message));
        }
        Ok(())
    }

    fn start<'p>(
        &'p self,
        variables: &Variables,
        headers: Val,
        answer: Val,
    ) -> Result<BoundFilters<'p>, MappingError> {
        let number = |text: &str| {
            let wrong = |_| MappingError::new("cursor", "must be a number, as paging is `offset` or `page`");
            text.parse::<u64>().map_err(wrong)
        };
        let mut cursor = variables.cursor.as_deref();
        let (offset, page, seen) = match (self.paging, cursor) {
            (Paging::Offset, Some(text)) => {
                let offset = number(text)?;
                (offset, self.first_page, offset)
            }
            (Paging::Page, Some(text)) => {
                let (page, seen) = match text.split_once(SEEN) {
                    Some((page, seen)) => (page, Some(number(seen)?)),
                    None => (text, None),
                };
                cursor = Some(page);
                let page = number(page)?;
                let before = page.saturating_sub(self.first_page);
                let offset = before.saturating_mul(variables.limit as u64);
                (offset, page, seen.unwrap_or(offset))
            }
            _ => (0, self.first_page, 0),
        };
        let trimmed = |address: &str| Val::from(address.trim_end_matches('/').to_owned());
        let site = variables.site.as_deref().unwrap_or(&variables.address);
        let person = variables.person.as_ref().map_or(Val::Null, describe_person);
        let values = vec![
            Val::from(variables.keyword.clone()),
            count(variables.limit as u64),
            cursor.map_or(Val::Null, |cursor| Val::from(cursor.to_owned())),
            count(offset),
            count(page),
            trimmed(&variables.address),
            trimmed(site),
            person,
            headers,
            answer,
        ];
        Ok(BoundFilters { program: self, values, limit: variables.limit as u64, page, seen })
    }
}

fn read_incomplete(value: Val) -> Option<String> {
    let is_whole = is_nothing(&value) || as_count(&value) == Some(0);
    (!is_whole).then(|| match value {
        Val::Bool(_) => "the system says that rows are missing".to_owned(),
        value => shorten(as_text(&value).unwrap_or_else(|| value.to_string())),
    })
}

fn describe_person(person: &KnownPerson) -> Val {
    let json = serde_json::to_vec(person).unwrap_or_default();
    read::parse_single(&json).unwrap_or(Val::Null)
}

/// The filters with the variables of one question.
struct BoundFilters<'p> {
    program: &'p CompiledMapping,
    values: Vec<Val>,
    limit: u64,
    page: u64,
    /// Rows of the pages before.
    seen: u64,
}

impl<'p> BoundFilters<'p> {
    /// Results of the field's filter; none without one.
    fn results(&self, field: &str, input: Val) -> impl Iterator<Item = Result<Val, String>> + use<'p> {
        let filter = self.program.filters.get(field);
        let values = self.values.clone();
        filter.into_iter().flat_map(move |filter| {
            let context = Ctx::<Values>::new(&filter.lut, Vars::new(values.clone()));
            filter.id.run((context, input.clone())).map(|outcome| {
                outcome.map_err(|exception| match exception.get_err() {
                    Ok(error) => {
                        let value = error.into_val();
                        shorten(as_text(&value).unwrap_or_else(|| value.to_string()))
                    }
                    Err(_) => "must not use halt".to_owned(),
                })
            })
        })
    }

    /// Null counts as nothing.
    fn try_first(&self, field: &str, input: Val) -> Result<Option<Val>, String> {
        let first = self.results(field, input).next().transpose()?;
        Ok(first.filter(|value| !matches!(value, Val::Null)))
    }

    fn first(&self, field: &str, input: Val) -> Result<Option<Val>, MappingError> {
        self.try_first(field, input).map_err(|message| MappingError::new(field, message))
    }

    fn rows(&self, answer: Val) -> Result<Vec<Val>, MappingError> {
        let wrong = |message: String| MappingError::new("answer.rows", message);
        let mut rows = Vec::new();
        for row in self.results("answer.rows", answer) {
            if rows.len() == MAX_ROWS {
                return Err(wrong(format!("yields more than {MAX_ROWS} rows")));
            }
            rows.push(row.map_err(wrong)?);
        }
        match rows.as_slice() {
            // A row may be an array of values.
            [Val::Arr(rows)] if rows.iter().all(|row| matches!(row, Val::Obj(_) | Val::Arr(_))) => {
                Err(wrong(format!(
                    "yields one array of {} values, where each row must be a result: end it with []",
                    rows.len()
                )))
            }
            _ => Ok(rows),
        }
    }

    /// A field without a usable value is absent, and counted.
    fn item(&self, row: &Val, site: &Site, faults: &mut FieldFaults) -> Map<String, Value> {
        let mut item = Map::new();
        for (field, name) in ITEM_FIELDS {
            if !self.program.filters.contains_key(field) {
                continue;
            }
            let read = self.try_first(field, row.clone()).and_then(|value| match value {
                None => Ok(None),
                Some(value) if matches!(name, "action" | "image") && is_nothing(&value) => Ok(None),
                Some(value) if name == "displayTime" => read_time(&value).map(Some),
                Some(value) if name == "action" => read_action(&value, site).map(Some),
                Some(value) if name == "image" => {
                    site.read_address(&value).map(|address| Some(address.into()))
                }
                Some(value) => as_text(&value)
                    .map(|text| Some(text.into()))
                    .ok_or_else(|| format!("yields {}, not text", kind(&value))),
            });
            match read {
                Ok(Some(value)) => drop(item.insert(name.to_owned(), value)),
                Ok(None) => faults.add(field, None),
                Err(message) => faults.add(field, Some(message)),
            }
        }
        item
    }

    /// Name and text of each value of an object.
    fn pairs(&self, field: &str) -> Result<Vec<(String, String)>, MappingError> {
        let wrong = |message: String| MappingError::new(field, message);
        let object = match self.first(field, Val::Null)? {
            None => return Ok(Vec::new()),
            Some(Val::Obj(object)) => object,
            Some(other) => return Err(wrong(format!("yields {}, not an object", kind(&other)))),
        };
        let mut pairs = Vec::new();
        for (name, value) in object.iter() {
            let name = as_text(name).ok_or_else(|| wrong("has a name that is not text".to_owned()))?;
            let values = match value {
                Val::Arr(values) => values.as_slice(),
                value => std::slice::from_ref(value),
            };
            for value in values.iter().filter(|value| !matches!(value, Val::Null)) {
                let text = as_text(value);
                let text = text.ok_or_else(|| wrong(format!("`{name}` is {}, not text", kind(value))))?;
                pairs.push((name.clone(), text));
            }
        }
        Ok(pairs)
    }
}

#[derive(Default)]
struct FieldFaults(Vec<FieldFault>);

impl FieldFaults {
    fn add_to_page(&mut self, field: &str, message: &str) {
        self.0.push(FieldFault { field: field.to_owned(), rows: 0, message: Some(message.to_owned()) });
    }

    fn add(&mut self, field: &str, message: Option<String>) {
        match self.0.iter_mut().find(|fault| fault.field == field) {
            Some(fault) => {
                fault.rows += 1;
                fault.message = fault.message.take().or(message);
            }
            None => self.0.push(FieldFault { field: field.to_owned(), rows: 1, message }),
        }
    }
}
