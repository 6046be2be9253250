//! `trawl connector`: what the author of an external source needs, its check against the contract and the contract
//! itself (decisions 7.5).

mod output;

use std::{path::PathBuf, process::ExitCode, time::Duration};

use clap::ValueEnum;
use trawl_connectors::{
    AddressRules, Authentication, CONTRACT, ClientCredentials, DEFAULT_MAX_BODY_BYTES, DeclaredOrder, Method,
    SourceSettings,
    check::{self, CheckSettings},
};
use url::Url;

use super::{
    WRONG_USAGE,
    client::{SetupError, read_secret_file},
    fail,
};

/// What can be done for a source.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Check an external source against the contract, clause by clause
    ///
    /// Exits with 0 if no clause failed, with 1 if one did, and with 2 where the options are wrong.
    Check(Box<CheckOptions>),
    /// Print the contract as an OpenAPI document
    Schema,
}

/// Which source is checked, and how.
#[derive(Debug, clap::Args)]
pub struct CheckOptions {
    /// The source's interface URL
    url: Url,
    /// How it is called
    #[arg(long, value_enum, ignore_case = true, default_value = "GET")]
    method: MethodName,
    /// A word with more than ten matches; without it some common ones are tried
    #[arg(long, value_name = "WORD", value_parser = parse_keyword)]
    keyword: Option<String>,
    /// In which order it sends its matches
    #[arg(long, value_enum, default_value = "time")]
    order: OrderName,
    /// The endpoint that issues tokens for it
    #[arg(long, value_name = "URL", requires_all = ["client_id", "client_secret_file"])]
    token_url: Option<Url>,
    /// The client account
    #[arg(long, value_name = "ID", requires = "token_url")]
    client_id: Option<String>,
    /// File that holds the client's secret
    #[arg(long, value_name = "FILE", requires = "token_url")]
    client_secret_file: Option<PathBuf>,
    /// Scopes to ask for, separated by spaces
    #[arg(long, requires = "token_url")]
    scope: Option<String>,
    /// The audience to ask for, where the token endpoint wants one
    #[arg(long, requires = "token_url")]
    audience: Option<String>,
    /// Call the source without credentials; what depends on them cannot be told then
    #[arg(long, conflicts_with = "token_url", required_unless_present = "token_url")]
    no_auth: bool,
    /// The longest that one call may take, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 2000, value_parser = clap::value_parser!(u64).range(50..=10_000))]
    timeout_ms: u64,
    /// Print the report as one JSON object
    #[arg(long)]
    json: bool,
    /// Also write the report as a JUnit file
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum MethodName {
    #[value(name = "GET")]
    Get,
    #[value(name = "POST")]
    Post,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum OrderName {
    Time,
    Relevance,
}

/// Checks a source and prints the report.
pub async fn check(options: CheckOptions) -> ExitCode {
    let (settings, rules) = match settings(&options) {
        Ok(settings) => settings,
        Err(error) => return fail(WRONG_USAGE, error),
    };
    let report = match check::check(settings, &rules).await {
        Ok(report) => report,
        Err(error) => return fail(WRONG_USAGE, error),
    };
    // The report is printed even where its file cannot be written.
    let written = options.junit.as_deref().map_or(Ok(()), |path| output::write_junit(&report, path));
    let printed = if options.json { output::print_json(&report) } else { output::print_text(&report) };
    if let Err(error) = written {
        return fail(1, error);
    }
    match printed {
        Err(error) => fail(1, error),
        Ok(()) if report.passed => ExitCode::SUCCESS,
        Ok(()) => ExitCode::FAILURE,
    }
}

/// Prints the contract.
pub fn schema() -> ExitCode {
    println!("{}", CONTRACT.trim_end());
    ExitCode::SUCCESS
}

/// Whoever runs the check names the addresses himself, so those are the ones that may be called.
fn settings(options: &CheckOptions) -> Result<(CheckSettings, AddressRules), SetupError> {
    let urls = [Some(&options.url), options.token_url.as_ref()];
    let rules = AddressRules::allowing(urls.into_iter().flatten());
    let authentication = match (&options.token_url, &options.client_id, &options.client_secret_file) {
        (Some(token_url), Some(client_id), Some(file)) => Authentication::OAuth2Client(ClientCredentials {
            token_url: token_url.clone(),
            client_id: client_id.clone(),
            client_secret: read_secret_file(file)?,
            scope: options.scope.clone(),
            audience: options.audience.clone(),
        }),
        _ => Authentication::None,
    };
    let source = SourceSettings {
        url: options.url.clone(),
        method: match options.method {
            MethodName::Get => Method::Get,
            MethodName::Post => Method::Post,
        },
        authentication,
        timeout: Duration::from_millis(options.timeout_ms),
        max_concurrency: 1,
        max_body_bytes: DEFAULT_MAX_BODY_BYTES,
    };
    let order = match options.order {
        OrderName::Time => DeclaredOrder::Time,
        OrderName::Relevance => DeclaredOrder::Relevance,
    };
    Ok((CheckSettings { source, order, keyword: options.keyword.clone() }, rules))
}

fn parse_keyword(text: &str) -> Result<String, &'static str> {
    if text.trim().is_empty() { Err("a keyword must not be blank") } else { Ok(text.to_owned()) }
}
