//! `trawl serve --demo`: sample content and an external system, loaded through the HTTP API.

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
    auth::{
        applications::{Kind, LoginClient, NewApplication},
        secrets,
    },
    error::Error,
    identity::scopes::Scope,
    indexer::Progress,
    platform::tenants::service::register_application,
    registry::{AuthForm, ModuleForm, SourceForm},
};

const TENANT: &str = "northwind";
/// Login in the printed examples.
const LOGIN: &str = "mei.chen";
const OPERATOR: &str = "bram.dekker";
/// Of 64 possible characters each.
const PASSWORD_CHARACTERS: usize = 16;
const MODULE: &str = "all";

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
    External(#[from] std::io::Error),
}

impl Demo {
    /// Loads everything and waits until it is searchable.
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

        let server = DemoClient {
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
            server.create_group(&group).await?;
        }
        for file in content::files()? {
            server.upload_file(file).await?;
        }
        wait_until_searchable(app, progress).await?;

        let invitation = invitation(&server, &user_token, &password);
        Ok(Self { contracts, password, invitation })
    }

    /// Operator, as in `console.operators`.
    pub fn operator() -> String {
        format!("{OPERATOR}@{TENANT}")
    }

    /// Password of everyone in the demo.
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

async fn wait_until_searchable(app: &App, mut progress: watch::Receiver<Progress>) -> Result<(), DemoError> {
    let position = *app.store.positions().borrow();
    progress
        .wait_for(|progress| progress.position >= position)
        .await
        .map_err(|_| DemoError::Content("the indexer ended".to_owned()))?;
    Ok(())
}

struct DemoClient {
    http: reqwest::Client,
    base: String,
    client_id: String,
    client_secret: SecretString,
}

impl DemoClient {
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

    /// Fails unless all rows are accepted.
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

    /// Returns the `data` of a success.
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

    async fn create_group(&self, group: &content::DemoGroup) -> Result<(), DemoError> {
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

    async fn upload_file(&self, file: content::DemoFile) -> Result<(), DemoError> {
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

fn invitation(server: &DemoClient, token: &str, password: &SecretString) -> String {
    let DemoClient { base, client_id, client_secret, .. } = server;
    let secret = client_secret.expose_secret();
    let password = password.expose_secret();
    format!(
        "\nNorthwind Harbour's content is loaded and its contract system connected.\n\n\
         Open {base}/ and sign in as {LOGIN} with the password {password}\n\
         Operate the server at {base}/console as {OPERATOR} with the same password\n\n\
         Try warehouse, 仓库, \"forklift\" or zhl there. The same without a browser, with the rights of {LOGIN}:\n\n\
         curl -sS -X POST '{base}/contents/search?moduleId={MODULE}&keyword=warehouse' -H 'Authorization: Bearer {token}'\n\n\
         Try keyword=%E4%BB%93%E5%BA%93 (仓库) too, moduleId=message for messages, moduleId=file&keyword=forklift for files, and moduleId=people&sort=relevance&keyword=zhouhailan (周海岚; or zhl).\n\
         API documentation: {base}/docs\n\
         The token was asked for with: {client_id} {secret}\n\
         Stop with Ctrl-C, which deletes everything."
    )
}
