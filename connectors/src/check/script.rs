//! Calls of a check.

use futures::future::join_all;

use super::call::{CallAssertion, CallCredentials};
use super::clause::ContractClause;
use super::curl;
use super::multi_page::MULTI_PAGE_CLAUSES;
use super::page::{CheckedPage, show};
use super::probe::{Exchange, Probe};
use super::session::{CheckSession, Decide};
use super::verdicts::Verdicts;
use crate::request::{ContractParameters, DEFAULT_LIMIT};
use crate::settings::{Authentication, ClientCredentials, DeclaredOrder};

/// If the operator names no keyword.
const COMMON_WORDS: [&str; 9] = ["a", "e", "the", "1", "report", "test", "的", "会议", "工作"];
const UNKNOWN_WORD: &str = "zqxjkvbtrawlwqzkx7391";
const LONG_KEYWORD: usize = 256;
/// A failure of one layer implies that those before it hold.
const LAYERS: [ContractClause; 6] = [
    ContractClause::Http,
    ContractClause::Redirect,
    ContractClause::Method,
    ContractClause::Status,
    ContractClause::ContentEncoding,
    ContractClause::Complete,
];
const CALLS_AT_ONCE: usize = 10;
/// Decided by rows alone.
const ITEM_CLAUSES: [ContractClause; 9] = [
    ContractClause::ItemId,
    ContractClause::ItemIdUnique,
    ContractClause::ItemIdStable,
    ContractClause::ItemTitle,
    ContractClause::ItemText,
    ContractClause::ItemBounds,
    ContractClause::ItemDisplayTime,
    ContractClause::ItemDisplayTimePlausible,
    ContractClause::ItemAction,
];

/// Final findings go to `decide`.
pub(super) async fn run(
    probe: &Probe,
    order: DeclaredOrder,
    keyword: Option<&str>,
    verdicts: &mut Verdicts,
    decide: &mut Decide<'_>,
) {
    let Some(credentials) = find_credentials(probe, verdicts).await else { return };
    let mut session = CheckSession { probe, verdicts, decide, credentials };
    session.settle(&[ContractClause::Token]);
    let Some((keyword, first)) = session.search_first(keyword).await else { return };
    // A later call may still break `status`.
    let settled = LAYERS.into_iter().filter(|layer| *layer != ContractClause::Status);
    session.settle(&settled.collect::<Vec<_>>());
    session.settle(&[ContractClause::InTime, ContractClause::Size]);
    session.check_keywords(&keyword, &first).await;
    session.check_default_limit(&keyword, &first).await;
    session.settle(&[ContractClause::LimitDefault]);
    session.check_pages(order, &keyword, &first).await;
    session.settle(&MULTI_PAGE_CLAUSES);
    session.check_credentials(&keyword).await;
    session.check_concurrency(&keyword).await;
    session.check_identity(&keyword, &first).await;
    for clause in ITEM_CLAUSES {
        session.verdicts.unknown(clause, "no answer held a row: name a keyword that has some");
    }
}

async fn find_credentials(probe: &Probe, verdicts: &mut Verdicts) -> Option<CallCredentials> {
    let mut curl = String::new();
    match probe.authentication() {
        Authentication::None => {
            for clause in [
                ContractClause::Token,
                ContractClause::AuthRequired,
                ContractClause::AuthWrongToken,
                ContractClause::AuthScope,
            ] {
                verdicts.not_applicable(clause, "the source was called without credentials");
            }
        }
        Authentication::OAuth2Client(credentials) => curl = curl::describe_token_request(credentials),
        Authentication::ApiKey(_) | Authentication::Basic(_) | Authentication::Bearer(_) => {
            for clause in [ContractClause::Token, ContractClause::AuthScope] {
                verdicts.not_applicable(
                    clause,
                    "the credentials are registered, and come from no token endpoint",
                );
            }
        }
    }
    match probe.credentials().await {
        Ok(credentials) => {
            if matches!(credentials, CallCredentials::Token(_)) {
                verdicts.pass(ContractClause::Token, "a bearer token", &curl);
            }
            Some(credentials)
        }
        Err(error) => {
            verdicts.fail(ContractClause::Token, error.to_string(), &curl);
            None
        }
    }
}

impl CheckSession<'_> {
    /// Its failure ends the check. Returns its keyword and page.
    async fn search_first(&mut self, keyword: Option<&str>) -> Option<(String, CheckedPage)> {
        let words = keyword.map_or_else(|| COMMON_WORDS.to_vec(), |keyword| vec![keyword]);
        let parameters = |word| ContractParameters::first_page(word, DEFAULT_LIMIT);
        let (first, others) = words.split_first()?;
        let exchange = self.probe.call(parameters(first), &self.credentials).await;
        let page = self.record_first(&exchange)?;
        let mut best = ((*first).to_owned(), page);
        for word in others {
            if has_second_page(&best.1) {
                break;
            }
            let exchange = self.probe.call(parameters(word), &self.credentials).await;
            // Failures of other common words belong to the keyword clauses.
            if let Ok(page) = self.read(&exchange, Some(DEFAULT_LIMIT))
                && (has_second_page(&page) || page.rows.len() > best.1.rows.len())
            {
                best = ((*word).to_owned(), page);
            }
        }
        Some(best)
    }

    fn record_first(&mut self, exchange: &Exchange) -> Option<CheckedPage> {
        let curl = exchange.curl.clone();
        let outcome = exchange.outcome.as_ref().map_err(Clone::clone).and_then(|reply| {
            let seen = format!("HTTP {}", reply.status);
            match reply.status {
                200 => Ok(reply),
                405 | 501 => Err((ContractClause::Method, seen)),
                _ => Err((ContractClause::Status, seen)),
            }
        });
        let broken = outcome.as_ref().err().map(|(clause, _)| *clause);
        let reached = match broken {
            Some(ContractClause::Size | ContractClause::Json | ContractClause::Envelope) | None => {
                LAYERS.len()
            }
            Some(ContractClause::InTime) => 0,
            Some(broken) => LAYERS.iter().position(|layer| *layer == broken).unwrap_or(0),
        };
        for layer in &LAYERS[..reached] {
            self.verdicts.pass(*layer, "kept", &curl);
        }
        match outcome {
            Ok(reply) => {
                let took = format!("a complete answer after {} ms", exchange.took.as_millis());
                self.verdicts.pass(ContractClause::InTime, took, &curl);
                self.verdicts.pass(ContractClause::Size, format!("{} bytes", reply.body.len()), &curl);
                self.record(reply, Some(DEFAULT_LIMIT), &curl).ok()
            }
            Err((clause, seen)) => {
                self.verdicts.fail(clause, seen, &curl);
                None
            }
        }
    }

    async fn check_keywords(&mut self, found: &str, first: &CheckedPage) {
        let long = "budgetreview".repeat(22)[..LONG_KEYWORD].to_owned();
        // One keyword alone holds spaces, so that each fault breaks one clause.
        let keywords = [
            (ContractClause::KeywordChinese, "工作报告"),
            (ContractClause::KeywordEmoji, "🎉👩‍💻"),
            (ContractClause::KeywordSpecials, r#"R&D+100%/"e"\h"#),
            (ContractClause::KeywordSpaces, "  annual   report "),
            (ContractClause::KeywordLong, long.as_str()),
        ];
        for (clause, keyword) in keywords {
            let parameters = ContractParameters::first_page(keyword, DEFAULT_LIMIT);
            if let Some((page, curl)) = self.page(clause, parameters).await {
                self.verdicts.pass(clause, format!("a success with {} items", page.rows.len()), &curl);
            }
        }
        self.check_words_of_titles(found, first).await;
        self.settle(&[ContractClause::KeywordSpecials]);
        self.settle(&keywords.map(|(clause, _)| clause));
        let unknown = ContractParameters::first_page(UNKNOWN_WORD, DEFAULT_LIMIT);
        if let Some((page, curl)) = self.page(ContractClause::KeywordUnknown, unknown).await {
            match page.rows.len() {
                0 => self.verdicts.pass(ContractClause::KeywordUnknown, "an empty success", &curl),
                sent => self.verdicts.fail(ContractClause::KeywordUnknown, format!("{sent} items"), &curl),
            }
        }
        self.settle(&[ContractClause::KeywordUnknown]);
        if self.probe.is_mapped() {
            let why = "a mapped source is always called with a keyword";
            return self.verdicts.not_applicable(ContractClause::KeywordRequired, why);
        }
        let missing = ContractParameters { limit: Some(DEFAULT_LIMIT), ..ContractParameters::default() };
        let exchange = self.probe.call(missing, &self.credentials).await;
        self.enter(ContractClause::KeywordRequired, judge_refusal(&exchange), &exchange);
        self.settle(&[ContractClause::KeywordRequired]);
    }

    async fn check_default_limit(&mut self, keyword: &str, first: &CheckedPage) {
        if self.probe.is_mapped() {
            let why = "a mapped source is always called with a limit";
            return self.verdicts.not_applicable(ContractClause::LimitDefault, why);
        }
        let parameters = ContractParameters { keyword: Some(keyword), ..ContractParameters::default() };
        let Some((page, curl)) = self.page(ContractClause::LimitDefault, parameters).await else { return };
        let sent = page.rows.len();
        let has_more = has_second_page(first);
        if sent > DEFAULT_LIMIT || has_more && sent < DEFAULT_LIMIT {
            self.verdicts.fail(ContractClause::LimitDefault, format!("{sent} items"), &curl);
        } else if has_more {
            self.verdicts.pass(ContractClause::LimitDefault, format!("{sent} items"), &curl);
        } else {
            self.verdicts.unknown(
                ContractClause::LimitDefault,
                format!(
                    "the keyword {} has no second page of {DEFAULT_LIMIT}: name one with more matches",
                    show(keyword)
                ),
            );
        }
    }

    async fn check_credentials(&mut self, keyword: &str) {
        let authentication = self.probe.authentication();
        if matches!(authentication, Authentication::None) {
            return;
        }
        let parameters = ContractParameters::first_page(keyword, DEFAULT_LIMIT);
        for (clause, credentials) in [
            (ContractClause::AuthRequired, CallCredentials::None),
            (ContractClause::AuthWrongToken, CallCredentials::Wrong),
        ] {
            let exchange = self.probe.call(parameters, &credentials).await;
            self.enter(clause, judge_status(&exchange, &[401]), &exchange);
            self.settle(&[clause]);
        }
        let Authentication::OAuth2Client(credentials) = authentication else { return };
        if credentials.scope.is_none() {
            let why = "no scope is registered, so none can be missing";
            self.verdicts.not_applicable(ContractClause::AuthScope, why);
            return self.settle(&[ContractClause::AuthScope]);
        }
        match self.fetch_token_without_scope(credentials).await {
            Err(why) => self.verdicts.unknown(ContractClause::AuthScope, why),
            Ok(token) => {
                let exchange = self.probe.call(parameters, &token).await;
                self.enter(ContractClause::AuthScope, judge_status(&exchange, &[401, 403]), &exchange);
            }
        }
        self.settle(&[ContractClause::AuthScope]);
    }

    async fn fetch_token_without_scope(
        &self,
        credentials: &ClientCredentials,
    ) -> Result<CallCredentials, String> {
        let registered =
            credentials.scope.as_deref().ok_or("no scope is registered, so none can be missing")?;
        let is_registered = |scope: &str| registered.split_whitespace().any(|registered| registered == scope);
        let lacks = |scopes: &str| !scopes.split_whitespace().any(is_registered);
        let failed = |error| format!("there is no token without the scope `{registered}`: {error}");
        let unscoped = ClientCredentials { scope: None, ..credentials.clone() };
        let token = self.probe.fetch_token(&unscoped).await.map_err(failed)?;
        let granted =
            token.scope.as_deref().ok_or("the token endpoint does not state which scopes it granted")?;
        if lacks(granted) {
            return Ok(CallCredentials::Token(token));
        }
        let other = granted
            .split_whitespace()
            .find(|scope| !is_registered(scope))
            .ok_or_else(|| format!("the client may have no scope but `{registered}`"))?;
        let lesser = ClientCredentials { scope: Some(other.to_owned()), ..credentials.clone() };
        let token = self.probe.fetch_token(&lesser).await.map_err(failed)?;
        if token.scope.as_deref().is_none_or(lacks) {
            Ok(CallCredentials::Token(token))
        } else {
            Err(format!("the token endpoint always grants `{registered}`"))
        }
    }

    async fn check_identity(&mut self, keyword: &str, first: &CheckedPage) {
        if !self.probe.takes_assertions() {
            return;
        }
        let parameters = ContractParameters::first_page(keyword, DEFAULT_LIMIT);
        for (clause, assertion) in [
            (ContractClause::IdentityRequired, CallAssertion::Missing),
            (ContractClause::IdentitySignature, CallAssertion::Forged),
            (ContractClause::IdentityAudience, CallAssertion::Misdirected),
            (ContractClause::IdentityExpiry, CallAssertion::Expired),
        ] {
            let exchange = self.probe.call_with(parameters, &self.credentials, assertion).await;
            self.enter(clause, judge_status(&exchange, &[401, 403]), &exchange);
        }
        let exchange = self.probe.call_with(parameters, &self.credentials, CallAssertion::Nobody).await;
        let outcome = judge_status(&exchange, &[401, 403]).or_else(|seen| {
            match self.read(&exchange, Some(DEFAULT_LIMIT)) {
                Ok(page) if page.rows.is_empty() => Ok("an empty success".to_owned()),
                Ok(page) if page.ids() != first.ids() => Ok("other rows".to_owned()),
                Ok(_) => Err("the same rows: name a keyword with rows of the person's own".to_owned()),
                Err(_) => Err(seen),
            }
        });
        self.enter(ContractClause::IdentityUnknown, outcome, &exchange);
    }

    async fn check_concurrency(&mut self, keyword: &str) {
        let parameters = ContractParameters::first_page(keyword, DEFAULT_LIMIT);
        let calls = (0..CALLS_AT_ONCE).map(|_| self.probe.call(parameters, &self.credentials));
        let exchanges = join_all(calls).await;
        let faults: Vec<_> = exchanges
            .iter()
            .filter_map(|exchange| Some((exchange, self.read(exchange, Some(DEFAULT_LIMIT)).err()?)))
            .collect();
        // Another fault than a rate limit decides.
        let fault = faults.iter().find(|(exchange, _)| exchange.pause.is_none()).or(faults.first());
        if let Some((exchange, seen)) = fault {
            let seen = format!("{} of {CALLS_AT_ONCE} failed: {seen}", faults.len());
            self.enter(ContractClause::Concurrency, Err(seen), exchange);
        } else if let Some(exchange) = exchanges.first() {
            self.enter(ContractClause::Concurrency, Ok("kept".to_owned()), exchange);
        }
    }
}

fn has_second_page(first: &CheckedPage) -> bool {
    first.rows.len() == DEFAULT_LIMIT && first.cursor.is_some()
}

fn judge_refusal(exchange: &Exchange) -> Result<String, String> {
    let reply = exchange.outcome.as_ref().map_err(|(_, seen)| seen.clone())?;
    if reply.status != 200 {
        return judge_status(exchange, &[400, 422]);
    }
    let envelope: Option<serde_json::Value> = serde_json::from_slice(&reply.body).ok();
    match envelope.and_then(|envelope| envelope.get("code")?.as_i64()) {
        Some(code) if code >= 400 => Ok(format!("HTTP 200 with `code` {code}")),
        _ => Err("HTTP 200, a success".to_owned()),
    }
}

fn judge_status(exchange: &Exchange, expected: &[u16]) -> Result<String, String> {
    let reply = exchange.outcome.as_ref().map_err(|(_, seen)| seen.clone())?;
    let seen = format!("HTTP {}", reply.status);
    if expected.contains(&reply.status) { Ok(seen) } else { Err(seen) }
}
