//! `trawl connector`: checks an external source and prints the contract (book: reference/command-line.md).

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

use clap::{ArgGroup, ValueEnum};
use trawl_connectors::{
    AddressRules, ApiKey, Authentication, BasicCredentials, BearerToken, CONTRACT, ClientCredentials,
    DEFAULT_API_KEY_HEADER, DEFAULT_MAX_BODY_BYTES, DeclaredOrder, GalleryEntry, Grant, InvalidCredentials,
    Method, Question, SourceSettings,
    check::{self, CheckSettings},
    serve_interpreter,
};
use url::Url;

use self::person::PersonOptions;
use super::{
    client::read_secret_file,
    exit::{WRONG_USAGE, fail},
};
use crate::sandbox::{ProcessLimits, allow_processor_time, confine};

/// Address space of an interpreter.
const INTERPRETER_BYTES: u64 = 512 << 20;
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

#[derive(Debug, clap::Args)]
#[command(group(ArgGroup::new("access").args(["token_url", "api_key_file", "username", "bearer_token_file", "no_auth"])))]
struct AccessOptions {
    /// Token endpoint of the source
    #[arg(long, value_name = "URL", requires_all = ["client_id", "client_secret_file"])]
    token_url: Option<Url>,
    /// Client id
    #[arg(long, value_name = "ID", requires = "token_url")]
    client_id: Option<String>,
    /// File with the client secret
    #[arg(long, value_name = "FILE", requires = "token_url")]
    client_secret_file: Option<PathBuf>,
    /// Grant of the token: of the client, or of the person
    #[arg(long, value_enum, default_value = "client-credentials", requires = "token_url")]
    grant: GrantArgument,
    /// Scopes to request, separated by spaces
    #[arg(long, requires = "token_url")]
    scope: Option<String>,
    /// Audience to request
    #[arg(long, requires = "token_url")]
    audience: Option<String>,
    /// File with the API key
    #[arg(long, value_name = "FILE")]
    api_key_file: Option<PathBuf>,
    /// Header of the API key [default: X-API-Key, or the mapping's]
    #[arg(long, value_name = "NAME", requires = "api_key_file")]
    api_key_header: Option<String>,
    /// Query parameter of the API key, instead of a header [default: the mapping's]
    #[arg(long, value_name = "NAME", requires = "api_key_file", conflicts_with = "api_key_header")]
    api_key_parameter: Option<String>,
    /// User name of basic authentication
    #[arg(long, value_name = "NAME", requires = "password_file")]
    username: Option<String>,
    /// File with the password
    #[arg(long, value_name = "FILE", requires = "username")]
    password_file: Option<PathBuf>,
    /// File with a bearer token
    #[arg(long, value_name = "FILE")]
    bearer_token_file: Option<PathBuf>,
    /// Call without credentials
    #[arg(long)]
    no_auth: bool,
    /// Timeout of a call in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 2000, value_parser = clap::value_parser!(u64).range(50..=10_000))]
    timeout_ms: u64,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum MethodArgument {
    #[value(name = "GET")]
    Get,
    #[value(name = "POST")]
    Post,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum GrantArgument {
    ClientCredentials,
    /// RFC 7523
    JwtBearer,
    /// RFC 8693
    TokenExchange,
}

impl From<GrantArgument> for Grant {
    fn from(grant: GrantArgument) -> Self {
        match grant {
            GrantArgument::ClientCredentials => Self::ClientCredentials,
            GrantArgument::JwtBearer => Self::JwtBearer,
            GrantArgument::TokenExchange => Self::TokenExchange,
        }
    }
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
    let limits =
        ProcessLimits { address_bytes: INTERPRETER_BYTES, processor_seconds: None, in_background: false };
    let begin_job = || allow_processor_time(JOB_PROCESSOR_SECONDS);
    let served = confine(limits).and_then(|()| serve_interpreter(stdin().lock(), stdout().lock(), begin_job));
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

/// clap allows one kind of options.
fn authentication(options: &AccessOptions, entry: Option<&GalleryEntry>) -> Result<Authentication, String> {
    if let (Some(token_url), Some(client_id), Some(file)) =
        (&options.token_url, &options.client_id, &options.client_secret_file)
    {
        return Ok(Authentication::OAuth2Client(ClientCredentials {
            grant: options.grant.into(),
            token_url: token_url.clone(),
            client_id: client_id.clone(),
            client_secret: read_secret_file("--client-secret-file", file)?,
            scope: options.scope.clone(),
            audience: options.audience.clone(),
        }));
    }
    if let Some(file) = &options.api_key_file {
        let key = read_secret_file("--api-key-file", file)?;
        let usual = entry.and_then(|entry| entry.auth.iter().find(|auth| auth.kind == "API_KEY"));
        let (header, parameter) = match (&options.api_key_header, &options.api_key_parameter, usual) {
            (None, None, Some(auth)) => (&auth.header, &auth.parameter),
            (header, parameter, _) => (header, parameter),
        };
        let key = match parameter {
            Some(parameter) => ApiKey::in_query(parameter, key),
            None => ApiKey::new(header.as_deref().unwrap_or(DEFAULT_API_KEY_HEADER), key),
        };
        return key.map(Authentication::ApiKey).map_err(name_option);
    }
    if let (Some(username), Some(file)) = (&options.username, &options.password_file) {
        let password = read_secret_file("--password-file", file)?;
        return BasicCredentials::new(username, password).map(Authentication::Basic).map_err(name_option);
    }
    if let Some(file) = &options.bearer_token_file {
        let token = read_secret_file("--bearer-token-file", file)?;
        return BearerToken::new(token).map(Authentication::Bearer).map_err(name_option);
    }
    if options.no_auth {
        return Ok(Authentication::None);
    }
    Err("credentials are required: --token-url, --api-key-file, --username, --bearer-token-file or --no-auth"
        .to_owned())
}

fn name_option(InvalidCredentials { setting, reason }: InvalidCredentials) -> String {
    let option = match setting {
        "header" => "--api-key-header",
        "parameter" => "--api-key-parameter",
        "key" => "--api-key-file",
        "username" => "--username",
        "password" => "--password-file",
        _ => "--bearer-token-file",
    };
    format!("{option}: {reason}")
}

fn parse_keyword(text: &str) -> Result<String, &'static str> {
    if text.trim().is_empty() { Err("a keyword must not be blank") } else { Ok(text.to_owned()) }
}
