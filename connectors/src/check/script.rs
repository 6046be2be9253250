//! The calls of a check in their order: one search that everything else builds on, then keywords, pages (in `walk`),
//! credentials and ten calls at once.

use std::time::{SystemTime, UNIX_EPOCH};

use futures::future::join_all;

use super::clause::Clause;
use super::curl;
use super::ledger::Ledger;
use super::page::{CheckedPage, read_reply, show};
use super::probe::{Exchange, Identity, Parameters, Probe, Reply};
use super::{CheckSettings, Finding};
use crate::settings::ClientCredentials;

/// Words that most collections hold, tried in turn where the operator names none.
const COMMON_WORDS: [&str; 9] = ["a", "e", "the", "1", "report", "test", "的", "会议", "工作"];
/// A word that nothing should match.
const UNKNOWN_WORD: &str = "zqxjkvbtrawlwqzkx7391";
/// Characters of a long keyword.
const LONG_KEYWORD: usize = 256;
/// The contract's default page.
pub(super) const DEFAULT_LIMIT: usize = 10;
/// The layers of an answer that come one after the other: where one breaks, those before it held.
const LAYERS: [Clause; 6] = [
    Clause::Http,
    Clause::Redirect,
    Clause::Method,
    Clause::Status,
    Clause::ContentEncoding,
    Clause::Complete,
];
/// What the pages of a keyword decide.
pub(super) const OF_PAGES: [Clause; 7] = [
    Clause::ItemIdStable,
    Clause::CursorAdvances,
    Clause::CursorEnds,
    Clause::CursorUnique,
    Clause::CursorComplete,
    Clause::CursorRepeatable,
    Clause::Order,
];
/// Calls made at once.
const CALLS_AT_ONCE: usize = 10;

/// Is handed findings that are certain, with their places among all.
type Decide<'d> = dyn FnMut(Vec<(usize, Finding)>) + Send + Sync + 'd;

/// Makes the calls of a check and enters what they show; what is certain on the way goes to `decide`.
pub(super) async fn run(
    probe: &Probe,
    settings: &CheckSettings,
    ledger: &mut Ledger,
    decide: &mut Decide<'_>,
) {
    let Some(identity) = identify(probe, ledger).await else { return };
    let mut script = Script { probe, ledger, decide, identity };
    script.settle(&[Clause::Token]);
    let Some((keyword, first)) = script.search_first(settings.keyword.as_deref()).await else { return };
    script.settle(&LAYERS);
    script.settle(&[Clause::InTime, Clause::Size]);
    script.try_keywords().await;
    script.try_limits(&keyword, &first).await;
    script.settle(&[Clause::LimitDefault]);
    script.try_pages(settings.order, &keyword, &first).await;
    script.settle(&OF_PAGES);
    script.try_credentials(&keyword).await;
    script.call_at_once(&keyword).await;
}

/// Who calls the source: the holder of a token, where there are credentials.
async fn identify(probe: &Probe, ledger: &mut Ledger) -> Option<Identity> {
    let Some(credentials) = probe.credentials() else {
        for clause in [Clause::Token, Clause::AuthRequired, Clause::AuthWrongToken, Clause::AuthScope] {
            ledger.unknown(clause, "the source was called without credentials");
        }
        return Some(Identity::Nobody);
    };
    let curl = curl::describe_token_request(credentials);
    match probe.fetch_token(credentials).await {
        Ok(token) => {
            ledger.pass(Clause::Token, "a bearer token", &curl);
            Some(Identity::Holder(token))
        }
        Err(error) => {
            ledger.fail(Clause::Token, error.to_string(), &curl);
            None
        }
    }
}

/// A check under way.
pub(super) struct Script<'s> {
    pub(super) probe: &'s Probe,
    pub(super) ledger: &'s mut Ledger,
    decide: &'s mut Decide<'s>,
    pub(super) identity: Identity,
}

impl Script<'_> {
    /// No call that is still to come is about these clauses. What every answer may break is settled by the last one.
    fn settle(&mut self, clauses: &[Clause]) {
        self.ledger.settle(clauses);
        (self.decide)(self.ledger.take_decided());
    }

    /// The search that everything builds on: whatever breaks it is the clause's own failure, and ends the check.
    /// Answers the keyword to go on with and its first page.
    async fn search_first(&mut self, keyword: Option<&str>) -> Option<(String, CheckedPage)> {
        let words = keyword.map_or_else(|| COMMON_WORDS.to_vec(), |keyword| vec![keyword]);
        let parameters = |word| Parameters { keyword: Some(word), limit: Some(DEFAULT_LIMIT), cursor: None };
        let (first, others) = words.split_first()?;
        let exchange = self.probe.call(parameters(first), &self.identity).await;
        let page = self.enter_first(&exchange)?;
        let mut best = ((*first).to_owned(), page);
        for word in others {
            if is_telling(&best.1) {
                break;
            }
            let exchange = self.probe.call(parameters(word), &self.identity).await;
            // What a common word breaks, and the first did not, the keyword clauses will name.
            if let Ok(page) = self.read(&exchange, Some(DEFAULT_LIMIT))
                && (is_telling(&page) || page.rows.len() > best.1.rows.len())
            {
                best = ((*word).to_owned(), page);
            }
        }
        Some(best)
    }

    fn enter_first(&mut self, exchange: &Exchange) -> Option<CheckedPage> {
        let curl = exchange.curl.clone();
        let outcome = exchange.outcome.as_ref().map_err(Clone::clone).and_then(|reply| {
            let seen = format!("HTTP {}", reply.status);
            match reply.status {
                200 => Ok(reply),
                405 | 501 => Err((Clause::Method, seen)),
                _ => Err((Clause::Status, seen)),
            }
        });
        let broken = outcome.as_ref().err().map(|(clause, _)| *clause);
        let reached = match broken {
            Some(Clause::Size) | None => LAYERS.len(),
            // Nothing is known of an answer that did not come.
            Some(Clause::InTime) => 0,
            Some(broken) => LAYERS.iter().position(|layer| *layer == broken).unwrap_or(0),
        };
        for layer in &LAYERS[..reached] {
            self.ledger.pass(*layer, "kept", &curl);
        }
        match outcome {
            Ok(reply) => {
                let took = format!("the whole answer after {} ms", exchange.took.as_millis());
                self.ledger.pass(Clause::InTime, took, &curl);
                self.ledger.pass(Clause::Size, format!("{} bytes", reply.body.len()), &curl);
                self.enter(reply, Some(DEFAULT_LIMIT), &curl).ok()
            }
            Err((clause, seen)) => {
                self.ledger.fail(clause, seen, &curl);
                None
            }
        }
    }

    /// Enters what an answer says of the clauses that hold for every answer; the clause that leaves no page is entered too.
    fn enter(
        &mut self,
        reply: &Reply,
        limit: Option<usize>,
        curl: &str,
    ) -> Result<CheckedPage, (Clause, String)> {
        let reading = read_reply(reply, limit, now());
        for clause in reading.kept {
            self.ledger.pass(clause, "kept in every answer that was seen", curl);
        }
        let last = reading.broken.last().cloned();
        for (clause, seen) in reading.broken {
            self.ledger.fail(clause, seen, curl);
        }
        reading.page.ok_or_else(|| last.unwrap_or((Clause::Data, "no page".to_owned())))
    }

    /// The page in an answer to a later call. What leaves no page is for the caller to enter, as the first search had one.
    pub(super) fn read(&mut self, exchange: &Exchange, limit: Option<usize>) -> Result<CheckedPage, String> {
        let reply = exchange.outcome.as_ref().map_err(|(_, seen)| seen.clone())?;
        if reply.status != 200 {
            return Err(format!("HTTP {}", reply.status));
        }
        let reading = read_reply(reply, limit, now());
        match reading.page {
            None => Err(reading.broken.into_iter().last().map_or_else(String::new, |(_, seen)| seen)),
            Some(_) => self.enter(reply, limit, &exchange.curl).map_err(|(_, seen)| seen),
        }
    }

    /// One page; a call that gives none breaks `purpose`.
    pub(super) async fn page(
        &mut self,
        purpose: Clause,
        parameters: Parameters<'_>,
    ) -> Option<(CheckedPage, String)> {
        let exchange = self.probe.call(parameters, &self.identity).await;
        match self.read(&exchange, parameters.limit) {
            Ok(page) => Some((page, exchange.curl)),
            Err(seen) => {
                self.ledger.fail(purpose, seen, &exchange.curl);
                None
            }
        }
    }

    async fn try_keywords(&mut self) {
        let long = "budgetreview".repeat(22)[..LONG_KEYWORD].to_owned();
        // Only the keyword of spaces holds any: a source that takes none breaks one clause.
        let keywords = [
            (Clause::KeywordChinese, "工作报告"),
            (Clause::KeywordEmoji, "🎉👩‍💻"),
            (Clause::KeywordSpecials, r#"R&D+100%/"e"\h"#),
            (Clause::KeywordSpaces, "  annual   report "),
            (Clause::KeywordLong, long.as_str()),
        ];
        for (clause, keyword) in keywords {
            let parameters = Parameters { keyword: Some(keyword), limit: Some(DEFAULT_LIMIT), cursor: None };
            if let Some((page, curl)) = self.page(clause, parameters).await {
                self.ledger.pass(clause, format!("a success with {} items", page.rows.len()), &curl);
            }
            self.settle(&[clause]);
        }
        let unknown = Parameters { keyword: Some(UNKNOWN_WORD), limit: Some(DEFAULT_LIMIT), cursor: None };
        if let Some((page, curl)) = self.page(Clause::KeywordUnknown, unknown).await {
            match page.rows.len() {
                0 => self.ledger.pass(Clause::KeywordUnknown, "an empty success", &curl),
                sent => self.ledger.fail(Clause::KeywordUnknown, format!("{sent} items"), &curl),
            }
        }
        self.settle(&[Clause::KeywordUnknown]);
        let missing = Parameters { keyword: None, limit: Some(DEFAULT_LIMIT), cursor: None };
        let exchange = self.probe.call(missing, &self.identity).await;
        match judge_refusal(&exchange) {
            Ok(seen) => self.ledger.pass(Clause::KeywordRequired, seen, &exchange.curl),
            Err(seen) => self.ledger.fail(Clause::KeywordRequired, seen, &exchange.curl),
        }
        self.settle(&[Clause::KeywordRequired]);
    }

    async fn try_limits(&mut self, keyword: &str, first: &CheckedPage) {
        let parameters = Parameters { keyword: Some(keyword), limit: None, cursor: None };
        let Some((page, curl)) = self.page(Clause::LimitDefault, parameters).await else { return };
        let sent = page.rows.len();
        let has_more = first.rows.len() == DEFAULT_LIMIT && first.cursor.is_some();
        if sent > DEFAULT_LIMIT || has_more && sent < DEFAULT_LIMIT {
            self.ledger.fail(Clause::LimitDefault, format!("{sent} items"), &curl);
        } else if has_more {
            self.ledger.pass(Clause::LimitDefault, format!("{sent} items"), &curl);
        } else {
            self.ledger.unknown(
                Clause::LimitDefault,
                format!(
                    "the keyword {} has no second page of {DEFAULT_LIMIT}: name one with more matches",
                    show(keyword)
                ),
            );
        }
    }

    async fn try_credentials(&mut self, keyword: &str) {
        let Some(credentials) = self.probe.credentials() else { return };
        let parameters = Parameters { keyword: Some(keyword), limit: Some(DEFAULT_LIMIT), cursor: None };
        for (clause, identity) in
            [(Clause::AuthRequired, Identity::Nobody), (Clause::AuthWrongToken, Identity::Impostor)]
        {
            let exchange = self.probe.call(parameters, &identity).await;
            match judge_status(&exchange, &[401]) {
                Ok(seen) => self.ledger.pass(clause, seen, &exchange.curl),
                Err(seen) => self.ledger.fail(clause, seen, &exchange.curl),
            }
            self.settle(&[clause]);
        }
        match self.fetch_lesser_token(credentials).await {
            Err(why) => self.ledger.unknown(Clause::AuthScope, why),
            Ok(identity) => {
                let exchange = self.probe.call(parameters, &identity).await;
                match judge_status(&exchange, &[401, 403]) {
                    Ok(seen) => self.ledger.pass(Clause::AuthScope, seen, &exchange.curl),
                    Err(seen) => self.ledger.fail(Clause::AuthScope, seen, &exchange.curl),
                }
            }
        }
        self.settle(&[Clause::AuthScope]);
    }

    /// A token of the same client without the scope that the source is registered with.
    async fn fetch_lesser_token(&self, credentials: &ClientCredentials) -> Result<Identity, String> {
        let registered =
            credentials.scope.as_deref().ok_or("no scope is registered, so none can be missing")?;
        let is_registered = |scope: &str| registered.split_whitespace().any(|registered| registered == scope);
        let lacks = |scopes: &str| !scopes.split_whitespace().any(is_registered);
        let failed = |error| format!("a token without the scope `{registered}` cannot be had: {error}");
        let unscoped = ClientCredentials { scope: None, ..credentials.clone() };
        let token = self.probe.fetch_token(&unscoped).await.map_err(failed)?;
        let granted =
            token.scope.as_deref().ok_or("the token endpoint does not state which scopes it granted")?;
        if lacks(granted) {
            return Ok(Identity::Holder(token));
        }
        let other = granted
            .split_whitespace()
            .find(|scope| !is_registered(scope))
            .ok_or_else(|| format!("the client may have no scope but `{registered}`"))?;
        let lesser = ClientCredentials { scope: Some(other.to_owned()), ..credentials.clone() };
        let token = self.probe.fetch_token(&lesser).await.map_err(failed)?;
        if token.scope.as_deref().is_none_or(lacks) {
            Ok(Identity::Holder(token))
        } else {
            Err(format!("the token endpoint grants `{registered}` whatever is asked for"))
        }
    }

    async fn call_at_once(&mut self, keyword: &str) {
        let parameters = Parameters { keyword: Some(keyword), limit: Some(DEFAULT_LIMIT), cursor: None };
        let calls = (0..CALLS_AT_ONCE).map(|_| self.probe.call(parameters, &self.identity));
        let mut failures = 0;
        let mut first = None;
        let mut curl = String::new();
        for exchange in join_all(calls).await {
            if let Err(seen) = self.read(&exchange, Some(DEFAULT_LIMIT)) {
                failures += 1;
                first.get_or_insert(seen);
            }
            curl = exchange.curl;
        }
        let fault = first.map(|first| format!("{failures} of {CALLS_AT_ONCE} failed: {first}"));
        self.ledger.judge(Clause::Concurrency, fault, &curl);
    }
}

/// Whether a first page decides most of the clauses about pages.
fn is_telling(first: &CheckedPage) -> bool {
    first.rows.len() == DEFAULT_LIMIT && first.cursor.is_some()
}

/// A refusal of the request itself: by the status, or by the envelope's code.
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

fn judge_status(exchange: &Exchange, wanted: &[u16]) -> Result<String, String> {
    let reply = exchange.outcome.as_ref().map_err(|(_, seen)| seen.clone())?;
    let seen = format!("HTTP {}", reply.status);
    if wanted.contains(&reply.status) { Ok(seen) } else { Err(seen) }
}

/// Epoch milliseconds.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
