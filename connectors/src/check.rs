//! Conformance check: one verdict for each clause of the contract.
//!
//! It uses the client's transport, without the client's tolerance. A failure that follows from another clause's failure is no verdict of
//! its own, so each fault shows under one name. A finding is reported once no later call can change it.
//!
//! `trial` shows one call. `script` and `multi_page` make the calls through `probe`. `page` and `page_chain` judge answers. `verdicts` decides the clauses.

mod call;
mod clause;
mod curl;
mod keywords;
mod multi_page;
mod page;
mod page_chain;
mod probe;
mod report;
mod script;
mod session;
mod trial;
mod verdicts;

use std::time::Duration;

use self::clause::{COMMON_CLAUSES, DEFINITIONS};
use self::probe::Probe;
pub use self::report::{ClauseVerdict, Decided, Finding, LatencyPercentiles, Report};
pub use self::trial::{Trial, try_source};
use self::verdicts::Verdicts;
use crate::addresses::AddressRules;
use crate::settings::{DeclaredOrder, SettingsError, SourceSettings};

/// Clauses undecided by then stay unknown.
const MAX_CHECK: Duration = Duration::from_mins(1);

/// Number of clauses; those about assertions are for sources that take them.
pub const CLAUSES: usize = DEFINITIONS.len();

/// Check settings.
#[derive(Clone, Debug)]
pub struct CheckSettings {
    /// The timeout applies to each call; `max_concurrency` is ignored.
    pub source: SourceSettings,
    /// Declared order.
    pub order: DeclaredOrder,
    /// Synchronised id of the person who asks, if the source has an identity.
    pub person: Option<String>,
    /// Word with more than ten matches; `None` tries common words.
    pub keyword: Option<String>,
}

/// Prepared check.
pub struct Check {
    settings: CheckSettings,
    probe: Probe,
}

impl Check {
    /// Fails for settings that can never work.
    pub fn new(settings: CheckSettings, rules: &AddressRules) -> Result<Self, SettingsError> {
        let probe = Probe::new(&settings.source, settings.person.as_deref(), rules)?;
        Ok(Self { settings, probe })
    }

    /// Runs about thirty searches, and `tell`s each clause once it is decided.
    pub async fn run(self, tell: &mut Tell<'_>) -> Report {
        let Self { settings, probe } = self;
        let count = if probe.takes_assertions() { CLAUSES } else { COMMON_CLAUSES };
        let mut verdicts = Verdicts::new(count);
        let mut clauses = vec![None; count];
        let mut decide = |decided: Vec<(usize, Finding)>| {
            for (index, mut finding) in decided {
                probe.redact(&mut finding);
                tell(Decided { index, count, finding: finding.clone() });
                clauses[index] = Some(finding);
            }
        };
        let keyword = settings.keyword.as_deref();
        let whole = script::run(&probe, settings.order, keyword, &mut verdicts, &mut decide);
        if tokio::time::timeout(MAX_CHECK, whole).await.is_err() {
            let limits = match probe.waits() {
                0 => String::new(),
                waits => format!("; the source asked {waits} times for fewer requests"),
            };
            verdicts.set_undecided_reason(format!("the check ended after {} s{limits}", MAX_CHECK.as_secs()));
        }
        decide(verdicts.take_remaining());
        let clauses: Vec<Finding> = clauses.into_iter().flatten().collect();
        Report {
            url: settings.source.url.to_string(),
            method: settings.source.method.name(),
            passed: clauses.iter().all(|finding| finding.verdict != ClauseVerdict::Fail),
            clauses,
            latency_ms: LatencyPercentiles::of(probe.into_times()),
        }
    }
}

/// Callback for each decided clause.
pub type Tell<'t> = dyn FnMut(Decided) + Send + Sync + 't;

/// Runs a whole check.
///
/// Fails for settings that can never work; faults of the source are [`Finding`]s.
pub async fn check(settings: CheckSettings, rules: &AddressRules) -> Result<Report, SettingsError> {
    Ok(Check::new(settings, rules)?.run(&mut |_decided| {}).await)
}
