//! `trawl app create`: registers an application, also while the server runs.

use std::process::ExitCode;

use secrecy::ExposeSecret;
use serde::Serialize;

use super::{
    data_directory::{self, DataDirectory},
    exit::{WRONG_USAGE, fail},
};
use crate::{
    auth::{
        applications::{Kind, LoginClient, NewApplication},
        keys::Keys,
    },
    config::Config,
    error,
    identity::scopes::{Scopes, TokenScope},
    platform::tenants::service::{Registered, register_application},
    store::Store,
};

#[derive(Debug, clap::Subcommand)]
pub(super) enum AppCommand {
    /// Register one.
    Create(CreateAppOptions),
}

/// Register a calling application and print its secrets once
#[derive(Debug, clap::Args)]
pub(super) struct CreateAppOptions {
    /// Tenant of the application; created if it does not exist
    #[arg(long, value_name = "ECODE")]
    tenant: String,
    /// Kind of application
    #[arg(long, value_enum)]
    kind: Kind,
    /// Further tenant of a domain application (repeatable)
    #[arg(long, value_name = "ECODE")]
    bind: Vec<String>,
    /// Granted scope (repeatable) [default: all of its kind except act-as-user]
    #[arg(long, value_name = "SCOPE")]
    scope: Vec<TokenScope>,
    /// Display name
    #[arg(long, default_value = "")]
    name: String,
    /// Redirect address after a login in the browser (repeatable)
    #[arg(long, value_name = "URL")]
    redirect_uri: Vec<String>,
    /// Public client without a secret, for programs on people's devices: logins only
    #[arg(long)]
    public: bool,
    #[command(flatten)]
    directory: DataDirectory,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ApplicationOutput<'a> {
    client_id: &'a str,
    /// None for a public client.
    client_secret: Option<&'a str>,
    callback_key: &'a str,
    tenant: &'a str,
    kind: Kind,
    bound: &'a [String],
    scopes: &'a Scopes,
}

pub(super) async fn create(options: CreateAppOptions) -> ExitCode {
    let config = match options.directory.load_config() {
        Ok(config) => config,
        Err(failure) => return failure,
    };
    let json = options.json;
    let new = NewApplication {
        tenant: options.tenant,
        kind: options.kind,
        bound: options.bind,
        scopes: (!options.scope.is_empty()).then(|| options.scope.into_iter().collect()),
        name: options.name,
        login: LoginClient { redirect_uris: options.redirect_uri, is_public: options.public },
    };
    match register(&config, new.clone()).await {
        Ok(registered) => {
            print(&new, &registered, json);
            ExitCode::SUCCESS
        }
        Err(failure) => failure,
    }
}

async fn register(config: &Config, new: NewApplication) -> Result<Registered, ExitCode> {
    data_directory::open(&config.data)
        .map_err(|error| fail(1, format!("the data directory {}: {error}", config.data.display())))?;
    let keys = Keys::load(config.master_key.as_ref(), &config.data).map_err(|error| fail(1, error))?;
    let store = Store::open_configured(config, 1).await.map_err(|error| fail(1, error))?;
    let registered = register_application(&store, &keys, new).await.map_err(|error| {
        fail(if error.kind == error::ErrorKind::BadRequest { WRONG_USAGE } else { 1 }, error)
    });
    if let Err(error) = store.close().await {
        eprintln!("error: {error}");
    }
    registered
}

fn print(new: &NewApplication, registered: &Registered, json: bool) {
    let Registered { credentials, tenant, tenant_created } = registered;
    if *tenant_created {
        eprintln!("created the tenant {}", tenant.code);
    }
    let printed = ApplicationOutput {
        client_id: &credentials.client_id,
        client_secret: (!new.login.is_public).then(|| credentials.client_secret.expose_secret()),
        callback_key: credentials.callback_key.expose_secret(),
        tenant: &tenant.code,
        kind: new.kind,
        bound: &new.bound,
        scopes: &credentials.scopes,
    };
    if json {
        match serde_json::to_string(&printed) {
            Ok(text) => println!("{text}"),
            Err(error) => eprintln!("error: {error}"),
        }
        return;
    }
    println!("clientId      {}", printed.client_id);
    println!("clientSecret  {}", printed.client_secret.unwrap_or("none: it can keep no secret"));
    println!("callbackKey   {}", printed.callback_key);
    println!("tenant        {}", printed.tenant);
    println!("kind          {}", printed.kind);
    println!("bound         {}", printed.bound.join(" "));
    println!("scopes        {}", printed.scopes);
    eprintln!("the secrets are shown this once; keep them now");
}
