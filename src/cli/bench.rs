//! `trawl bench`: sends queries to a running server and reports latency and throughput.
//!
//! Requests pass through `schedule`, `pacer`, `connections`, `response` and `recorder`, driven by `load`. The output
//! modules `output`, `report` and `compare` show `results`.

mod chart;
mod compare;
mod connections;
mod load;
mod options;
mod output;
mod pacer;
mod query;
mod recorder;
mod report;
mod response;
mod results;
mod run;
mod schedule;
mod writes;

use std::{fs, path::Path, process::ExitCode, sync::Arc};

pub(super) use options::BenchOptions;

use self::{
    compare::Comparison,
    options::{BenchCommand, CompareOptions, RunOptions},
    results::Results,
    run::BenchError,
};
use super::exit::{WRONG_USAGE, fail};

pub(super) async fn run(options: BenchOptions) -> ExitCode {
    match options.action {
        Some(BenchCommand::Compare(options)) => compare(&options),
        None => measure(options.run).await,
    }
}

/// Measures in a runtime of its own, whose number of threads matters.
async fn measure(options: RunOptions) -> ExitCode {
    let threads = usize::from(options.threads);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        .thread_name("load")
        .enable_all()
        .build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return fail(1, format_args!("cannot start the load threads: {error}")),
    };
    let options = Arc::new(options);
    // A runtime must not be dropped on its threads.
    let running = tokio::task::spawn_blocking(move || {
        let results = runtime.block_on(run::run(&options));
        (options, results)
    });
    match running.await {
        Ok((options, Ok(results))) => show(&options, &results),
        Ok((_, Err(BenchError::WrongUsage(reason)))) => fail(WRONG_USAGE, reason),
        Ok((_, Err(BenchError::Failed(reason)))) => fail(1, reason),
        Err(error) => fail(1, format_args!("the run broke off: {error}")),
    }
}

/// Writes all files, even after a failure.
fn show(options: &RunOptions, results: &Results) -> ExitCode {
    let mut failures: Vec<String> = results.shortfalls.clone();
    let printed = if options.json { output::print_json(results) } else { output::print_results(results) };
    failures.extend(printed.err().map(|error| error.to_string()));
    if let Some(path) = &options.save {
        let text = serde_json::to_string(results).map_err(|error| error.to_string());
        failures.extend(text.and_then(|text| write(path, &(text + "\n"))).err());
    }
    if let Some(path) = &options.report {
        failures.extend(report::render_run(results).and_then(|page| write(path, &page)).err());
    }
    end(&failures)
}

fn compare(options: &CompareOptions) -> ExitCode {
    let read = |path: &Path| {
        let text = fs::read_to_string(path).map_err(|error| error.to_string());
        text.and_then(|text| Results::read(&text)).map_err(|error| format!("{}: {error}", path.display()))
    };
    let (before, after) = match (read(&options.before), read(&options.after)) {
        (Ok(before), Ok(after)) => (before, after),
        (Err(reason), _) | (_, Err(reason)) => return fail(WRONG_USAGE, reason),
    };
    let comparison = Comparison::of(&before, &after, options.fail_if_slower);
    let mut failures = comparison.slower.clone();
    let printed =
        if options.json { output::print_json(&comparison) } else { output::print_comparison(&comparison) };
    failures.extend(printed.err().map(|error| error.to_string()));
    if let Some(path) = &options.report {
        let page = report::render_comparison(&before, &after, &comparison);
        failures.extend(page.and_then(|page| write(path, &page)).err());
    }
    end(&failures)
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{} cannot be written: {error}", path.display()))
}

fn end(failures: &[String]) -> ExitCode {
    for failure in failures {
        eprintln!("error: {failure}");
    }
    if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
