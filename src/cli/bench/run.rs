//! One run. Everything that can be wrong is found before the load.

use std::{
    fs::File,
    io::{self, BufReader},
    path::Path,
    sync::Arc,
    time::Duration,
};

use hyper::Method;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use super::{
    connections::{ConnectionPool, PreparedRequest},
    load::{Load, LoadEnd, LoadOutcome},
    options::RunOptions,
    output::ProgressDisplay,
    query::{self, BenchQuery, QueryDefaults},
    recorder::BenchOperation,
    response::judge_search,
    results::{Arrivals, GeneratedItems, OperationResults, Quantiles, Results, RunSettings},
    writes::{RETRY_TIME, WriteLoad},
};
use crate::cli::client::{ApiClient, CallError};

const STANDARD_INPUT: &str = "-";
const MIN_TOKEN_USE: Duration = Duration::from_secs(1);
const LOST_SERVER_RETRY_TIME: Duration = Duration::from_secs(5);

#[derive(Debug, PartialEq, Eq)]
pub(super) enum BenchError {
    WrongUsage(String),
    Failed(String),
}

pub(super) async fn run(options: &Arc<RunOptions>) -> Result<Results, BenchError> {
    let client = Arc::new(ApiClient::new(&options.server).map_err(BenchError::WrongUsage)?);
    let mut queries = read_queries(options).map_err(BenchError::WrongUsage)?;
    query::arrange(&mut queries, options.seed);
    let connections =
        ConnectionPool::new(&options.server.server, client.enterprise().clone(), options.request_timeout);
    let connections = Arc::new(connections.map_err(BenchError::WrongUsage)?);
    let targets = targets(&connections, &queries).map_err(BenchError::WrongUsage)?;
    let writes = match (options.writes_per_second, &options.write_module) {
        (Some(rate), Some(module)) => {
            Some(Arc::new(WriteLoad::new(&connections, module, rate).map_err(BenchError::WrongUsage)?))
        }
        _ => None,
    };
    let server = without_user(&options.server.server);
    let no_token = |reason: String| BenchError::Failed(format!("{server}: {reason}"));
    let _renewal = keep_token(&client, &connections).await.map_err(no_token)?;
    check(&connections, &targets, &queries).await.map_err(BenchError::Failed)?;
    if let Some(writes) = &writes {
        let refused =
            |failure: CallError| BenchError::Failed(format!("the server refuses the writes: {failure}"));
        writes.check(&client).await.map_err(refused)?;
    }

    let stop = CancellationToken::new();
    listen_to_signals(&stop, writes.is_some()).map_err(|error| BenchError::Failed(error.to_string()))?;
    let begun_at = jiff::Timestamp::now() + options.warm_up;
    let load = Load::new(Arc::clone(options), connections, targets, writes.clone(), stop)
        .map_err(BenchError::Failed)?;
    let bar = ProgressDisplay::new(options);
    let outcome = Arc::new(load)
        .run(|elapsed, requests, errors| bar.show(elapsed, requests, errors))
        .await
        .map_err(BenchError::Failed)?;
    let mut items = None;
    let mut not_deleted = None;
    if let Some(writes) = writes {
        bar.say("deleting the written items");
        let is_lost = matches!(outcome.ending, LoadEnd::Unreachable(..));
        let patience = if is_lost { LOST_SERVER_RETRY_TIME } else { RETRY_TIME };
        let (account, failure) = writes.clean_up(&client, patience).await;
        (items, not_deleted) = (Some(account), failure);
    }
    bar.end();
    let settings = settings(options, &queries);
    Ok(results(settings, begun_at, &outcome, items, not_deleted.as_ref()))
}

fn read_queries(options: &RunOptions) -> Result<Vec<BenchQuery>, String> {
    let Some(path) = &options.queries else {
        return Err(
            "QUERIES: is required, a file with one keyword or JSON object a line, or - for standard input"
                .to_owned(),
        );
    };
    let defaults =
        QueryDefaults { module_id: options.module.clone(), sort: options.sort.clone(), limit: options.limit };
    if path.as_os_str() == STANDARD_INPUT {
        return query::read(io::stdin().lock(), "standard input", &defaults);
    }
    let name = path.display().to_string();
    let file = File::open(path).map_err(|error| format!("{name}: {error}"))?;
    query::read(BufReader::new(file), &name, &defaults)
}

fn targets(connections: &ConnectionPool, queries: &[BenchQuery]) -> Result<Vec<PreparedRequest>, String> {
    let path = |query: &BenchQuery| format!("/contents/search?{}", query.parameters());
    queries.iter().map(|query| connections.target(Method::POST, &path(query))).collect()
}

/// Renews the token in the background, so that no request waits.
async fn keep_token(
    client: &Arc<ApiClient>,
    connections: &Arc<ConnectionPool>,
) -> Result<AbortOnDropHandle<()>, String> {
    let (token, mut usable) = client.new_token().await.map_err(|failure| failure.to_string())?;
    connections.use_token(&token)?;
    let (client, connections) = (Arc::clone(client), Arc::clone(connections));
    let renewal = async move {
        while let Some(time) = usable {
            tokio::time::sleep(time.max(MIN_TOKEN_USE)).await;
            match client.new_token().await {
                Ok((token, next)) if connections.use_token(&token).is_ok() => usable = next,
                // Requests with an expired token count as errors.
                _ => usable = Some(MIN_TOKEN_USE),
            }
        }
    };
    Ok(AbortOnDropHandle::new(tokio::spawn(renewal)))
}

/// Makes a wrong module one message instead of 100 % errors.
async fn check(
    connections: &ConnectionPool,
    targets: &[PreparedRequest],
    queries: &[BenchQuery],
) -> Result<(), String> {
    let (Some(target), Some(query)) = (targets.first(), queries.first()) else { return Ok(()) };
    let answer = connections.exchange(target, None).await;
    let page = answer.and_then(|(status, body)| judge_search(status, &body));
    page.map(drop).map_err(|failure| {
        format!(
            "the search for {:?} in {} fails, so nothing was measured: {}: {}",
            query.keyword,
            query.module_id.as_deref().unwrap_or_default(),
            failure.kind,
            failure.message
        )
    })
}

fn listen_to_signals(stop: &CancellationToken, writes: bool) -> io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    let stop = stop.clone();
    tokio::spawn(async move {
        for is_first in [true, false] {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
                _ = hang_up.recv() => {}
            }
            stop.cancel();
            if !is_first {
                std::process::exit(1);
            }
            let items = if writes { "; deleting the written items, press again to skip that" } else { "" };
            eprintln!("stopping{items}");
        }
    });
    Ok(())
}

fn settings(options: &RunOptions, queries: &[BenchQuery]) -> RunSettings {
    let file = options.queries.as_deref().unwrap_or(Path::new(STANDARD_INPUT));
    RunSettings {
        server: without_user(&options.server.server).into(),
        query_file: file.display().to_string(),
        queries: queries.len(),
        queries_checksum: query::checksum(queries),
        seed: options.seed,
        module: options.module.clone(),
        limit: options.limit,
        sort: options.sort.clone(),
        pages: options.pages,
        rate: options.rate,
        clients: options.closed_loop_clients(),
        max_in_flight: options.max_in_flight,
        warm_up_seconds: options.warm_up.as_secs_f64(),
        duration_seconds: options.duration.as_secs_f64(),
        request_timeout_seconds: options.request_timeout.as_secs_f64(),
        writes_per_second: options.writes_per_second,
        write_module: options.write_module.clone(),
        threads: usize::from(options.threads),
    }
}

fn without_user(address: &url::Url) -> url::Url {
    let mut address = address.clone();
    // Neither fails for an address with a host.
    let _ = address.set_username("");
    let _ = address.set_password(None);
    address
}

fn command() -> String {
    let words = std::env::args().enumerate().map(|(place, word)| match place {
        0 => "trawl".to_owned(),
        _ => quote(&without_user_in(&word)),
    });
    words.collect::<Vec<_>>().join(" ")
}

fn without_user_in(word: &str) -> String {
    let (option, value) = match word.split_once('=') {
        Some((option, value)) if option.starts_with("--") => (Some(option), value),
        _ => (None, word),
    };
    match url::Url::parse(value) {
        Ok(address) if !address.username().is_empty() || address.password().is_some() => {
            let address = without_user(&address);
            option.map_or_else(|| address.to_string(), |option| format!("{option}={address}"))
        }
        _ => word.to_owned(),
    }
}

fn quote(word: &str) -> String {
    let is_plain = |character: char| character.is_alphanumeric() || "-_./:=,+@%".contains(character);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

fn results(
    settings: RunSettings,
    begun_at: jiff::Timestamp,
    outcome: &LoadOutcome,
    items: Option<GeneratedItems>,
    not_deleted: Option<&CallError>,
) -> Results {
    let measured = &outcome.measured;
    let length = match outcome.ending {
        LoadEnd::Interrupted(after) | LoadEnd::Unreachable(after, _) => after,
        LoadEnd::Completed => Duration::from_secs_f64(settings.duration_seconds),
    };
    let seconds = length.max(measured.last).as_secs_f64();
    let arrivals = |due: Option<u64>, operation| {
        due.map(|due| {
            let starts = measured.starts(operation);
            let never_begun = due.saturating_sub(starts.begun);
            Arrivals { due, begun_in_time: starts.in_time, never_begun, waited: starts.waited }
        })
    };
    let searches = arrivals(outcome.searches_due, BenchOperation::Search);
    let writes = arrivals(outcome.writes_due, BenchOperation::Write);
    let never_begun = |arrivals: Option<Arrivals>| arrivals.map_or(0, |arrivals| arrivals.never_begun);
    let never_begun = [never_begun(searches), 0, never_begun(writes)];
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let mut results = Results {
        format: Results::format(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command: command(),
        begun_at: begun_at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        machine: format!("{cores} cores, {} {}", std::env::consts::OS, std::env::consts::ARCH),
        settings,
        seconds: (seconds * 1_000.0).round() / 1_000.0,
        arrivals: searches,
        write_arrivals: writes,
        operations: OperationResults::all(measured, seconds, never_begun),
        own_delay_ms: Quantiles::of(&measured.own_delay),
        timeline: measured.seconds.clone(),
        items,
        shortfalls: Vec::new(),
    };
    results.shortfalls = shortfalls(&results, &outcome.ending, not_deleted);
    results
}

fn shortfalls(results: &Results, ending: &LoadEnd, not_deleted: Option<&CallError>) -> Vec<String> {
    let mut sentences = Vec::new();
    match ending {
        LoadEnd::Completed => {}
        LoadEnd::Interrupted(after) => {
            sentences.push(format!("stopped after {:.1} s of measuring", after.as_secs_f64()));
        }
        LoadEnd::Unreachable(after, reason) => {
            let after = after.as_secs_f64();
            sentences.push(format!("given up after {after:.1} s without answers: {reason}"));
        }
    }
    for results in results.operations.iter().filter(|results| results.errors > 0) {
        let kinds: Vec<String> =
            results.failures.iter().map(|failure| format!("{} {}", failure.count, failure.kind)).collect();
        let (errors, all, name) = (results.errors, results.requests(), &results.operation);
        sentences.push(format!("{errors} of {all} {name} requests failed: {}", kinds.join(", ")));
    }
    for (arrivals, name) in [(results.arrivals, "searches"), (results.write_arrivals, "writes")] {
        if let Some(arrivals) = arrivals.filter(Arrivals::fell_behind) {
            let Arrivals { due, begun_in_time, .. } = arrivals;
            sentences
                .push(format!("the rate was not kept: only {begun_in_time} of {due} {name} began in time"));
        }
    }
    if results.operations.iter().all(|results| results.operation != BenchOperation::Search.name()) {
        sentences.push("no search was measured".to_owned());
    }
    if let (Some(items), Some(failure)) = (&results.items, not_deleted) {
        sentences.push(format!(
            "{} written items were not deleted, ids {}{} to {}: {failure}",
            items.left,
            items.id_prefix,
            items.sent - items.left,
            items.sent.saturating_sub(1)
        ));
    }
    sentences
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_is_shown_without_secrets_and_can_be_pasted() {
        let shown = |word: &str| quote(&without_user_in(word));
        assert_eq!(shown("http://anna:geheim@h:8080/x"), "http://h:8080/x");
        assert_eq!(shown("--server=https://anna@h"), "--server=https://h/");
        assert_eq!(shown("http://h:8080"), "http://h:8080");
        assert_eq!(shown("my queries.txt"), "'my queries.txt'");
        assert_eq!([shown("it's"), shown("")], [r"'it'\''s'".to_owned(), "''".to_owned()]);
    }
}
