//! Running check.

use std::time::{SystemTime, UNIX_EPOCH};

use super::call::CallCredentials;
use super::clause::ContractClause;
use super::page::{CheckedPage, assess};
use super::probe::{Exchange, Probe, Reply};
use super::report::Finding;
use super::verdicts::Verdicts;
use crate::request::ContractParameters;

/// Final findings with their indexes.
pub(super) type Decide<'d> = dyn FnMut(Vec<(usize, Finding)>) + Send + Sync + 'd;

pub(super) struct CheckSession<'s> {
    pub(super) probe: &'s Probe,
    pub(super) verdicts: &'s mut Verdicts,
    pub(super) decide: &'s mut Decide<'s>,
    pub(super) credentials: CallCredentials,
}

impl CheckSession<'_> {
    /// No later call is about these clauses.
    pub(super) fn settle(&mut self, clauses: &[ContractClause]) {
        self.verdicts.settle(clauses);
        (self.decide)(self.verdicts.take_decided());
    }

    pub(super) fn record(
        &mut self,
        reply: &Reply,
        limit: Option<usize>,
        curl: &str,
    ) -> Result<CheckedPage, (ContractClause, String)> {
        let assessment = assess(reply, limit, now());
        for (clause, note) in assessment.noted {
            self.verdicts.pass(clause, note, curl);
        }
        for clause in assessment.kept {
            self.verdicts.pass(clause, "kept in every answer", curl);
        }
        let last = assessment.broken.last().cloned();
        for (clause, seen) in assessment.broken {
            self.verdicts.fail(clause, seen, curl);
        }
        assessment.page.ok_or_else(|| last.unwrap_or((ContractClause::Data, "no page".to_owned())))
    }

    /// The caller records a missing page.
    pub(super) fn read(&mut self, exchange: &Exchange, limit: Option<usize>) -> Result<CheckedPage, String> {
        let reply = exchange.outcome.as_ref().map_err(|(_, seen)| seen.clone())?;
        if reply.status != 200 {
            return Err(format!("HTTP {}", reply.status));
        }
        let assessment = assess(reply, limit, now());
        match assessment.page {
            None => Err(assessment.broken.into_iter().last().map_or_else(String::new, |(_, seen)| seen)),
            Some(_) => self.record(reply, limit, &exchange.curl).map_err(|(_, seen)| seen),
        }
    }

    /// A call that a rate limit refused decides nothing.
    pub(super) fn enter(
        &mut self,
        clause: ContractClause,
        outcome: Result<String, String>,
        exchange: &Exchange,
    ) {
        match (exchange.pause, outcome) {
            (Some(pause), Ok(seen) | Err(seen)) => {
                let seconds = pause.as_secs();
                let why =
                    format!("{seen}: the source asked for fewer requests, and for a wait of {seconds} s");
                self.verdicts.unknown(clause, why);
            }
            (_, outcome) => self.verdicts.enter(clause, outcome, &exchange.curl),
        }
    }

    /// Reads the page of a call; without one, `purpose` is broken.
    ///
    /// Where its bytes or a refusal of good credentials are at fault, another clause is.
    pub(super) async fn page(
        &mut self,
        purpose: ContractClause,
        parameters: ContractParameters<'_>,
    ) -> Option<(CheckedPage, String)> {
        let mut exchange = self.probe.call(parameters, &self.credentials).await;
        if let Some(seen) = refusal_of_credentials(&exchange) {
            self.verdicts.fail(ContractClause::Status, seen, &exchange.curl);
            exchange = self.probe.call(parameters, &self.credentials).await;
        }
        let seen = match self.read(&exchange, parameters.limit) {
            Ok(page) => return Some((page, exchange.curl)),
            Err(seen) => seen,
        };
        let clause = match &exchange.outcome {
            Ok(reply) if reply.status == 200 && !is_utf8(&reply.body) => ContractClause::Utf8,
            _ if refusal_of_credentials(&exchange).is_some() => ContractClause::Status,
            _ => purpose,
        };
        if clause != purpose {
            let because = format!("not decided, because `{}` failed", clause.definition().id);
            self.verdicts.unknown(purpose, because);
        }
        self.enter(clause, Err(seen), &exchange);
        None
    }
}

/// Other calls were made with the same credentials.
fn refusal_of_credentials(exchange: &Exchange) -> Option<String> {
    let status = exchange.outcome.as_ref().ok().map(|reply| reply.status)?;
    (status == 401).then(|| "HTTP 401 to credentials that other calls were answered with".to_owned())
}

fn is_utf8(body: &[u8]) -> bool {
    std::str::from_utf8(body).is_ok()
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
