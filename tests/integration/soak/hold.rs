//! People who search beside strangers who send harmless inputs, then hostile ones.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
    sync::Arc,
    time::Duration,
};

use tokio::time::sleep;

use super::{
    faults::kill_readers,
    gauges::{Gauges, Sample},
    journal::{Call, counts, quantile},
    people::{self, ENTRANT, PERSON, WRITER},
    strangers,
    workplace::{Applications, MALLORY, NORTHWIND, SCOPES, Workplace, settings},
};
use crate::util::{
    program::{Process, Server, create_operator, create_with_scopes, trawl},
    tls::Authority,
};

/// The most memory of a server with all its processes.
const MAX_MEMORY: u64 = 1 << 30;
const WARM_UP: Duration = Duration::from_secs(5);

/// Seconds of hostile inputs; those of harmless ones are a sixth each before and after.
fn seconds() -> u64 {
    std::env::var("TRAWL_SOAK_SECONDS").map_or_else(|_| 60, |seconds| seconds.parse().unwrap())
}

/// By hand, the index is as large as that of a company.
fn items() -> usize {
    if std::env::var_os("TRAWL_SOAK_SECONDS").is_some() { 100_000 } else { 4_000 }
}

/// Loads the demo's data.
async fn load_demo(data: &Path) {
    let mut command = trawl(&["serve", "--demo", "--listen", "127.0.0.1:0"]);
    command.arg("--data").arg(data).stdout(Stdio::piped()).stderr(Stdio::null());
    let load = move || {
        let mut demo = Process(command.spawn().unwrap());
        let lines = BufReader::new(demo.0.stdout.take().unwrap()).lines();
        assert!(lines.map(Result::unwrap).any(|line| line.contains("Stop with Ctrl-C")));
        let stop = Command::new("kill").args(["-TERM", &demo.0.id().to_string()]).status().unwrap();
        assert!(stop.success() && demo.0.wait().unwrap().success());
    };
    tokio::task::spawn_blocking(load).await.unwrap();
}

struct Phase {
    calls: Vec<Call>,
    samples: Vec<Sample>,
}

/// Lets strangers go on for a time.
async fn phase(workplace: &Arc<Workplace>, gauges: &Gauges, inputs: &str, seconds: u64) -> Phase {
    workplace.set_hostile(inputs == "hostile");
    let strangers = strangers::begin(workplace);
    sleep(WARM_UP).await;
    let from = workplace.journal.now();
    sleep(Duration::from_secs(seconds)).await;
    let to = workplace.journal.now();
    drop(strangers);
    let phase = Phase { calls: workplace.journal.between(from, to), samples: gauges.between(from, to) };
    phase.print(inputs);
    phase
}

impl Phase {
    fn print(&self, inputs: &str) {
        let ms = |of_thousand| quantile(&self.calls, PERSON, of_thousand).as_secs_f64() * 1_000.0;
        let peak = |of: fn(&Sample) -> u64| self.samples.iter().map(of).max().unwrap_or_default() >> 20;
        println!(
            "{inputs} inputs: a person's page takes {:.1} ms in the median, {:.1} ms at p99; memory {} MiB with {} processes at most, the server alone {} MiB",
            ms(500),
            ms(990),
            peak(|sample| sample.memory),
            self.samples.iter().map(|sample| sample.processes).max().unwrap_or_default(),
            peak(|sample| sample.own_memory),
        );
        println!("    calls by client and status: {:?}", counts(&self.calls));
    }
}

/// No harmless call was refused, and no answer was partial.
fn assert_answered(phase: &Phase, is_harmless: impl Fn(&str) -> bool) {
    let refused: Vec<_> = counts(&phase.calls)
        .into_iter()
        .filter(|((client, status), _)| is_harmless(client) && !matches!(status, 200 | 303))
        .collect();
    assert!(refused.is_empty(), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "tests/soak/run runs it"]
async fn people_are_answered_in_bounded_memory_beside_hostile_inputs() {
    let (directory, authority) = (tempfile::tempdir().unwrap(), Authority::new());
    let data = directory.path().join("data");
    load_demo(&data).await;
    let folder = directory.path().join("views");
    let server = Server::launch_by(&data, "127.0.0.1:0", settings(&folder, &authority), &[]).await;
    server.wait_until_ready().await;
    let applications = Applications {
        northwind: create_with_scopes(&data, NORTHWIND, &SCOPES).await,
        mallory: create_with_scopes(&data, MALLORY, &SCOPES).await,
        mallorys_operator: create_operator(&data, MALLORY).await,
        northwinds_operator: create_operator(&data, NORTHWIND).await,
    };
    let workplace = Arc::new(Workplace::new(vec![server.base.clone()], &applications, &authority, 1).await);
    workplace.add_people().await;
    workplace.fill(items(), &folder).await;
    server.wait_for_index().await;

    let gauges = Arc::new(Gauges::default());
    let (measured, id) = (Arc::clone(&workplace), server.id());
    let following = Arc::clone(&gauges);
    let following = tokio::spawn(async move { following.follow(&measured.journal, || Some(id)).await });
    let people = people::begin(&workplace);
    let before = phase(&workplace, &gauges, "harmless", seconds() / 6).await;
    let hostile = phase(&workplace, &gauges, "hostile", seconds()).await;
    kill_readers(id);
    let after = phase(&workplace, &gauges, "harmless", seconds() / 6).await;
    following.abort();
    drop(people);
    assert_answered(&before, |_| true);
    // Sources that were hostile stay suspended for a while.
    assert_answered(&after, |client| !["mapped", "plain"].contains(&client));
    assert_answered(&hostile, |client| [PERSON, WRITER, ENTRANT].contains(&client));
    let missing = workplace.missing_items().await;
    assert!(missing.is_empty(), "{missing:?}");
    let [beside_harmless, beside_hostile] =
        [&before, &hostile].map(|phase| quantile(&phase.calls, PERSON, 990));
    assert!(beside_hostile <= 2 * beside_harmless, "p99: {beside_hostile:?} beside {beside_harmless:?}");
    let peak = hostile.samples.iter().map(|sample| sample.memory).max().unwrap();
    assert!(peak <= MAX_MEMORY, "{} MiB", peak >> 20);
}
