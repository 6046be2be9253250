//! `trawl connector`: checks an external source and prints the contract (book: reference/command-line.md).

mod access;
mod mapping;
mod output;
mod person;
mod registration;
pub(super) mod template;

use std::{
    io::{Write as _, stdin, stdout},
    path::PathBuf,
    process::ExitCode,
    time::Duration,
};

use clap::ValueEnum;
use trawl_connectors::{
    AddressRules, CONTRACT, DEFAULT_MAX_BODY_BYTES, DeclaredOrder, GalleryEntry, Grant, Method, Question,
    SourceSettings,
    check::{self, CheckSettings},
    serve_interpreter,
};
use url::Url;

use self::{
    access::{AccessOptions, authentication},
    person::PersonOptions,
};
use super::exit::{WRONG_USAGE, fail};
use crate::confined::limits::{ProcessLimits, allow_processor_time, confine};

/// Memory of an interpreter.
const INTERPRETER_BYTES: u64 = 128 << 20;
/// Processor time of one of its jobs, at least.
const JOB_PROCESSOR_SECONDS: u64 = 1;

#[derive(Debug, clap::Subcommand)]
pub(super) enum ConnectorCommand {
    /// Check an external source against the contract, clause by clause
    ///
    /// Exit code: 0 no clause failed, 1 some failed (with --strict: or could not be decided), 2 wrong options.
    Check(Box<CheckOptions>),
    /// Search a system once through a mapping, and show the request, the answer and the rows
    ///
    /// Exit code: 0 rows or an empty answer, 1 a failure, 2 wrong options.
    Try(Box<TryOptions>),
    /// List the systems of the gallery, or print one's mapping
    Gallery {
        /// Name in the list
        name: Option<String>,
    },
    /// Write a source that keeps the contract, with its test and its check
    New(template::NewOptions),
    /// Print the contract as an OpenAPI document
    Schema,
}

#[derive(Debug, clap::Args)]
pub(super) struct CheckOptions {
    /// Address of the source
    url: Url,
    /// HTTP method [default: GET, or the mapping's]
    #[arg(long, value_enum, ignore_case = true)]
    method: Option<MethodArgument>,
    /// Keyword with more than ten matches [default: tries common ones]
    #[arg(long, value_name = "WORD", value_parser = parse_keyword)]
    keyword: Option<String>,
    /// Order of the source's matches [default: time, or the mapping's]
    #[arg(long, value_enum)]
    order: Option<OrderArgument>,
    /// Mapping of the system: a file, or a name of the gallery
    #[arg(long, value_name = "FILE")]
    mapping: Option<PathBuf>,
    #[command(flatten)]
    access: AccessOptions,
    #[command(flatten)]
    person: PersonOptions,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// Fail too if a clause could not be decided, unless it is about something that the source does not have
    #[arg(long)]
    strict: bool,
    /// Also write a JUnit file
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(super) struct TryOptions {
    /// Mapping: a file, or a name of the gallery
    file: PathBuf,
    /// Keyword
    #[arg(long, value_name = "WORD", value_parser = parse_keyword, required_unless_present = "registration")]
    keyword: Option<String>,
    /// Print the body to register the system (`POST /admin/v1/sources`), without secrets, and search nothing
    #[arg(long)]
    registration: bool,
    /// Address of the system [default: the file's]
    #[arg(long)]
    url: Option<Url>,
    /// Rows
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=1_000))]
    limit: u16,
    /// Cursor of the page before
    #[arg(long)]
    cursor: Option<String>,
    #[command(flatten)]
    access: AccessOptions,
    #[command(flatten)]
    person: PersonOptions,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum MethodArgument {
    #[value(name = "GET")]
    Get,
    #[value(name = "POST")]
    Post,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum OrderArgument {
    Time,
    Relevance,
}

pub(super) async fn check(options: CheckOptions) -> ExitCode {
    let (settings, rules) = match check_settings(&options).await {
        Ok(settings) => settings,
        Err(error) => return fail(WRONG_USAGE, error),
    };
    let report = match check::check(settings, &rules).await {
        Ok(report) => report,
        Err(error) => return fail(WRONG_USAGE, error),
    };
    let written = options.junit.as_deref().map_or(Ok(()), |path| output::write_junit(&report, path));
    let printed = if options.json { output::print_json(&report) } else { output::print_text(&report) };
    if let Err(error) = written {
        return fail(1, error);
    }
    match printed {
        Err(error) => fail(1, error),
        Ok(()) if options.strict && report.passed && report.open() > 0 => {
            fail(1, format!("--strict: {} clauses are undecided", report.open()))
        }
        Ok(()) if report.passed => ExitCode::SUCCESS,
        Ok(()) => ExitCode::FAILURE,
    }
}

pub(super) async fn try_once(options: TryOptions) -> ExitCode {
    if options.registration {
        return print_registration(&options);
    }
    let settings = async {
        let entry = mapping::read(&options.file, acts_for_person(&options.access, &options.person))?;
        let url = match &options.url {
            Some(url) => url.clone(),
            None => mapping::address(&entry)?,
        };
        let (method, order) = (mapping::method(&entry), mapping::order(&entry));
        let (source, rules) =
            source_settings(&url, method, Some(entry), &options.access, &options.person).await?;
        Ok::<_, String>((source, order, rules))
    };
    let (source, order, rules) = match settings.await {
        Ok(settings) => settings,
        Err(error) => return fail(WRONG_USAGE, error),
    };
    let (keyword, limit) = (options.keyword.as_deref().unwrap_or_default(), options.limit.into());
    let question =
        Question { keyword, limit, cursor: options.cursor.as_deref(), person: options.person.person() };
    let trial = match check::try_source(&source, &rules, order, &question).await {
        Ok(trial) => trial,
        Err(error) => return fail(WRONG_USAGE, error),
    };
    let printed = if options.json { output::print_json(&trial) } else { output::print_trial(&trial) };
    match printed {
        Err(error) => fail(1, error),
        Ok(()) if trial.failure.is_none() => ExitCode::SUCCESS,
        Ok(()) => ExitCode::FAILURE,
    }
}

fn print_registration(options: &TryOptions) -> ExitCode {
    let entry = mapping::read(&options.file, acts_for_person(&options.access, &options.person));
    let body = entry.and_then(|entry| {
        let url = options.url.clone().map_or_else(|| mapping::address(&entry), Ok)?;
        registration::print(&entry, &url, &options.access).map_err(|error| error.to_string())
    });
    match body {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(WRONG_USAGE, error),
    }
}

pub(super) fn gallery(name: Option<&str>) -> ExitCode {
    let printed = match name {
        Some(name) => mapping::print(name),
        None => mapping::print_list(),
    };
    match printed {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(WRONG_USAGE, error),
    }
}

/// The process of [`InterpreterPool`](trawl_connectors::InterpreterPool).
pub(super) fn interpret_mappings() -> ExitCode {
    let limits = ProcessLimits {
        memory_bytes: INTERPRETER_BYTES,
        processor_seconds: None,
        in_background: false,
        readable: Vec::new(),
    };
    let begin_job = || allow_processor_time(JOB_PROCESSOR_SECONDS);
    let served =
        confine(&limits).and_then(|()| serve_interpreter(stdin().lock(), stdout().lock(), begin_job));
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(1, error),
    }
}

pub(super) fn schema() -> ExitCode {
    // A reader that has seen enough, such as `head`, may close the pipe.
    let _written = writeln!(stdout(), "{}", CONTRACT.trim_end());
    ExitCode::SUCCESS
}

/// A mapping's own method and order count, unless options name others.
async fn check_settings(options: &CheckOptions) -> Result<(CheckSettings, AddressRules), String> {
    let entry = match &options.mapping {
        Some(file) => Some(mapping::read(file, acts_for_person(&options.access, &options.person))?),
        None => None,
    };
    let method = match (options.method, &entry) {
        (Some(MethodArgument::Get), _) | (None, None) => Method::Get,
        (Some(MethodArgument::Post), _) => Method::Post,
        (None, Some(entry)) => mapping::method(entry),
    };
    let order = match (options.order, &entry) {
        (Some(OrderArgument::Time), _) | (None, None) => DeclaredOrder::Time,
        (Some(OrderArgument::Relevance), _) => DeclaredOrder::Relevance,
        (None, Some(entry)) => mapping::order(entry),
    };
    let (source, rules) =
        source_settings(&options.url, method, entry, &options.access, &options.person).await?;
    let person = options.person.person().map(str::to_owned);
    Ok((CheckSettings { source, order, person, keyword: options.keyword.clone() }, rules))
}

/// Whether a service's credentials act for a person.
///
/// A token of the person needs no headers.
fn acts_for_person(access: &AccessOptions, person: &PersonOptions) -> bool {
    person.person().is_some() && !Grant::from(access.grant).is_of_people()
}

/// Allows the operator's addresses alone.
async fn source_settings(
    url: &Url,
    method: Method,
    entry: Option<GalleryEntry>,
    access: &AccessOptions,
    person: &PersonOptions,
) -> Result<(SourceSettings, AddressRules), String> {
    let rules = AddressRules::allowing([Some(url), access.token_url.as_ref()].into_iter().flatten());
    let is_variable = entry.as_ref().is_some_and(|entry| entry.mapping.uses_person());
    let identity = person.identity(access.grant.into(), is_variable).await?;
    let authentication = authentication(access, entry.as_ref())?;
    let mapping = match entry {
        Some(entry) => Some(mapping::compile(entry).await?),
        None => None,
    };
    let source = SourceSettings {
        url: url.clone(),
        method,
        mapping,
        authentication,
        identity,
        timeout: Duration::from_millis(access.timeout_ms),
        max_concurrency: 1,
        max_body_bytes: DEFAULT_MAX_BODY_BYTES,
    };
    Ok((source, rules))
}

fn parse_keyword(text: &str) -> Result<String, &'static str> {
    if text.trim().is_empty() { Err("a keyword must not be blank") } else { Ok(text.to_owned()) }
}
