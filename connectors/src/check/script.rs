//! The calls of a check in their order: one search that everything else builds on, then keywords, pages, credentials
//! and ten calls at once.

use std::collections::HashMap;
use std::time::{SystemTime, UNIX_EPOCH};

use futures::future::join_all;

use super::CheckSettings;
use super::chain;
use super::clause::Clause;
use super::ledger::Ledger;
use super::page::{CheckedPage, read_reply, show};
use super::probe::{Exchange, Identity, Parameters, Probe, Reply};
use crate::settings::ClientCredentials;

/// Words that most collections hold, tried in turn where the operator names none.
const COMMON_WORDS: [&str; 9] = ["a", "e", "the", "1", "report", "test", "的", "会议", "工作"];
/// A word that nothing should match.
const UNKNOWN_WORD: &str = "zqxjkvbtrawlwqzkx7391";
/// Characters of a long keyword.
const LONG_KEYWORD: usize = 256;
/// The contract's default page.
const DEFAULT_LIMIT: usize = 10;
/// The page that the small ones are held against.
const LARGE_LIMIT: usize = 100;
/// Small pages that a chain aims at.
const AIMED_PAGES: u64 = 8;
/// Small pages after which a chain is left.
const MOST_PAGES: usize = 25;
/// Pages without rows, one after the other, after which a chain has no end.
const MOST_EMPTY_PAGES: usize = 3;
/// Calls made at once.
const CALLS_AT_ONCE: usize = 10;

/// Makes the calls of a check and enters what they show.
pub(super) async fn run(probe: &Probe, settings: &CheckSettings, ledger: &mut Ledger) {
    let Some(identity) = identify(probe, ledger).await else { return };
    let mut script = Script { probe, ledger, identity };
    let Some((keyword, first)) = script.search_first(settings.keyword.as_deref()).await else { return };
    script.try_keywords().await;
    script.try_limits(&keyword, &first).await;
    script.walk(settings, &keyword, &first).await;
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
    let curl = Probe::describe_token_request(credentials);
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
struct Script<'s> {
    probe: &'s Probe,
    ledger: &'s mut Ledger,
    identity: Identity,
}

/// The small pages of one keyword.
struct Walk {
    pages: Vec<CheckedPage>,
    /// Whether the last page had no cursor.
    ended: bool,
    /// The call of the last page.
    curl: String,
}

impl Script<'_> {
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
        // The layers that come one after the other: where one breaks, those before it held.
        const LAYERS: [Clause; 6] = [
            Clause::Http,
            Clause::Redirect,
            Clause::Method,
            Clause::Status,
            Clause::ContentEncoding,
            Clause::Complete,
        ];
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
    fn read(&mut self, exchange: &Exchange, limit: Option<usize>) -> Result<CheckedPage, String> {
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
    async fn page(&mut self, purpose: Clause, parameters: Parameters<'_>) -> Option<(CheckedPage, String)> {
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
        }
        let unknown = Parameters { keyword: Some(UNKNOWN_WORD), limit: Some(DEFAULT_LIMIT), cursor: None };
        if let Some((page, curl)) = self.page(Clause::KeywordUnknown, unknown).await {
            match page.rows.len() {
                0 => self.ledger.pass(Clause::KeywordUnknown, "an empty success", &curl),
                sent => self.ledger.fail(Clause::KeywordUnknown, format!("{sent} items"), &curl),
            }
        }
        let missing = Parameters { keyword: None, limit: Some(DEFAULT_LIMIT), cursor: None };
        let exchange = self.probe.call(missing, &self.identity).await;
        match judge_refusal(&exchange) {
            Ok(seen) => self.ledger.pass(Clause::KeywordRequired, seen, &exchange.curl),
            Err(seen) => self.ledger.fail(Clause::KeywordRequired, seen, &exchange.curl),
        }
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

    /// The clauses about several pages: small ones to the end, held against one large page before and after.
    async fn walk(&mut self, settings: &CheckSettings, keyword: &str, first: &CheckedPage) {
        let large = Parameters { keyword: Some(keyword), limit: Some(LARGE_LIMIT), cursor: None };
        let exchange = self.probe.call(large, &self.identity).await;
        // The contract names no highest limit: a source that refuses this one is held against its first page.
        let before = self.read(&exchange, Some(LARGE_LIMIT)).unwrap_or_else(|_| first.clone());
        if before.rows.len() < 2 {
            for clause in [
                Clause::ItemIdStable,
                Clause::CursorAdvances,
                Clause::CursorEnds,
                Clause::CursorUnique,
                Clause::CursorComplete,
                Clause::CursorRepeatable,
                Clause::Order,
            ] {
                let why =
                    format!("the keyword {} has fewer than 2 matches: name one with more", show(keyword));
                self.ledger.unknown(clause, why);
            }
            return;
        }
        let limit = choose_limit(&before);
        let Some(walk) = self.walk_pages(keyword, limit).await else { return };
        self.repeat_cursor(keyword, limit, &walk).await;
        let exchange = self.probe.call(large, &self.identity).await;
        let Ok(after) = self.read(&exchange, Some(LARGE_LIMIT)).or_else(|_| Ok::<_, ()>(before.clone()))
        else {
            return;
        };
        self.judge(Clause::ItemIdStable, chain::find_unstable(&before, &after), &exchange.curl);
        self.judge_walk(settings, limit, &before, &after, &walk);
    }

    fn judge_walk(
        &mut self,
        settings: &CheckSettings,
        limit: usize,
        before: &CheckedPage,
        after: &CheckedPage,
        walk: &Walk,
    ) {
        let Walk { pages, ended, curl } = walk;
        if pages.len() > 1 {
            self.judge(Clause::CursorUnique, chain::find_repeated(pages), curl);
        } else {
            self.ledger.unknown(Clause::CursorUnique, "there is one page only");
        }
        let walked: usize = pages.iter().map(|page| page.rows.len()).sum();
        if *ended || walked >= before.rows.len() + limit {
            self.judge(Clause::CursorComplete, chain::find_lost(before, after, pages), curl);
        }
        let total = pages.first().and_then(|page| page.total);
        let different = chain::count_different(pages);
        if let Some(total) = total
            && different as u64 > total
        {
            let seen = format!("`total` is {total}, and {different} different rows came");
            self.ledger.fail(Clause::Total, seen, curl);
        }
        self.judge(Clause::Order, chain::find_misplaced(settings.order, before, pages), curl);
    }

    /// The small pages from the first on, as far as they lead.
    async fn walk_pages(&mut self, keyword: &str, limit: usize) -> Option<Walk> {
        let mut walk = Walk { pages: Vec::new(), ended: false, curl: String::new() };
        let mut asked: HashMap<String, usize> = HashMap::new();
        let mut cursor: Option<String> = None;
        let mut empty = 0;
        for number in 1..=MOST_PAGES {
            let purpose = if number == 1 { Clause::Limit } else { Clause::CursorAdvances };
            let parameters =
                Parameters { keyword: Some(keyword), limit: Some(limit), cursor: cursor.as_deref() };
            let Some((page, curl)) = self.page(purpose, parameters).await else { break };
            let next = page.cursor.clone();
            empty = if page.rows.is_empty() { empty + 1 } else { 0 };
            walk.curl = curl;
            walk.pages.push(page);
            let Some(next) = next else {
                walk.ended = true;
                break;
            };
            if cursor.as_ref() == Some(&next) {
                let seen = format!("page {number} has the cursor that it was asked for by: {}", show(&next));
                self.ledger.fail(Clause::CursorAdvances, seen, &walk.curl);
                break;
            }
            if let Some(earlier) = asked.insert(next.clone(), number) {
                let seen = format!("page {number} leads back to the page after page {earlier}");
                self.ledger.fail(Clause::CursorEnds, seen, &walk.curl);
                break;
            }
            if empty == MOST_EMPTY_PAGES {
                let seen = format!("{empty} pages without rows, and still a cursor");
                self.ledger.fail(Clause::CursorEnds, seen, &walk.curl);
                break;
            }
            cursor = Some(next);
        }
        let pages = walk.pages.len();
        if walk.ended {
            self.ledger.pass(Clause::CursorEnds, format!("null on page {pages}"), &walk.curl);
        } else {
            let why = format!("{pages} pages did not reach the end: name a keyword with fewer matches");
            self.ledger.unknown(Clause::CursorEnds, why.clone());
            self.ledger.unknown(Clause::CursorComplete, why);
        }
        if pages > 1 {
            self.ledger.pass(Clause::CursorAdvances, format!("{pages} pages of {limit}"), &walk.curl);
        } else {
            let why = format!("a page of {limit} has no cursor");
            self.ledger.unknown(Clause::CursorAdvances, why.clone());
            self.ledger.unknown(Clause::CursorRepeatable, why);
        }
        (pages > 0).then_some(walk)
    }

    /// Asks for the second page again, now that the chain is done.
    async fn repeat_cursor(&mut self, keyword: &str, limit: usize, walk: &Walk) {
        let [first, second, ..] = walk.pages.as_slice() else { return };
        let parameters =
            Parameters { keyword: Some(keyword), limit: Some(limit), cursor: first.cursor.as_deref() };
        if let Some((again, curl)) = self.page(Clause::CursorRepeatable, parameters).await {
            self.judge(Clause::CursorRepeatable, chain::find_different(second, &again), &curl);
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
        let seen = first.map(|first| format!("{failures} of {CALLS_AT_ONCE} failed: {first}"));
        self.judge(Clause::Concurrency, seen, &curl);
    }

    /// Enters what a look for a fault found.
    fn judge(&mut self, clause: Clause, fault: Option<String>, curl: &str) {
        match fault {
            None => self.ledger.pass(clause, "kept", curl),
            Some(seen) => self.ledger.fail(clause, seen, curl),
        }
    }
}

/// Whether a first page decides most of the clauses about pages.
fn is_telling(first: &CheckedPage) -> bool {
    first.rows.len() == DEFAULT_LIMIT && first.cursor.is_some()
}

/// A limit by which a keyword's matches make several pages.
fn choose_limit(large: &CheckedPage) -> usize {
    let matches = large.total.unwrap_or(0).max(large.rows.len() as u64);
    let limit = usize::try_from(matches.div_ceil(AIMED_PAGES)).unwrap_or(LARGE_LIMIT);
    limit.clamp(1, (large.rows.len() / 2).clamp(1, LARGE_LIMIT))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::page::Row;

    fn large(rows: usize, total: Option<u64>) -> CheckedPage {
        let row = Row { id: String::new(), display_time: None, content: String::new() };
        CheckedPage { rows: vec![row; rows], total, cursor: None }
    }

    #[test]
    fn small_pages_are_several() {
        assert_eq!(choose_limit(&large(57, Some(57))), 8);
        assert_eq!(choose_limit(&large(2, Some(2))), 1);
        assert_eq!(choose_limit(&large(100, Some(1_000_000))), 50);
        assert_eq!(choose_limit(&large(100, None)), 13);
        assert_eq!(choose_limit(&large(3, Some(0))), 1);
    }
}
