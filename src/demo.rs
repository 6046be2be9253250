//! `trawl serve --demo`: one company's content, its people, and an external system, loaded by the real doors.

mod content;
mod contracts;

use std::{net::SocketAddr, sync::Arc};

use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::watch;

use self::contracts::ContractSystem;
use crate::{
    app::App,
    auth::applications::{Kind, LoginClient, NewApplication},
    auth::{scopes::Scope, secrets},
    error::Error,
    indexer::Progress,
    platform::tenants::model::register_application,
    search::registry::{AuthForm, ModuleForm, SourceForm},
};

/// The demo company's tenant code.
const TENANT: &str = "northwind";
/// The person whom the printed example searches as.
const LOGIN: &str = "mei.chen";
/// The person who operates the demo's server.
const OPERATOR: &str = "bram.dekker";
/// Characters of the password of its people, of 64 that each may be.
const PASSWORD_CHARACTERS: usize = 16;
/// The module that shows everything at once.
const MODULE: &str = "all";

/// A running demo.
pub struct Demo {
    contracts: ContractSystem,
    password: SecretString,
    invitation: String,
}

/// Why the demo could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// The server refused a step.
    #[error(transparent)]
    Refused(#[from] Error),
    /// A call of its own could not be made.
    #[error("the demo could not call the server: {0}")]
    Http(#[from] reqwest::Error),
    /// The server did not take something in.
    #[error("the server did not take the demo's content in: {0}")]
    Content(String),
    /// The external system could not be started.
    #[error("the demo's external system could not be started: {0}")]
    External(#[from] std::io::Error),
}

impl Demo {
    /// Loads the content through the server's own interface, registers the external system, and waits until all of
    /// it is found.
    pub async fn start(
        app: &Arc<App>,
        address: SocketAddr,
        progress: watch::Receiver<Progress>,
    ) -> Result<Self, DemoError> {
        let new = NewApplication {
            tenant: TENANT.to_owned(),
            kind: Kind::Application,
            bound: Vec::new(),
            scopes: Some(
                Scope::ALL
                    .into_iter()
                    .filter(|scope| !matches!(scope, Scope::Tenants | Scope::Admin))
                    .collect(),
            ),
            name: "demo".to_owned(),
            login: LoginClient::default(),
        };
        let registered = register_application(&app.store, &app.keys, new).await?;
        let password = new_password()?;
        let contracts = ContractSystem::start().await?;
        register_contracts(app, registered.tenant.id, &contracts).await?;

        let server = Server {
            http: reqwest::Client::builder().no_proxy().build()?,
            base: format!("http://{address}"),
            client_id: registered.credentials.client_id,
            client_secret: registered.credentials.client_secret,
        };
        let now = crate::store::now_millis();
        let token = server.token(None).await?;
        server.send("PUT", "/v1/organizations/sync", &token, &content::departments()?).await?;
        server.send("PUT", "/v1/users/sync", &token, &content::users(&password)?).await?;
        server.send("PUT", "/v1/contents/article", &token, &content::articles(now)?).await?;
        server.send("PUT", "/v1/contents/feed", &token, &content::feeds(now)?).await?;
        server.send("POST", "/api/todo/batch_create", &token, &content::todos()?).await?;
        server.send("POST", "/api/done/batch_create", &token, &content::done_items()?).await?;
        let user_token = server.token(Some(LOGIN)).await?;
        for favorite in content::favorites()? {
            server.call("POST", "/v1/favorites", Some(&user_token), &favorite).await?;
        }
        for group in content::groups()? {
            server.make_group(&group).await?;
        }
        for file in content::files()? {
            server.hand_in(file).await?;
        }
        wait_until_searchable(app, progress).await?;

        let invitation = invitation(&server, &user_token, &password);
        Ok(Self { contracts, password, invitation })
    }

    /// Who operates the demo's server, as `console.operators` names them.
    pub fn operator() -> String {
        format!("{OPERATOR}@{TENANT}")
    }

    /// What each of its people signs in with.
    pub fn password(&self) -> &SecretString {
        &self.password
    }

    /// What to try, for the terminal.
    pub fn invitation(&self) -> &str {
        &self.invitation
    }

    /// Ends the external system.
    pub async fn stop(self) {
        self.contracts.stop().await;
    }
}

fn new_password() -> Result<SecretString, Error> {
    let secret = secrets::generate()?;
    Ok(secret.expose_secret().chars().take(PASSWORD_CHARACTERS).collect::<String>().into())
}

async fn register_contracts(app: &App, tenant_id: i64, contracts: &ContractSystem) -> Result<(), DemoError> {
    let source = SourceForm {
        id: Some("contracts".to_owned()),
        name: Some("Contracts".to_owned()),
        url: Some(contracts.search_url().into()),
        auth: Some(AuthForm {
            kind: Some("OAUTH2_CLIENT".to_owned()),
            token_url: Some(contracts.token_url().into()),
            client_id: Some(contracts::CLIENT_ID.to_owned()),
            client_secret: Some(contracts.client_secret()),
            ..AuthForm::default()
        }),
        timeout_ms: Some(1_000),
        ..SourceForm::default()
    };
    app.registry.create_source(tenant_id, source).await?;
    let sources = ["builtin:todo", "builtin:feed", "builtin:article", "contracts"];
    let module = ModuleForm {
        name: Some("Everything".to_owned()),
        icon: Some("all".to_owned()),
        code: Some(MODULE.to_owned()),
        kind: Some(101),
        sources: Some(sources.map(str::to_owned).to_vec()),
        ..ModuleForm::default()
    };
    app.registry.create_module(tenant_id, module).await?;
    Ok(())
}

/// Everything acknowledged so far is found once the index has reached the store's position.
async fn wait_until_searchable(app: &App, mut progress: watch::Receiver<Progress>) -> Result<(), DemoError> {
    let position = *app.store.positions().borrow();
    progress
        .wait_for(|progress| progress.position >= position)
        .await
        .map_err(|_| DemoError::Content("the indexer ended".to_owned()))?;
    Ok(())
}

/// The server as one of its applications sees it.
struct Server {
    http: reqwest::Client,
    base: String,
    client_id: String,
    client_secret: SecretString,
}

impl Server {
    async fn token(&self, login: Option<&str>) -> Result<String, DemoError> {
        let form: Vec<(&str, &str)> = match login {
            None => vec![("grant_type", "client_credentials")],
            Some(login) => vec![
                ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
                ("subject_token_type", "urn:trawl:params:oauth:token-type:login-id"),
                ("subject_token", login),
            ],
        };
        let answer: Value = self
            .http
            .post(format!("{}/oauth2/token", self.base))
            .basic_auth(&self.client_id, Some(self.client_secret.expose_secret()))
            .form(&form)
            .send()
            .await?
            .json()
            .await?;
        let token = answer["access_token"].as_str().map(str::to_owned);
        token.ok_or_else(|| DemoError::Content(answer.to_string()))
    }

    /// Sends rows; every one of them has to be taken in.
    async fn send(
        &self,
        method: &str,
        path: &str,
        token: &str,
        rows: &impl Serialize,
    ) -> Result<(), DemoError> {
        let data = self.call(method, path, Some(token), rows).await?;
        let refused = data.get("error").unwrap_or(&data);
        if refused.as_array().is_some_and(Vec::is_empty) {
            Ok(())
        } else {
            Err(DemoError::Content(format!("{path}: {refused}")))
        }
    }

    /// Calls the server; answers `data` of a success.
    async fn call(
        &self,
        method: &str,
        path: &str,
        token: Option<&str>,
        body: &impl Serialize,
    ) -> Result<Value, DemoError> {
        let url = format!("{}{path}", self.base);
        let mut request = if method == "PUT" { self.http.put(url) } else { self.http.post(url) };
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        let mut answer: Value = request.json(body).send().await?.json().await?;
        if answer["code"] == 200 {
            Ok(answer["data"].take())
        } else {
            Err(DemoError::Content(format!("{path}: {answer}")))
        }
    }

    /// Makes a group, and has its robot say what it has to say.
    async fn make_group(&self, group: &content::Group) -> Result<(), DemoError> {
        let token = self.token(Some(&group.owner)).await?;
        let id = self.call("POST", "/v1/groups", Some(&token), &group.form).await?;
        let path = format!("/v1/groups/{}/robots", id.as_str().unwrap_or_default());
        let robot = self.call("POST", &path, Some(&token), &json!({ "name": group.robot })).await?;
        let hook =
            format!("/notificationapi/hook/send?token={}", robot["token"].as_str().unwrap_or_default());
        for message in &group.messages {
            self.call("POST", &hook, None, message).await?;
        }
        Ok(())
    }

    /// Puts a file into a folder of its owner's, as any application does: signed, sent, committed.
    async fn hand_in(&self, file: content::File) -> Result<(), DemoError> {
        let token = self.token(Some(&file.owner)).await?;
        let form = json!({ "name": file.folder, "skip": true });
        let folder = self.call("POST", "/v1/directories/create", Some(&token), &form).await?;
        if !file.readers.is_empty() {
            let form = json!({ "dirId": folder["id"], "roleIds": ["downloader"], "authTarget": file.readers, "targetType": 2 });
            self.call("POST", "/v1/directories/authorize", Some(&token), &form).await?;
        }
        let size = file.content.len();
        let form = json!({ "fileName": file.name, "fileSize": size });
        let signed = self.call("POST", "/v1/stream/upload", Some(&token), &form).await?;
        let address = signed["url"].as_str().unwrap_or_default();
        self.http.put(address).body(file.content).send().await?.error_for_status()?;
        let form = json!({ "uploadId": signed["uploadId"], "dirId": folder["id"], "fileName": file.name, "fileSize": size });
        self.call("POST", "/v1/stream/upload/commit", Some(&token), &form).await?;
        Ok(())
    }
}

fn invitation(server: &Server, token: &str, password: &SecretString) -> String {
    let Server { base, client_id, client_secret, .. } = server;
    let secret = client_secret.expose_secret();
    let password = password.expose_secret();
    format!(
        "\nNorthwind Harbour's people, to-dos, feeds, articles, groups, messages and files are loaded, and its contract system is connected.\n\n\
         Open {base}/ and sign in as {LOGIN} with the password {password}\n\
         Operate it at {base}/console as {OPERATOR} with the same password\n\n\
         Try warehouse, 仓库, \"forklift\" or zhl there. The same without a browser, as {LOGIN}, who sees her own to-dos and what she may see of the rest:\n\n\
         curl -sS -X POST '{base}/contents/search?moduleId={MODULE}&keyword=warehouse' -H 'Authorization: Bearer {token}'\n\n\
         Try keyword=%E4%BB%93%E5%BA%93 (仓库) too, moduleId=message for what robots said in her groups, moduleId=file&keyword=forklift for what files say, and moduleId=people&sort=relevance&keyword=zhouhailan (周海岚; zhl finds her too).\n\
         The interface, to read and to try: {base}/docs\n\
         The application that the token was asked for with: {client_id} {secret}\n\
         Stop with Ctrl-C; everything is thrown away then."
    )
}
