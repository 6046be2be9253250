//! The conformance check: each clause of the contract by name, so that the author of a source knows what is kept,
//! what is broken and how to see it again (decisions 7.5).
//!
//! | Module | What it holds |
//! |---|---|
//! | `clause` | The clauses: id, sentence, what is expected, and which others one needs to be decided |
//! | `probe` | One call: its answer and its time; tokens |
//! | `curl` | A call as a command line |
//! | `page` | An answer read strictly, without I/O: which clauses it keeps and breaks |
//! | `chain` | What several pages say together, without I/O: repeated, lost and misplaced rows |
//! | `script` | The calls of a check, in their order |
//! | `walk` | Those of them that follow the pages of a keyword |
//! | `ledger` | The verdicts as they come in |

mod chain;
mod clause;
mod curl;
mod ledger;
mod page;
mod probe;
mod script;
mod walk;

use std::slice;
use std::time::Duration;

use serde::Serialize;

use self::clause::TERMS;
use self::ledger::Ledger;
use self::probe::Probe;
use crate::addresses::AddressRules;
use crate::settings::{DeclaredOrder, SettingsError, SourceSettings};

/// The longest that a whole check takes; what is undecided then stays so.
const LONGEST_CHECK: Duration = Duration::from_mins(1);

/// How many clauses the contract has.
pub const CLAUSES: usize = TERMS.len();

/// What is to be checked.
#[derive(Clone, Debug)]
pub struct CheckSettings {
    /// How the source is called. Its timeout is each call's; its concurrency is not kept, as ten calls at once are a
    /// clause.
    pub source: SourceSettings,
    /// In which order it says it sends its matches.
    pub order: DeclaredOrder,
    /// A word with more than ten matches; `None` tries some that are common.
    pub keyword: Option<String>,
}

/// What a check found.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The interface URL.
    pub url: String,
    /// `GET` or `POST`.
    pub method: &'static str,
    /// Whether no clause failed.
    pub passed: bool,
    /// Every clause, always all of them in the same order.
    pub clauses: Vec<Finding>,
    /// How long answered calls took.
    pub latency_ms: Latency,
}

/// The verdict on one clause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The clause's name, which stays the same from version to version.
    pub id: &'static str,
    /// The clause as a sentence.
    pub title: &'static str,
    /// How it ended.
    pub verdict: Verdict,
    /// What the source did, or why this could not be told. Safe to print: cleaned, cut, and without tokens.
    pub seen: String,
    /// What the contract wants.
    pub expected: &'static str,
    /// The call that decided, as a command line in which `$TOKEN` stands for the token.
    pub curl: Option<String>,
}

/// How a clause ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The source keeps the clause, as far as was seen.
    Pass,
    /// It breaks the clause.
    Fail,
    /// It could not be told.
    Unknown,
}

/// Percentiles of the answered calls, in milliseconds; `None` where no call was answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Latency {
    /// The median.
    pub p50: Option<f64>,
    /// Nine of ten calls took at most this.
    pub p90: Option<f64>,
    /// 99 of 100 calls took at most this.
    pub p99: Option<f64>,
}

/// A clause whose verdict nothing that is still to come can change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Decided {
    /// Its place in [`Report::clauses`], from 0 on.
    pub index: usize,
    /// How many clauses there are.
    pub count: usize,
    /// Its element of [`Report::clauses`].
    #[serde(flatten)]
    pub finding: Finding,
}

/// A check that can begin.
pub struct Check {
    settings: CheckSettings,
    probe: Probe,
}

impl Check {
    /// A check by these settings, of a source that these rules allow to be called.
    ///
    /// # Errors
    /// Settings that can never work.
    pub fn new(settings: CheckSettings, rules: &AddressRules) -> Result<Self, SettingsError> {
        let probe = Probe::new(&settings.source, rules)?;
        Ok(Self { settings, probe })
    }

    /// Makes some thirty calls, which all only search, and `tell`s of each clause, once, when it is decided; many are only by
    /// the last call, as each answer may break them.
    pub async fn run(self, tell: &mut Tell<'_>) -> Report {
        let Self { settings, probe } = self;
        let mut ledger = Ledger::default();
        let mut clauses = vec![None; CLAUSES];
        let mut decide = |decided: Vec<(usize, Finding)>| {
            for (index, mut finding) in decided {
                probe.blot(slice::from_mut(&mut finding));
                tell(Decided { index, count: CLAUSES, finding: finding.clone() });
                clauses[index] = Some(finding);
            }
        };
        let whole = script::run(&probe, &settings, &mut ledger, &mut decide);
        if tokio::time::timeout(LONGEST_CHECK, whole).await.is_err() {
            ledger.leave_open(format!("the check was ended after {} s", LONGEST_CHECK.as_secs()));
        }
        decide(ledger.take_rest());
        let clauses: Vec<Finding> = clauses.into_iter().flatten().collect();
        Report {
            url: settings.source.url.to_string(),
            method: settings.source.method.name(),
            passed: clauses.iter().all(|finding| finding.verdict != Verdict::Fail),
            clauses,
            latency_ms: Latency::of(probe.into_times()),
        }
    }
}

/// Hears of each clause when it is decided.
pub type Tell<'t> = dyn FnMut(Decided) + Send + Sync + 't;

/// Checks a source against the contract with some thirty calls, which all only search.
///
/// # Errors
/// Settings that can never work. Whatever the source does is a [`Finding`].
pub async fn check(settings: CheckSettings, rules: &AddressRules) -> Result<Report, SettingsError> {
    Ok(Check::new(settings, rules)?.run(&mut |_decided| {}).await)
}

impl Latency {
    /// The percentiles (nearest rank) of these times.
    fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        let rank = |percent: usize| {
            let place = (times.len() * percent).div_ceil(100).checked_sub(1)?;
            // Tenths of a millisecond: more would be noise.
            times.get(place).map(|time| (time.as_secs_f64() * 10_000.0).round() / 10.0)
        };
        Self { p50: rank(50), p90: rank(90), p99: rank(99) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_the_nearest_rank() {
        let times = (1..=10).rev().map(Duration::from_millis).collect();
        assert_eq!(Latency::of(times), Latency { p50: Some(5.0), p90: Some(9.0), p99: Some(10.0) });
        assert_eq!(
            Latency::of(vec![Duration::from_micros(1260)]),
            Latency { p50: Some(1.3), p90: Some(1.3), p99: Some(1.3) }
        );
        assert_eq!(Latency::of(Vec::new()), Latency::default());
    }
}
