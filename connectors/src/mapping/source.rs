//! Requests and answers of a mapped source.

use std::sync::Arc;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue, LINK};
use secrecy::SecretString;
use tokio::sync::Semaphore;
use url::{Position, Url};

use super::message::{
    AnswerHead, BuiltRequest, InterpreterJob, JobOutcome, MappingError, ReadAnswer, Variables,
};
use super::pool::{InterpreterPool, unexpected};
use super::{Mapping, Paging};
use crate::credentials::is_reserved_header;
use crate::error::SourceError;
use crate::identity::KnownPerson;
use crate::redaction::redact_answer;
use crate::request::{ContractParameters, DEFAULT_LIMIT, SearchRequest, append_query};
use crate::settings::Method;

/// A mapping with the processes that run it.
///
/// It does one job at a time. A filter that never ends takes one process from other sources.
#[derive(Clone, Debug)]
pub struct MappedCalls {
    mapping: Arc<Mapping>,
    site: Option<Url>,
    pool: InterpreterPool,
    turn: Arc<Semaphore>,
}

/// A question of one call, which its answer is read with.
#[derive(Clone, Debug)]
pub(crate) struct MappedQuestion {
    variables: Variables,
    sent_to: Url,
}

impl From<MappingError> for SourceError {
    fn from(error: MappingError) -> Self {
        if error.is_of_person {
            Self::PersonRefused(format!("the mapping does not fit this person: {error}"))
        } else {
            Self::Invalid(format!("the mapping does not fit: {error}"))
        }
    }
}

impl MappedCalls {
    /// Makes calls of a mapping that [`InterpreterPool::compile`] accepts.
    pub fn new(mapping: Mapping, pool: InterpreterPool) -> Self {
        Self { mapping: Arc::new(mapping), site: None, pool, turn: Arc::new(Semaphore::new(1)) }
    }

    /// Opens items at the system's public address in place of the one that is called.
    #[must_use]
    pub fn opening_at(self, site: Option<Url>) -> Self {
        Self { site, ..self }
    }

    /// Whether neither a total nor a next page tells where the rows end.
    pub(crate) fn ends_by_an_empty_page(&self) -> bool {
        let Mapping { paging, answer, .. } = &*self.mapping;
        matches!(paging, Paging::Page | Paging::Offset) && answer.total.is_none() && answer.next.is_none()
    }

    /// Whether answers tell the number of all matches.
    pub(crate) fn states_total(&self) -> bool {
        self.mapping.answer.total.is_some()
    }

    /// Whether a filter names `$person`.
    pub(crate) fn uses_person(&self) -> bool {
        self.mapping.uses_person()
    }

    /// Builds the request of a question.
    pub(crate) async fn build(
        &self,
        address: &Url,
        method: Method,
        parameters: ContractParameters<'_>,
        person: Option<&KnownPerson>,
    ) -> Result<(SearchRequest, MappedQuestion), MappingError> {
        let variables = Variables {
            keyword: parameters.keyword.unwrap_or_default().to_owned(),
            limit: parameters.limit.unwrap_or(DEFAULT_LIMIT),
            cursor: parameters.cursor.map(str::to_owned),
            address: without_query(address),
            site: self.site.as_ref().map(without_query),
            person: person.cloned(),
        };
        let JobOutcome::Built(built) = self.run(InterpreterJob::Build(variables.clone()), None).await? else {
            return Err(unexpected());
        };
        let next = variables.cursor.as_deref().filter(|_| self.mapping.paging == Paging::Link);
        let request = match next {
            None => self.assemble(address, method, built)?,
            Some(next) => SearchRequest {
                method: reqwest::Method::GET,
                url: join_same_origin(address, next)?,
                headers: read_headers(built.headers)?,
                body: None,
            },
        };
        let sent_to = request.url.clone();
        Ok((request, MappedQuestion { variables, sent_to }))
    }

    fn assemble(
        &self,
        address: &Url,
        method: Method,
        BuiltRequest { query, headers, body }: BuiltRequest,
    ) -> Result<SearchRequest, MappingError> {
        let mut url = address.clone();
        if let Some(path) = &self.mapping.request.path {
            url.set_path(&format!("{}{path}", address.path().trim_end_matches('/')));
        }
        append_query(&mut url, query);
        let (method, body) = match method {
            Method::Get => (reqwest::Method::GET, None),
            Method::Post => (reqwest::Method::POST, body.map(|body| body.to_string().into_bytes())),
        };
        Ok(SearchRequest { method, url, headers: read_headers(headers)?, body })
    }

    /// Reads an answer into the contract's envelope, in JSON.
    ///
    /// Filters see none of the secrets in headers.
    pub(crate) async fn read(
        &self,
        question: &MappedQuestion,
        headers: &HeaderMap,
        body: &[u8],
        secrets: &[SecretString],
    ) -> Result<ReadAnswer, MappingError> {
        let texts = headers.iter().filter_map(|(name, value)| {
            let text = redact_answer(value.to_str().ok()?.as_bytes().to_vec(), secrets);
            Some((name.to_string(), String::from_utf8(text).ok()?))
        });
        let received = AnswerHead {
            sent_to: question.sent_to.clone(),
            headers: texts.collect(),
            next_link: find_next_link(headers),
        };
        let job = InterpreterJob::Read { variables: question.variables.clone(), received };
        let JobOutcome::Read(answer) = self.run(job, Some(body)).await? else { return Err(unexpected()) };
        Ok(answer)
    }

    async fn run(&self, job: InterpreterJob, body: Option<&[u8]>) -> Result<JobOutcome, MappingError> {
        let _turn = self.turn.acquire().await;
        self.pool.run(&self.mapping, job, body).await
    }
}

fn without_query(address: &Url) -> String {
    address[..Position::AfterPath].to_owned()
}

/// # Errors
/// An address that leads elsewhere.
pub(super) fn join_same_origin(address: &Url, next: &str) -> Result<Url, MappingError> {
    let elsewhere = || MappingError::new("answer.next", "leads to another origin");
    let next = address.join(next).map_err(|_| elsewhere())?;
    if next.origin() == address.origin() { Ok(next) } else { Err(elsewhere()) }
}

/// # Errors
/// A header that no request can hold, or that trawl sets itself.
fn read_headers(pairs: Vec<(String, String)>) -> Result<HeaderMap, MappingError> {
    let wrong = |message: String| MappingError::new("request.headers", message);
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        let shown = name.chars().filter(|character| !character.is_control()).take(64).collect::<String>();
        if is_reserved_header(&name) || name.eq_ignore_ascii_case("authorization") {
            return Err(wrong(format!("`{shown}` must not be set; credentials belong to `auth`")));
        }
        let name =
            HeaderName::try_from(&name).map_err(|_| wrong(format!("`{shown}` is no header's name")))?;
        let value = HeaderValue::try_from(&value)
            .map_err(|_| wrong(format!("`{shown}` has a value that no header can hold")))?;
        headers.append(name, value);
    }
    Ok(headers)
}

/// The target of `rel="next"` (RFC 8288).
pub(super) fn find_next_link(headers: &HeaderMap) -> Option<String> {
    let texts = headers.get_all(LINK).iter().filter_map(|value| value.to_str().ok());
    texts.flat_map(split_links).find_map(|link| {
        let (target, parameters) = link.trim_start().strip_prefix('<')?.split_once('>')?;
        let is_next = parameters.split(';').any(|parameter| {
            let Some((name, value)) = parameter.split_once('=') else { return false };
            name.trim().eq_ignore_ascii_case("rel")
                && value
                    .trim()
                    .trim_matches('"')
                    .split_whitespace()
                    .any(|rel| rel.eq_ignore_ascii_case("next"))
        });
        is_next.then(|| target.to_owned())
    })
}

/// At commas outside of `<…>`.
fn split_links(text: &str) -> impl Iterator<Item = &str> {
    let mut is_target = false;
    text.split(move |character| {
        match character {
            '<' => is_target = true,
            '>' => is_target = false,
            _ => {}
        }
        character == ',' && !is_target
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next_of(link: &str) -> Option<String> {
        find_next_link(&HeaderMap::from_iter([(LINK, HeaderValue::from_str(link).unwrap())]))
    }

    #[test]
    fn next_link_is_found_among_others() {
        let link = r#"<https://h/a?x=1,2>; rel="prev", </b?page=3>; title="c"; REL="last next""#;
        assert_eq!(next_of(link).as_deref(), Some("/b?page=3"));
        assert_eq!(next_of("<https://h/a>; rel=next").as_deref(), Some("https://h/a"));
        for other in ["", "<https://h/a>", "<https://h/a>; rel=prev", "https://h/a; rel=next", "<a; rel=next"]
        {
            assert_eq!(next_of(other), None, "{other}");
        }
    }

    #[test]
    fn header_that_trawl_sets_or_that_is_malformed_is_refused() {
        let read = |name: &str, value: &str| read_headers(vec![(name.to_owned(), value.to_owned())]);
        assert_eq!(read("X-Site", "a").unwrap()["x-site"], "a");
        for (name, value) in [
            ("Host", "evil"),
            ("authorization", "Bearer x"),
            ("Cookie", "a=b"),
            ("a b", "c"),
            ("x", "a\r\nHost: evil"),
            ("x\r\ny", "a"),
        ] {
            let error = read(name, value).unwrap_err();
            assert!(error.field == "request.headers" && !error.message.contains('\n'), "{error}");
        }
    }
}
