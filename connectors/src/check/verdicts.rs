//! Verdicts. The first failure of a clause stays, unless it follows from another clause's.

use super::clause::{ClauseDefinition, ContractClause, DEFINITIONS};
use super::report::{ClauseVerdict, Finding};

#[derive(Debug)]
pub(super) struct Verdicts {
    /// The clauses of this source.
    definitions: &'static [ClauseDefinition],
    entries: Vec<Option<VerdictEntry>>,
    /// Clauses that no later call is about.
    settled: Vec<bool>,
    reported: Vec<bool>,
    undecided_reason: Option<String>,
}

#[derive(Debug)]
struct VerdictEntry {
    verdict: ClauseVerdict,
    seen: String,
    curl: Option<String>,
    is_beside_the_point: bool,
}

impl Verdicts {
    /// Begins with the first clauses undecided.
    pub(super) fn new(clauses: usize) -> Self {
        let none = vec![false; DEFINITIONS.len()];
        Self {
            definitions: &DEFINITIONS[..clauses],
            entries: DEFINITIONS.iter().map(|_| None).collect(),
            settled: none.clone(),
            reported: none,
            undecided_reason: None,
        }
    }

    /// An earlier failure stays.
    pub(super) fn pass(&mut self, clause: ContractClause, seen: impl Into<String>, curl: &str) {
        self.enter(clause, Ok(seen.into()), curl);
    }

    pub(super) fn fail(&mut self, clause: ContractClause, seen: impl Into<String>, curl: &str) {
        self.enter(clause, Err(seen.into()), curl);
    }

    pub(super) fn judge(&mut self, clause: ContractClause, fault: Option<String>, curl: &str) {
        self.enter(clause, fault.map_or_else(|| Ok("kept".to_owned()), Err), curl);
    }

    pub(super) fn enter(&mut self, clause: ContractClause, outcome: Result<String, String>, curl: &str) {
        let (verdict, seen) = match outcome {
            Ok(seen) => (ClauseVerdict::Pass, seen),
            Err(seen) => (ClauseVerdict::Fail, seen),
        };
        let entry = &mut self.entries[clause as usize];
        let yields = |entry: &VerdictEntry| entry.verdict != ClauseVerdict::Fail && entry.verdict != verdict;
        if entry.as_ref().is_none_or(yields) {
            *entry =
                Some(VerdictEntry { verdict, seen, curl: Some(curl.to_owned()), is_beside_the_point: false });
        }
    }

    /// Until a later call decides it.
    pub(super) fn unknown(&mut self, clause: ContractClause, why: impl Into<String>) {
        self.enter_unknown(clause, why.into(), false);
    }

    /// The source does not have what the clause is about.
    pub(super) fn not_applicable(&mut self, clause: ContractClause, why: impl Into<String>) {
        self.enter_unknown(clause, why.into(), true);
    }

    fn enter_unknown(&mut self, clause: ContractClause, seen: String, is_beside_the_point: bool) {
        let entry = &mut self.entries[clause as usize];
        let verdict = ClauseVerdict::Unknown;
        entry.get_or_insert_with(|| VerdictEntry { verdict, seen, curl: None, is_beside_the_point });
    }

    pub(super) fn set_undecided_reason(&mut self, why: String) {
        self.undecided_reason.get_or_insert(why);
    }

    pub(super) fn settle(&mut self, clauses: &[ContractClause]) {
        for clause in clauses {
            self.settled[*clause as usize] = true;
        }
    }

    /// New final findings with their indexes.
    pub(super) fn take_decided(&mut self) -> Vec<(usize, Finding)> {
        let mut decided = Vec::new();
        for definition in self.definitions {
            let place = definition.clause as usize;
            if self.reported[place] || !self.is_decided(definition) {
                continue;
            }
            self.reported[place] = true;
            decided.push((place, self.finding(definition)));
        }
        decided
    }

    fn is_decided(&self, definition: &ClauseDefinition) -> bool {
        let Some(entry) = &self.entries[definition.clause as usize] else { return false };
        let needs_are_settled = || definition.needs.iter().all(|needed| self.settled[*needed as usize]);
        self.settled[definition.clause as usize]
            && (entry.verdict == ClauseVerdict::Pass || needs_are_settled())
    }

    pub(super) fn take_remaining(&mut self) -> Vec<(usize, Finding)> {
        let remaining =
            self.definitions.iter().filter(|definition| !self.reported[definition.clause as usize]);
        let findings =
            remaining.map(|definition| (definition.clause as usize, self.finding(definition))).collect();
        self.reported.fill(true);
        findings
    }

    fn failed(&self, clause: ContractClause) -> bool {
        self.entries[clause as usize].as_ref().is_some_and(|entry| entry.verdict == ClauseVerdict::Fail)
    }

    fn finding(&self, definition: &ClauseDefinition) -> Finding {
        let because =
            |clause: ContractClause| format!("not decided, because `{}` failed", clause.definition().id);
        let open = || {
            let first = self.definitions.iter().find(|definition| self.failed(definition.clause));
            let first = first.map(|definition| because(definition.clause));
            self.undecided_reason.clone().or(first).unwrap_or_else(|| "no call decided it".to_owned())
        };
        let needed = definition.needs.iter().copied().find(|needed| self.failed(*needed));
        let (verdict, seen, curl) = match &self.entries[definition.clause as usize] {
            Some(entry) if entry.verdict == ClauseVerdict::Pass => {
                (ClauseVerdict::Pass, entry.seen.clone(), entry.curl.clone())
            }
            _ if let Some(needed) = needed => (ClauseVerdict::Unknown, because(needed), None),
            Some(entry) => (entry.verdict, entry.seen.clone(), entry.curl.clone()),
            None => (ClauseVerdict::Unknown, open(), None),
        };
        let entry = self.entries[definition.clause as usize].as_ref();
        Finding {
            is_beside_the_point: entry.is_some_and(|entry| entry.is_beside_the_point),
            id: definition.id,
            title: definition.title,
            verdict,
            seen,
            expected: definition.expected,
            curl,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find<'f>(findings: &'f [Finding], id: &str) -> &'f Finding {
        findings.iter().find(|finding| finding.id == id).unwrap()
    }

    #[test]
    fn failure_stays_and_dependent_clauses_are_unknown() {
        let mut verdicts = Verdicts::new(DEFINITIONS.len());
        verdicts.fail(ContractClause::ItemId, "`id` is empty", "curl 1");
        verdicts.pass(ContractClause::ItemId, "5 items", "curl 2");
        verdicts.fail(ContractClause::CursorUnique, "2 rows repeat", "curl 3");
        verdicts.pass(ContractClause::Limit, "10 of 10", "curl 1");
        verdicts.unknown(ContractClause::Limit, "no rows");
        verdicts.unknown(ContractClause::LimitDefault, "only 3 matches");

        let findings: Vec<Finding> =
            verdicts.take_remaining().into_iter().map(|(_, finding)| finding).collect();

        assert_eq!(findings.len(), DEFINITIONS.len());
        let id = find(&findings, "item-id");
        assert_eq!(
            (id.verdict, id.seen.as_str(), id.curl.as_deref()),
            (ClauseVerdict::Fail, "`id` is empty", Some("curl 1"))
        );
        let unique = find(&findings, "cursor-unique");
        assert_eq!(
            (unique.verdict, unique.seen.as_str()),
            (ClauseVerdict::Unknown, "not decided, because `item-id` failed")
        );
        assert_eq!(find(&findings, "limit").verdict, ClauseVerdict::Pass);
        assert_eq!(find(&findings, "limit-default").seen, "only 3 matches");
        assert_eq!(find(&findings, "concurrency").seen, "not decided, because `item-id` failed");
    }

    #[test]
    fn final_finding_is_taken_once() {
        let ids = |taken: Vec<(usize, Finding)>| -> Vec<(&str, ClauseVerdict)> {
            taken.into_iter().map(|(_, finding)| (finding.id, finding.verdict)).collect()
        };
        let mut verdicts = Verdicts::new(DEFINITIONS.len());
        verdicts.pass(ContractClause::Limit, "kept", "curl 1");
        verdicts.fail(ContractClause::LimitDefault, "11 items", "curl 2");
        assert_eq!(ids(verdicts.take_decided()), [], "later answers may break either");
        verdicts.settle(&[ContractClause::LimitDefault, ContractClause::Concurrency]);
        assert_eq!(
            ids(verdicts.take_decided()),
            [],
            "it may follow from the other, and of one nothing is known"
        );
        verdicts.fail(ContractClause::Limit, "12 items", "curl 3");
        verdicts.settle(&[ContractClause::Limit]);
        let expected = [("limit", ClauseVerdict::Fail), ("limit-default", ClauseVerdict::Unknown)];
        assert_eq!(ids(verdicts.take_decided()), expected);
        assert_eq!(ids(verdicts.take_decided()), []);
        let rest = verdicts.take_remaining();
        assert_eq!(rest.len(), DEFINITIONS.len() - 2);
        assert!(rest.iter().all(|(place, finding)| DEFINITIONS[*place].id == finding.id));
    }
}
