//! Everything at once with faults: people, strangers, and a machine that fails again and again.

use std::{process::Command, sync::Arc, time::Duration};

use tokio::time::sleep;

use super::{
    curves,
    gauges::{Gauges, Sample},
    journal::{Call, counts, quantile},
    people::{self, ENTRANT, PERSON, READER, WRITER},
    strangers,
    workplace::Workplace,
};
use crate::util::program::children_of;

/// Time that a fault lasts, and that follows it.
pub(super) const FAULT_TIME: Duration = Duration::from_secs(5);
const CALM_TIME: Duration = Duration::from_secs(10);
/// Part of the calm in which a server may still recover.
///
/// A source that failed for five seconds is suspended for four more.
const RECOVERY_TIME: Duration = Duration::from_secs(6);
/// The fault of a system that people search.
const EXPIRED_CERTIFICATE: &str = "expired certificate";
/// Memory, descriptors and tasks at rest grow by less than these.
const MAX_GROWTH: u64 = 48 << 20;
const MAX_MORE: u64 = 16;

/// Seconds of the whole; two rounds of all faults take as long at least.
pub(super) fn seconds() -> u64 {
    std::env::var("TRAWL_SOAK_SECONDS").map_or_else(|_| 180, |seconds| seconds.parse().unwrap())
}

/// Servers that a test lets fail.
pub(super) trait Machine {
    /// Names of the faults.
    const FAULTS: &'static [&'static str];

    /// Lets a fault happen, and mends it.
    async fn fail(&mut self, fault: &'static str);

    /// The process that lives throughout.
    fn process(&self) -> u32;

    /// Waits until all servers are ready and their indexes follow.
    async fn recover(&self);

    /// Tasks of the process that lives throughout.
    async fn tasks(&self) -> u64;
}

/// A time in which calls may fail.
#[derive(Clone, Copy, Debug)]
pub(super) struct Failure {
    pub(super) name: &'static str,
    pub(super) from: Duration,
    pub(super) to: Duration,
}

/// The memory, descriptors and tasks of a server while nobody calls.
#[derive(Clone, Copy, Debug)]
struct Rest {
    at: Duration,
    memory: u64,
    descriptors: usize,
    tasks: u64,
}

/// Ends the processes that read for a server.
pub(super) fn kill_readers(server: u32) {
    for child in children_of(server) {
        // It may have ended meanwhile.
        _ = Command::new("kill")
            .args(["-9", &child.to_string()])
            .stderr(std::process::Stdio::null())
            .status();
    }
}

/// Goes through all faults again and again, with a rest after each round.
pub(super) async fn soak<M: Machine>(name: &str, workplace: Arc<Workplace>, mut machine: M) {
    let gauges = Arc::new(Gauges::default());
    let (following, measured, process) = (Arc::clone(&gauges), Arc::clone(&workplace), machine.process());
    let following = tokio::spawn(async move { following.follow(&measured.journal, || Some(process)).await });
    workplace.set_hostile(true);
    let (mut failures, mut rests) = (Vec::new(), Vec::new());
    let end = Duration::from_secs(seconds());
    while rests.len() < 2 || workplace.journal.now() < end {
        let begun = workplace.journal.now();
        let all = (people::begin(&workplace), strangers::begin(&workplace));
        for fault in M::FAULTS.iter().chain([&EXPIRED_CERTIFICATE]) {
            sleep(CALM_TIME).await;
            let from = workplace.journal.now();
            if *fault == EXPIRED_CERTIFICATE {
                workplace.foreign.relay.show_expired(true);
                sleep(FAULT_TIME).await;
                workplace.foreign.relay.show_expired(false);
            } else {
                machine.fail(fault).await;
            }
            machine.recover().await;
            failures.push(Failure { name: fault, from, to: workplace.journal.now() + RECOVERY_TIME });
        }
        sleep(CALM_TIME).await;
        drop(all);
        let calls = workplace.journal.between(begun, workplace.journal.now());
        rests.push(rest(&workplace, &machine, &gauges).await);
        print_round(&calls, rests.last().unwrap());
    }
    following.abort();
    curves::write(name, &workplace.journal, &gauges, &failures);
    assert_answered(&workplace, &failures);
    assert_flat(&rests);
    let (missing, lost) = (workplace.missing_items().await, workplace.lost.lock().unwrap().clone());
    assert!(missing.is_empty() && lost.is_empty(), "missing: {missing:?}; not met by walks: {lost:?}");
    println!(
        "{} walks through whole pages lost nothing",
        workplace.walks.load(std::sync::atomic::Ordering::Relaxed)
    );
}

/// Looks at the server while nothing is done.
async fn rest(workplace: &Workplace, machine: &impl Machine, gauges: &Gauges) -> Rest {
    kill_readers(machine.process());
    machine.recover().await;
    sleep(CALM_TIME).await;
    let Sample { own_memory: memory, descriptors, .. } = gauges.last().unwrap();
    Rest { at: workplace.journal.now(), memory, descriptors, tasks: machine.tasks().await }
}

fn print_round(calls: &[Call], rest: &Rest) {
    let ms = |client, of_thousand| quantile(calls, client, of_thousand).as_millis();
    println!(
        "{} s: people's pages take {} ms in the median, {} ms at p99; at rest {} MiB, {} descriptors, {} tasks",
        rest.at.as_secs(),
        ms(PERSON, 500),
        ms(PERSON, 990),
        rest.memory >> 20,
        rest.descriptors,
        rest.tasks,
    );
    println!("    calls by client and status: {:?}", counts(calls));
}

/// Outside of failures, people and applications were answered.
fn assert_answered(workplace: &Workplace, failures: &[Failure]) {
    let fails_at = |call: &Call| {
        failures
            .iter()
            .any(|failure| call.at >= failure.from && call.at.saturating_sub(call.took) <= failure.to)
    };
    let calls = workplace.journal.between(Duration::ZERO, Duration::MAX);
    let refused = calls.into_iter().filter(|call| [PERSON, WRITER, READER, ENTRANT].contains(&call.client));
    let refused: Vec<Call> =
        refused.filter(|call| !matches!(call.status, 200 | 303) && !fails_at(call)).collect();
    assert!(refused.is_empty(), "{refused:?} beside {failures:?}");
}

/// Asserts that the median of the later rests is that of the earlier ones.
///
/// A single rest may fall into a merge of segments, or just before the allocator gives pages back.
fn assert_flat(rests: &[Rest]) {
    let (first, last) = rests.split_at(rests.len() / 2);
    let grown = |measure: fn(&Rest) -> u64| median(last, measure).saturating_sub(median(first, measure));
    assert!(grown(|rest| rest.memory) <= MAX_GROWTH, "memory: {rests:?}");
    assert!(grown(|rest| rest.descriptors as u64) <= MAX_MORE, "descriptors: {rests:?}");
    assert!(grown(|rest| rest.tasks) <= MAX_MORE, "tasks: {rests:?}");
}

fn median(rests: &[Rest], measure: fn(&Rest) -> u64) -> u64 {
    let mut measures: Vec<u64> = rests.iter().map(measure).collect();
    measures.sort_unstable();
    measures[measures.len() / 2]
}
