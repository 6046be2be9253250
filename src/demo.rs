//! `trawl serve --demo`: sample content and an external system, loaded through the HTTP API.

mod client;
mod content;
mod contracts;
mod history;
mod kept;
mod loading;

use std::{
    fs, io,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
};

use reqwest::Method;
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;
use tokio::sync::watch;
use url::{Host, Url};

use self::{client::DemoClient, contracts::ContractSystem, kept::Kept};
use crate::{
    app::App,
    auth::{
        applications::{Kind, LoginClient, NewApplication},
        secrets, tenants,
    },
    config::Config,
    error::Error,
    http::precondition::IfMatch,
    identity::scopes::TokenScope,
    indexer::Progress,
    platform::tenants::service::register_application,
    registry::{AuthForm, Author, ModuleForm, SourceForm},
    store::now_millis,
};

const TENANT: &str = "northwind";
/// Login of the person whom the invitation names.
const PERSON: &str = "mei.chen";
const OPERATOR: &str = "bram.dekker";
/// Logins of people with a password; each takes a slow hash.
const PEOPLE_WITH_PASSWORD: [&str; 4] = [PERSON, OPERATOR, "jun.ma", "lars.devries"];
/// Password of servers that only this machine reaches.
const PASSWORD: &str = "northwind-harbour";
/// Length of generated passwords; each character is one of 64.
const RANDOM_PASSWORD_CHARACTERS: usize = 16;
const SOURCE: &str = "contracts";
/// Neither the audit of the loading nor the engine's merges of segments.
const LOG_FILTER: &str = "warn,tantivy=error";

/// A running demo.
pub struct Demo {
    contracts: ContractSystem,
    password: SecretString,
    invitation: String,
}

/// A failure to set up the demo.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// The server refused a step.
    #[error(transparent)]
    Refused(#[from] Error),
    /// A request could not be sent.
    #[error("the demo cannot call the server: {0}")]
    Http(#[from] reqwest::Error),
    /// The server rejected content.
    #[error("the server refused the demo's content: {0}")]
    Content(String),
    /// The external system could not start.
    #[error("the demo's external system cannot start: {0}")]
    External(#[from] io::Error),
    /// The data directory's own file could not be read or written.
    #[error("{path}: {cause}")]
    Kept {
        /// File.
        path: PathBuf,
        /// System's error.
        cause: io::Error,
    },
}

impl Demo {
    /// Lets a server in this directory run the demo.
    ///
    /// # Errors
    /// The directory holds something else.
    pub fn configure(config: &mut Config, directory: &Path) -> Result<(), String> {
        let is_free = match fs::read_dir(directory) {
            Ok(mut entries) => entries.next().is_none() || Self::is_loaded(directory),
            Err(error) if error.kind() == io::ErrorKind::NotFound => true,
            Err(error) => return Err(format!("--data: {}: {error}", directory.display())),
        };
        if !is_free {
            return Err(format!(
                "--data: {} holds something other than a loaded demo; with --demo, name a new or empty directory",
                directory.display()
            ));
        }
        directory.clone_into(&mut config.data);
        config.store.url = None;
        if config.log.filter == Config::default().log.filter {
            LOG_FILTER.clone_into(&mut config.log.filter);
        }
        config.connectors.allow_http_hosts.push(contracts::HOST.to_string());
        config.console.operators.push(Self::operator());
        Ok(())
    }

    /// Whether the directory holds a loaded demo.
    pub fn is_loaded(directory: &Path) -> bool {
        kept::path(directory).exists()
    }

    /// Loads what the data directory lacks, and waits until it is searchable.
    pub async fn start(
        app: &Arc<App>,
        address: SocketAddr,
        progress: watch::Receiver<Progress>,
    ) -> Result<Self, DemoError> {
        let directory = &app.config.data;
        let failed = |cause| DemoError::Kept { path: kept::path(directory), cause };
        let known = Kept::read(directory).map_err(failed)?;
        let is_local = is_local(address, app.config.public_url.as_ref());
        let password = choose_password(is_local, known.as_ref())?;
        let loaded_at = known.as_ref().map_or_else(now_millis, |known| known.loaded_at);
        let contracts = ContractSystem::start(loaded_at, is_local).await?;
        let (kept, server) = match known {
            None => load(app, address, &contracts, &password, loaded_at).await?,
            Some(known) => resume(app, address, &contracts, &password, known).await?,
        };
        wait_until_searchable(app, progress).await?;

        let token = server.token(Some(PERSON)).await?;
        kept.write(directory, &app.public_url, &token).map_err(failed)?;
        let invitation = invitation(&app.public_url, &password, &kept::path(directory));
        Ok(Self { contracts, password, invitation })
    }

    /// Operator, as in `console.operators`.
    pub fn operator() -> String {
        format!("{OPERATOR}@{TENANT}")
    }

    /// Password of the people who may sign in.
    pub fn password(&self) -> &SecretString {
        &self.password
    }

    /// Instructions for the terminal.
    pub fn invitation(&self) -> &str {
        &self.invitation
    }

    /// Stops the external system.
    pub async fn stop(self) {
        self.contracts.stop().await;
    }
}

/// Whether this machine alone reaches the server.
fn is_local(address: SocketAddr, public_url: Option<&Url>) -> bool {
    let is_loopback = |url: &Url| match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    };
    address.ip().is_loopback() && public_url.is_none_or(is_loopback)
}

/// The documented password, or a random one where others reach the server.
fn choose_password(is_local: bool, known: Option<&Kept>) -> Result<SecretString, Error> {
    if is_local {
        return Ok(PASSWORD.into());
    }
    let kept = known.map(|known| &known.password).filter(|kept| kept.expose_secret() != PASSWORD);
    if let Some(kept) = kept {
        return Ok(kept.clone());
    }
    let secret = secrets::generate()?;
    Ok(secret.expose_secret().chars().take(RANDOM_PASSWORD_CHARACTERS).collect::<String>().into())
}

async fn load(
    app: &App,
    address: SocketAddr,
    contracts: &ContractSystem,
    password: &SecretString,
    now: i64,
) -> Result<(Kept, DemoClient), DemoError> {
    let scopes =
        TokenScope::ALL.into_iter().filter(|scope| !matches!(scope, TokenScope::Tenants | TokenScope::Admin));
    let new = NewApplication {
        tenant: TENANT.to_owned(),
        kind: Kind::Application,
        bound: Vec::new(),
        scopes: Some(scopes.collect()),
        name: "demo".to_owned(),
        login: LoginClient::default(),
    };
    let registered = register_application(&app.store, &app.keys, new).await?;
    let tenant_id = registered.tenant.id;
    let author = Author::command_line(registered.tenant);
    app.registry.create_source(author.clone(), source(contracts)).await?;
    app.registry.create_module(author, module()).await?;
    let kept = Kept {
        client_id: registered.credentials.client_id,
        client_secret: registered.credentials.client_secret,
        password: password.clone(),
        loaded_at: now,
    };
    let server = DemoClient::new(address, kept.client_id.clone(), kept.client_secret.clone())?;
    let past = loading::load(&server, password, now).await?;
    history::move_rows(&app.store, tenant_id, past).await?;
    Ok((kept, server))
}

/// Registers what differs at each start.
///
/// That is the external system's address and secret, and perhaps the password.
async fn resume(
    app: &App,
    address: SocketAddr,
    contracts: &ContractSystem,
    password: &SecretString,
    known: Kept,
) -> Result<(Kept, DemoClient), DemoError> {
    let tenant = tenants::find_by_code(app.store.reader(), TENANT).await.map_err(Error::from)?;
    let tenant = tenant.ok_or_else(|| DemoError::Content(format!("there is no tenant {TENANT}")))?;
    let author = Author::command_line(tenant);
    app.registry.replace_source(author, SOURCE.to_owned(), source(contracts), IfMatch::default()).await?;
    let server = DemoClient::new(address, known.client_id.clone(), known.client_secret.clone())?;
    if known.password.expose_secret() != password.expose_secret() {
        let users = content::users(&PEOPLE_WITH_PASSWORD, password)?;
        let users = users.iter().map(|aged| &aged.row);
        let rows: Vec<_> = users
            .filter_map(|user| {
                let password = user.get("password")?;
                Some(json!({ "userId": user["userId"], "loginId": user["loginId"], "password": password }))
            })
            .collect();
        let token = server.token(None).await?;
        server.send(Method::PUT, "/v1/users/sync", &token, &rows).await?;
    }
    Ok((Kept { password: password.clone(), ..known }, server))
}

fn source(contracts: &ContractSystem) -> SourceForm {
    SourceForm {
        id: Some(SOURCE.to_owned()),
        name: Some("Contracts".to_owned()),
        url: Some(contracts.url("/contracts/search")),
        auth: Some(AuthForm {
            kind: Some("OAUTH2_CLIENT".to_owned()),
            token_url: Some(contracts.url("/oauth2/token")),
            client_id: Some(contracts::CLIENT_ID.to_owned()),
            client_secret: Some(contracts.client_secret()),
            ..AuthForm::default()
        }),
        timeout_ms: Some(1_000),
        ..SourceForm::default()
    }
}

fn module() -> ModuleForm {
    ModuleForm {
        name: Some("Contracts".to_owned()),
        icon: Some(SOURCE.to_owned()),
        code: Some(SOURCE.to_owned()),
        kind: Some(100),
        sources: Some([SOURCE.to_owned()].into()),
        ..ModuleForm::default()
    }
}

async fn wait_until_searchable(app: &App, mut progress: watch::Receiver<Progress>) -> Result<(), DemoError> {
    let position = *app.store.positions().borrow();
    progress
        .wait_for(|progress| progress.position >= position)
        .await
        .map_err(|_| DemoError::Content("the indexer ended".to_owned()))?;
    Ok(())
}

fn invitation(base: &str, password: &SecretString, file: &Path) -> String {
    let (password, file) = (password.expose_secret(), file.display());
    format!(
        "\nOpen {base}/ and sign in as {PERSON} with the password {password}\n\
         Operate the server at {base}/console as {OPERATOR} with the same password\n\
         Call it with the token in {file}, as {base}/docs describes\n\n\
         Try holiday  (how many days, how to ask, the form)\n\
         Try 报销     (how expenses are paid, and those that wait for {PERSON})\n\
         Try zhl      (Zhou Hailan 周海岚, by her initials)\n"
    )
}
