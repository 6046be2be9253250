//! Options of the credentials that a source asks for.

use std::path::PathBuf;

use clap::{ArgGroup, ValueEnum};
use trawl_connectors::{
    ApiKey, Authentication, BasicCredentials, BearerToken, ClientCredentials, DEFAULT_API_KEY_HEADER,
    GalleryEntry, Grant, InvalidCredentials,
};
use url::Url;

use crate::cli::client::read_secret_file;

#[derive(Debug, clap::Args)]
#[command(group(ArgGroup::new("access").args(["token_url", "api_key_file", "username", "bearer_token_file", "no_auth"])))]
pub(super) struct AccessOptions {
    /// Token endpoint of the source
    #[arg(long, value_name = "URL", requires_all = ["client_id", "client_secret_file"])]
    pub(super) token_url: Option<Url>,
    /// Client id
    #[arg(long, value_name = "ID", requires = "token_url")]
    pub(super) client_id: Option<String>,
    /// File with the client secret
    #[arg(long, value_name = "FILE", requires = "token_url")]
    pub(super) client_secret_file: Option<PathBuf>,
    /// Grant of the token: of the client, or of the person
    #[arg(long, value_enum, default_value = "client-credentials", requires = "token_url")]
    pub(super) grant: GrantArgument,
    /// Scopes to request, separated by spaces
    #[arg(long, requires = "token_url")]
    pub(super) scope: Option<String>,
    /// Audience to request
    #[arg(long, requires = "token_url")]
    pub(super) audience: Option<String>,
    /// File with the API key
    #[arg(long, value_name = "FILE")]
    pub(super) api_key_file: Option<PathBuf>,
    /// Header of the API key [default: X-API-Key, or the mapping's]
    #[arg(long, value_name = "NAME", requires = "api_key_file")]
    pub(super) api_key_header: Option<String>,
    /// Query parameter of the API key, instead of a header [default: the mapping's]
    #[arg(long, value_name = "NAME", requires = "api_key_file", conflicts_with = "api_key_header")]
    pub(super) api_key_parameter: Option<String>,
    /// User name of basic authentication
    #[arg(long, value_name = "NAME", requires = "password_file")]
    pub(super) username: Option<String>,
    /// File with the password
    #[arg(long, value_name = "FILE", requires = "username")]
    pub(super) password_file: Option<PathBuf>,
    /// File with a bearer token
    #[arg(long, value_name = "FILE")]
    pub(super) bearer_token_file: Option<PathBuf>,
    /// Call without credentials
    #[arg(long)]
    pub(super) no_auth: bool,
    /// Timeout of a call in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 2000, value_parser = clap::value_parser!(u64).range(50..=10_000))]
    pub(super) timeout_ms: u64,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum GrantArgument {
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

/// clap allows one kind of options.
pub(super) fn authentication(
    options: &AccessOptions,
    entry: Option<&GalleryEntry>,
) -> Result<Authentication, String> {
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
