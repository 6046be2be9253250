//! The verdicts as they come in: the first failure of a clause stays, and a failure that follows from another's is
//! none of its own.

use super::clause::{Clause, TERMS, Terms};
use super::{Finding, Verdict};

/// What is known of every clause so far.
#[derive(Debug)]
pub(super) struct Ledger {
    entries: Vec<Option<Entry>>,
    /// Clauses about which nothing more comes.
    settled: Vec<bool>,
    /// Clauses whose findings were taken already.
    told: Vec<bool>,
    open: Option<String>,
}

#[derive(Debug)]
struct Entry {
    verdict: Verdict,
    seen: String,
    curl: Option<String>,
}

impl Default for Ledger {
    fn default() -> Self {
        let none = vec![false; TERMS.len()];
        Self { entries: TERMS.iter().map(|_| None).collect(), settled: none.clone(), told: none, open: None }
    }
}

impl Ledger {
    /// The clause was kept in the call `curl`; a failure that came before stays.
    pub(super) fn pass(&mut self, clause: Clause, seen: impl Into<String>, curl: &str) {
        let entry = &mut self.entries[clause as usize];
        if entry.as_ref().is_none_or(|entry| entry.verdict == Verdict::Unknown) {
            *entry = Some(Entry { verdict: Verdict::Pass, seen: seen.into(), curl: Some(curl.to_owned()) });
        }
    }

    /// The clause was broken in the call `curl`.
    pub(super) fn fail(&mut self, clause: Clause, seen: impl Into<String>, curl: &str) {
        let entry = &mut self.entries[clause as usize];
        if entry.as_ref().is_none_or(|entry| entry.verdict != Verdict::Fail) {
            *entry = Some(Entry { verdict: Verdict::Fail, seen: seen.into(), curl: Some(curl.to_owned()) });
        }
    }

    /// What a look for a fault in the call `curl` found.
    pub(super) fn judge(&mut self, clause: Clause, fault: Option<String>, curl: &str) {
        match fault {
            None => self.pass(clause, "kept", curl),
            Some(seen) => self.fail(clause, seen, curl),
        }
    }

    /// The clause cannot be decided, for this reason, unless something else decides it.
    pub(super) fn unknown(&mut self, clause: Clause, why: impl Into<String>) {
        let entry = &mut self.entries[clause as usize];
        entry.get_or_insert_with(|| Entry { verdict: Verdict::Unknown, seen: why.into(), curl: None });
    }

    /// Whatever has no verdict yet stays open for this reason.
    pub(super) fn leave_open(&mut self, why: String) {
        self.open.get_or_insert(why);
    }

    /// Nothing more comes about these clauses.
    pub(super) fn settle(&mut self, clauses: &[Clause]) {
        for clause in clauses {
            self.settled[*clause as usize] = true;
        }
    }

    /// The findings that are certain by now and were not taken before, with their places among all.
    pub(super) fn take_decided(&mut self) -> Vec<(usize, Finding)> {
        let mut decided = Vec::new();
        for terms in TERMS {
            let place = terms.clause as usize;
            if self.told[place] || !self.is_decided(terms) {
                continue;
            }
            self.told[place] = true;
            decided.push((place, self.finding(terms)));
        }
        decided
    }

    /// Whether nothing that is still to come can change the finding.
    fn is_decided(&self, terms: &Terms) -> bool {
        let Some(entry) = &self.entries[terms.clause as usize] else { return false };
        // A failure may turn out to follow from another one.
        let needs_are_settled = || terms.needs.iter().all(|needed| self.settled[*needed as usize]);
        self.settled[terms.clause as usize] && (entry.verdict == Verdict::Pass || needs_are_settled())
    }

    /// The findings that were not taken before, with their places: nothing more comes about any clause.
    pub(super) fn take_rest(&mut self) -> Vec<(usize, Finding)> {
        let left = TERMS.iter().filter(|terms| !self.told[terms.clause as usize]);
        let rest = left.map(|terms| (terms.clause as usize, self.finding(terms))).collect();
        self.told.fill(true);
        rest
    }

    fn failed(&self, clause: Clause) -> bool {
        self.entries[clause as usize].as_ref().is_some_and(|entry| entry.verdict == Verdict::Fail)
    }

    /// The verdict on a clause as it stands.
    fn finding(&self, terms: &Terms) -> Finding {
        let because = |clause: Clause| format!("not decided, because `{}` failed", clause.terms().id);
        let open = || {
            let first = TERMS.iter().find(|terms| self.failed(terms.clause));
            let first = first.map(|terms| because(terms.clause));
            self.open.clone().or(first).unwrap_or_else(|| "nothing that was seen decides it".to_owned())
        };
        let needed = terms.needs.iter().copied().find(|needed| self.failed(*needed));
        let (verdict, seen, curl) = match &self.entries[terms.clause as usize] {
            Some(entry) if entry.verdict == Verdict::Pass => {
                (Verdict::Pass, entry.seen.clone(), entry.curl.clone())
            }
            _ if let Some(needed) = needed => (Verdict::Unknown, because(needed), None),
            Some(entry) => (entry.verdict, entry.seen.clone(), entry.curl.clone()),
            None => (Verdict::Unknown, open(), None),
        };
        Finding { id: terms.id, title: terms.title, verdict, seen, expected: terms.expected, curl }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find<'f>(findings: &'f [Finding], id: &str) -> &'f Finding {
        findings.iter().find(|finding| finding.id == id).unwrap()
    }

    #[test]
    fn a_failure_stays_and_what_follows_from_it_is_not_decided() {
        let mut ledger = Ledger::default();
        ledger.fail(Clause::ItemId, "`id` is empty", "curl 1");
        ledger.pass(Clause::ItemId, "5 items", "curl 2");
        ledger.fail(Clause::CursorUnique, "2 rows repeat", "curl 3");
        ledger.pass(Clause::Limit, "10 of 10", "curl 1");
        ledger.unknown(Clause::Limit, "no rows");
        ledger.unknown(Clause::LimitDefault, "only 3 matches");

        let findings: Vec<Finding> = ledger.take_rest().into_iter().map(|(_, finding)| finding).collect();

        assert_eq!(findings.len(), TERMS.len());
        let id = find(&findings, "item-id");
        assert_eq!(
            (id.verdict, id.seen.as_str(), id.curl.as_deref()),
            (Verdict::Fail, "`id` is empty", Some("curl 1"))
        );
        let unique = find(&findings, "cursor-unique");
        assert_eq!(
            (unique.verdict, unique.seen.as_str()),
            (Verdict::Unknown, "not decided, because `item-id` failed")
        );
        assert_eq!(find(&findings, "limit").verdict, Verdict::Pass);
        assert_eq!(find(&findings, "limit-default").seen, "only 3 matches");
        assert_eq!(find(&findings, "concurrency").seen, "not decided, because `item-id` failed");
    }

    #[test]
    fn a_finding_is_taken_once_it_is_certain_and_once_only() {
        let ids = |taken: Vec<(usize, Finding)>| -> Vec<(&str, Verdict)> {
            taken.into_iter().map(|(_, finding)| (finding.id, finding.verdict)).collect()
        };
        let mut ledger = Ledger::default();
        ledger.pass(Clause::Limit, "kept", "curl 1");
        ledger.fail(Clause::LimitDefault, "11 items", "curl 2");
        assert_eq!(ids(ledger.take_decided()), [], "later answers may break either");
        ledger.settle(&[Clause::LimitDefault, Clause::Concurrency]);
        assert_eq!(
            ids(ledger.take_decided()),
            [],
            "it may follow from the other, and of one nothing is known"
        );
        ledger.fail(Clause::Limit, "12 items", "curl 3");
        ledger.settle(&[Clause::Limit]);
        let expected = [("limit", Verdict::Fail), ("limit-default", Verdict::Unknown)];
        assert_eq!(ids(ledger.take_decided()), expected);
        assert_eq!(ids(ledger.take_decided()), []);
        let rest = ledger.take_rest();
        assert_eq!(rest.len(), TERMS.len() - 2);
        assert!(rest.iter().all(|(place, finding)| TERMS[*place].id == finding.id));
    }
}
