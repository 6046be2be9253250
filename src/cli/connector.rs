//! `trawl connector`: checks an external source and prints the contract (decisions 7.5).

mod output;

use std::{path::PathBuf, process::ExitCode, time::Duration};

use clap::{ArgGroup, ValueEnum};
use trawl_connectors::{
    AddressRules, ApiKey, Authentication, BasicCredentials, BearerToken, CONTRACT, ClientCredentials,
    DEFAULT_API_KEY_HEADER, DEFAULT_MAX_BODY_BYTES, DeclaredOrder, InvalidCredentials, Method,
    SourceSettings,
    check::{self, CheckSettings},
};
use url::Url;

use super::{
    client::{SetupError, read_secret_file},
    exit::{WRONG_USAGE, fail},
};

#[derive(Debug, clap::Subcommand)]
pub(super) enum ConnectorCommand {
    /// Check an external source against the contract, clause by clause
    ///
    /// Exit code: 0 no clause failed, 1 some failed, 2 wrong options.
    Check(Box<CheckOptions>),
    /// Print the contract as an OpenAPI document
    Schema,
}

#[derive(Debug, clap::Args)]
#[command(group(ArgGroup::new("access").required(true).args(["token_url", "api_key_file", "username", "bearer_token_file", "no_auth"])))]
pub(super) struct CheckOptions {
    /// Address of the source
    url: Url,
    /// HTTP method
    #[arg(long, value_enum, ignore_case = true, default_value = "GET")]
    method: MethodArgument,
    /// Keyword with more than ten matches [default: tries common ones]
    #[arg(long, value_name = "WORD", value_parser = parse_keyword)]
    keyword: Option<String>,
    /// Order of the source's matches
    #[arg(long, value_enum, default_value = "time")]
    order: OrderArgument,
    /// Token endpoint of the source
    #[arg(long, value_name = "URL", requires_all = ["client_id", "client_secret_file"])]
    token_url: Option<Url>,
    /// Client id
    #[arg(long, value_name = "ID", requires = "token_url")]
    client_id: Option<String>,
    /// File with the client secret
    #[arg(long, value_name = "FILE", requires = "token_url")]
    client_secret_file: Option<PathBuf>,
    /// Scopes to request, separated by spaces
    #[arg(long, requires = "token_url")]
    scope: Option<String>,
    /// Audience to request
    #[arg(long, requires = "token_url")]
    audience: Option<String>,
    /// File with the API key
    #[arg(long, value_name = "FILE")]
    api_key_file: Option<PathBuf>,
    /// Header of the API key
    #[arg(long, value_name = "NAME", default_value = DEFAULT_API_KEY_HEADER, requires = "api_key_file")]
    api_key_header: String,
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
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// Also write a JUnit file
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
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
    let (settings, rules) = match settings(&options) {
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
        Ok(()) if report.passed => ExitCode::SUCCESS,
        Ok(()) => ExitCode::FAILURE,
    }
}

pub(super) fn schema() -> ExitCode {
    println!("{}", CONTRACT.trim_end());
    ExitCode::SUCCESS
}

/// Allows the operator's addresses alone.
fn settings(options: &CheckOptions) -> Result<(CheckSettings, AddressRules), SetupError> {
    let urls = [Some(&options.url), options.token_url.as_ref()];
    let rules = AddressRules::allowing(urls.into_iter().flatten());
    let source = SourceSettings {
        url: options.url.clone(),
        method: match options.method {
            MethodArgument::Get => Method::Get,
            MethodArgument::Post => Method::Post,
        },
        authentication: authentication(options)?,
        timeout: Duration::from_millis(options.timeout_ms),
        max_concurrency: 1,
        max_body_bytes: DEFAULT_MAX_BODY_BYTES,
    };
    let order = match options.order {
        OrderArgument::Time => DeclaredOrder::Time,
        OrderArgument::Relevance => DeclaredOrder::Relevance,
    };
    Ok((CheckSettings { source, order, keyword: options.keyword.clone() }, rules))
}

/// clap allows one kind of options.
fn authentication(options: &CheckOptions) -> Result<Authentication, SetupError> {
    if let (Some(token_url), Some(client_id), Some(file)) =
        (&options.token_url, &options.client_id, &options.client_secret_file)
    {
        return Ok(Authentication::OAuth2Client(ClientCredentials {
            token_url: token_url.clone(),
            client_id: client_id.clone(),
            client_secret: read_secret_file("--client-secret-file", file)?,
            scope: options.scope.clone(),
            audience: options.audience.clone(),
        }));
    }
    if let Some(file) = &options.api_key_file {
        let key = read_secret_file("--api-key-file", file)?;
        return ApiKey::new(&options.api_key_header, key).map(Authentication::ApiKey).map_err(name_option);
    }
    if let (Some(username), Some(file)) = (&options.username, &options.password_file) {
        let password = read_secret_file("--password-file", file)?;
        return BasicCredentials::new(username, password).map(Authentication::Basic).map_err(name_option);
    }
    if let Some(file) = &options.bearer_token_file {
        let token = read_secret_file("--bearer-token-file", file)?;
        return BearerToken::new(token).map(Authentication::Bearer).map_err(name_option);
    }
    Ok(Authentication::None)
}

fn name_option(InvalidCredentials { setting, reason }: InvalidCredentials) -> SetupError {
    let option = match setting {
        "header" => "--api-key-header",
        "key" => "--api-key-file",
        "username" => "--username",
        "password" => "--password-file",
        _ => "--bearer-token-file",
    };
    SetupError::Credentials { option, reason }
}

fn parse_keyword(text: &str) -> Result<String, &'static str> {
    if text.trim().is_empty() { Err("a keyword must not be blank") } else { Ok(text.to_owned()) }
}
