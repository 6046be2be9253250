//! The server in this process, over a temporary data directory.

use std::{path::Path, sync::Arc};

use argon2::Params;
use reqwest::redirect;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use tempfile::TempDir;
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_util::sync::CancellationToken;
use trawl::{
    app::App,
    auth::{
        applications::{Kind, LoginClient, NewApplication},
        secrets,
        tokens::{Subject, Tokens},
    },
    blobs::scanning::Scanner,
    config::{Config, EngineKind, SuspensionSettings},
    identity::scopes::TokenScope,
    indexer::Indexer,
    platform::tenants::service::register_application,
    server,
    store::{Cached, change_log},
    telemetry,
};

use super::{
    TIMEOUT,
    answer::Answer,
    caller::{Caller, send},
    clock::StillClock,
    eventually, opensearch,
    planning::Planning,
    postgres,
};

pub(crate) const TOKEN_EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
pub(crate) const LOGIN_ID: &str = "urn:trawl:params:oauth:token-type:login-id";
pub(crate) const USER_ID: &str = "urn:trawl:params:oauth:token-type:user-id";

/// Except for `Retry-After`.
pub(crate) fn disable_suspension(config: &mut Config) {
    let SuspensionSettings { unavailable, unauthorized, invalid, error, timeout } = &mut config.suspension;
    for rule in [unavailable, unauthorized, invalid, error, timeout] {
        rule.failures = u32::MAX;
    }
}

pub(crate) struct TestApp {
    pub(crate) app: Arc<App>,
    pub(crate) base: String,
    pub(crate) http: reqwest::Client,
    pub(crate) clock: Arc<StillClock>,
    directory: TempDir,
    stop: CancellationToken,
    server: JoinHandle<()>,
    indexer: Option<Indexer>,
    _planning: Planning,
}

#[derive(Clone, Debug)]
pub(crate) struct Application {
    pub(crate) tenant: String,
    pub(crate) tenant_id: i64,
    pub(crate) client_id: String,
    pub(crate) client_secret: SecretString,
    pub(crate) caller: Caller,
}

impl Application {
    pub(crate) fn secret(&self) -> &str {
        self.client_secret.expose_secret()
    }
}

impl TestApp {
    pub(crate) async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    pub(crate) async fn start_with_acme() -> (Self, Application) {
        Self::start_acme_with(|_| {}).await
    }

    pub(crate) async fn start_acme_with(change: impl FnOnce(&mut Config)) -> (Self, Application) {
        let app = Self::start_with(change).await;
        let acme = app.tenant("acme").await;
        (app, acme)
    }

    pub(crate) async fn start_operated() -> (Self, Caller) {
        let (app, _) = Self::start_with_acme().await;
        let operator = app.operator().await.caller.on("acme");
        (app, operator)
    }

    pub(crate) async fn start_with(change: impl FnOnce(&mut Config)) -> Self {
        let mut config = Config::default();
        config.index.writer_memory_bytes = 16 << 20;
        config.store.readers = 2;
        // Any free space is enough.
        config.store.reserve_bytes = 0;
        // A busy machine must not cut searches short.
        config.search.timeout_ms = 10_000;
        // External systems run on this machine, mostly without credentials.
        config.connectors.allow_http_hosts = vec!["127.0.0.1".to_owned()];
        config.connectors.allow_auth_none = true;
        (config.cache.fresh_ms, config.cache.stale_ms) = (0, 0);
        // The test binary is not trawl.
        config.readers.program = Some(env!("CARGO_BIN_EXE_trawl").into());
        config.storage.text_program = Some(env!("CARGO_BIN_EXE_trawl").into());
        config.connectors.interpreter = Some(env!("CARGO_BIN_EXE_trawl").into());
        change(&mut config);
        Self::start_in(tempfile::tempdir().unwrap(), config, Arc::default(), false, None).await
    }

    pub(crate) async fn start_scanning(scanner: Arc<dyn Scanner>) -> Self {
        let started = Self::start().await;
        started.restart_in(false, |_| {}, Some(scanner)).await
    }

    async fn start_in(
        directory: TempDir,
        mut config: Config,
        clock: Arc<StillClock>,
        rebuild_index: bool,
        scanner: Option<Arc<dyn Scanner>>,
    ) -> Self {
        let planning = Planning::begin();
        directory.path().clone_into(&mut config.data);
        if config.store.url.is_none() {
            config.store.url = postgres::url_of(directory.path()).map(SecretString::from);
        }
        if config.store.url.is_none() {
            postgres::seed_sqlite(directory.path());
        }
        secrets::COST.get_or_init(|| Params::new(Params::MIN_M_COST, 1, 1, None).unwrap());
        if config.engine.kind == EngineKind::Tantivy
            && let Some(engine) = opensearch::engine_of(directory.path())
        {
            config.engine = engine;
        }
        // Started again it has another port, and is the same replica.
        config.cluster.replica = Some(postgres::REPLICA.to_owned());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        config.listen = listener.local_addr().unwrap();
        let metrics = telemetry::collect_metrics().unwrap();
        let started = Box::pin(App::start_by(Arc::clone(&clock) as _, config, metrics, rebuild_index)).await;
        let (mut app, indexer) = started.unwrap();
        if scanner.is_some() {
            Arc::get_mut(&mut app).unwrap().scanner = scanner;
        }
        let base = format!("http://{}", listener.local_addr().unwrap());
        let stop = CancellationToken::new();
        let server = tokio::spawn({
            let (app, stop) = (Arc::clone(&app), stop.clone());
            async move {
                server::listener::serve(
                    listener,
                    server::service(Arc::clone(&app)),
                    &app.config.limits,
                    stop,
                )
                .await;
            }
        });
        let http = reqwest::Client::builder().no_proxy().timeout(TIMEOUT).redirect(redirect::Policy::none());
        let http = http.build().unwrap();
        Self { app, base, http, clock, directory, stop, server, indexer: Some(indexer), _planning: planning }
    }

    /// The port changes: earlier callers need [`TestApp::caller`].
    pub(crate) async fn restart(self) -> Self {
        self.restart_and(false, |_| {}).await
    }

    pub(crate) async fn restart_rebuilding(self) -> Self {
        self.restart_and(true, |_| {}).await
    }

    pub(crate) async fn restart_with(self, change: impl FnOnce(&mut Config)) -> Self {
        self.restart_and(false, change).await
    }

    async fn restart_and(self, rebuild_index: bool, change: impl FnOnce(&mut Config)) -> Self {
        self.restart_in(rebuild_index, change, None).await
    }

    async fn restart_in(
        self,
        rebuild_index: bool,
        change: impl FnOnce(&mut Config),
        scanner: Option<Arc<dyn Scanner>>,
    ) -> Self {
        let Self { app, http, clock, directory, stop, server, indexer, .. } = self;
        // Pooled connections delay the shutdown.
        drop(http);
        stop.cancel();
        if let Some(indexer) = indexer {
            indexer.stop().await;
        }
        let aborted = server.abort_handle();
        if tokio::time::timeout(std::time::Duration::from_secs(1), server).await.is_err() {
            aborted.abort();
        }
        app.subscriptions.stop().await;
        app.quick_deals.stop().await;
        app.texts.stop().await;
        app.maintenance.stop().await;
        app.store.clone().close().await.unwrap();
        let mut config = trawl::config::Config::clone(&app.config);
        change(&mut config);
        drop(app);
        Self::start_in(directory, config, clock, rebuild_index, scanner).await
    }

    pub(crate) fn stop(&self) {
        self.stop.cancel();
    }

    pub(crate) async fn wait_for_end(self) {
        tokio::time::timeout(TIMEOUT, self.server).await.expect("the server does not stop").unwrap();
    }

    pub(crate) fn data(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) async fn tenant(&self, code: &str) -> Application {
        let scopes = TokenScope::ALL
            .into_iter()
            .filter(|scope| !matches!(scope, TokenScope::Tenants | TokenScope::Admin))
            .collect();
        self.register(code, Kind::Application, &[], scopes).await
    }

    pub(crate) async fn register(
        &self,
        tenant: &str,
        kind: Kind,
        bound: &[&str],
        scopes: Vec<TokenScope>,
    ) -> Application {
        let new = NewApplication {
            tenant: tenant.to_owned(),
            kind,
            bound: bound.iter().map(|code| (*code).to_owned()).collect(),
            scopes: Some(scopes.into_iter().collect()),
            name: "test".to_owned(),
            login: LoginClient::default(),
        };
        let registered = register_application(&self.app.store, &self.app.keys, new).await.unwrap();
        let client_id = registered.credentials.client_id;
        let client_secret = registered.credentials.client_secret;
        let mut application = Application {
            tenant: tenant.to_owned(),
            tenant_id: registered.tenant.id,
            client_id,
            client_secret,
            caller: self.caller(""),
        };
        let answer = self.grant(&application, &[("grant_type", "client_credentials")]).await;
        application.caller = self.caller(answer.body["access_token"].as_str().unwrap());
        application
    }

    pub(crate) async fn operator(&self) -> Application {
        self.register("operations", Kind::Admin, &[], TokenScope::ALL.to_vec()).await
    }

    pub(crate) async fn register_source(
        &self,
        application: &Application,
        source: Value,
        module: &str,
        sources: &[&str],
    ) {
        self.operator().await.caller.on(&application.tenant).register_source(&source, module, sources).await;
    }

    pub(crate) fn caller(&self, token: &str) -> Caller {
        Caller::new(&self.http, &self.base, token)
    }

    pub(crate) async fn user(&self, application: &Application, login: &str) -> Caller {
        let answer = self.exchange(application, LOGIN_ID, login).await;
        let token = answer.body["access_token"].as_str();
        self.caller(token.unwrap_or_else(|| panic!("no token of {login}: {}", answer.text)))
    }

    pub(crate) async fn exchange(&self, application: &Application, kind: &str, subject: &str) -> Answer {
        let form = [("grant_type", TOKEN_EXCHANGE), ("subject_token_type", kind), ("subject_token", subject)];
        self.grant(application, &form).await
    }

    /// Direct changes of the database are seen only without cached callers.
    pub(crate) async fn forget_callers(&self, tenant_id: i64) {
        let job = self.app.store.write(move |transaction| {
            transaction.invalidate(Cached::Identities(tenant_id));
            Box::pin(async { Ok(()) })
        });
        job.await.unwrap();
    }

    pub(crate) async fn expired_caller(&self, application: &Application) -> Caller {
        let tokens = Tokens::load(&self.app.store, &self.app.keys, self.base.clone(), 0).await.unwrap();
        let scopes = [TokenScope::ContentsRead].into_iter().collect();
        let issued = tokens.issue(Subject {
            client_id: application.client_id.clone(),
            epoch: 0,
            tenant_id: application.tenant_id,
            user: None,
            scopes,
        });
        let caller = self.caller(&issued.await.unwrap());
        eventually("expiry", async || (caller.post_empty("/modules").await.status == 401).then_some(()))
            .await;
        caller
    }

    /// Asks for a token with `client_secret_basic`.
    pub(crate) async fn grant(&self, application: &Application, form: &[(&str, &str)]) -> Answer {
        let request = self.http.post(format!("{}/oauth2/token", self.base)).form(form);
        send(request.basic_auth(&application.client_id, Some(application.secret()))).await
    }

    /// The index follows no change any more.
    pub(crate) async fn stop_indexer(&mut self) {
        self.indexer.take().unwrap().stop().await;
    }

    pub(crate) async fn wait_for_index(&self) {
        let position = change_log::last_position(self.app.store.index_reader()).await.unwrap();
        let mut progress = self.app.index_progress.clone();
        let waiting = progress.wait_for(|progress| progress.position >= position);
        tokio::time::timeout(TIMEOUT, waiting).await.expect("the index did not follow").unwrap();
    }

    /// Waits until the texts of all contents are read and searchable.
    pub(crate) async fn wait_for_texts(&self) {
        let unread = "SELECT COUNT(*) FROM blob_texts WHERE text IS NULL";
        eventually("the texts", async || (self.number(unread).await == 0).then_some(())).await;
        self.wait_for_index().await;
    }

    /// Waits until the index is complete and current.
    pub(crate) async fn wait_for_rebuild(&self) {
        let mut progress = self.app.index_progress.clone();
        let waiting = progress.wait_for(|progress| progress.caught_up && !progress.is_rebuilding());
        tokio::time::timeout(TIMEOUT, waiting).await.expect("the index was not filled").unwrap();
        self.wait_for_index().await;
    }

    /// All items must be accepted; waits until they are searchable.
    pub(crate) async fn put_contents(&self, caller: &Caller, module: &str, items: &[Value]) {
        for batch in items.chunks(1_000) {
            let answer = caller.put(&format!("/v1/contents/{module}"), &Value::from(batch)).await.ok();
            assert_eq!(answer.items(), [] as [Value; 0]);
        }
        self.wait_for_index().await;
    }

    /// Departments or users, all of which must be accepted.
    pub(crate) async fn sync(&self, caller: &Caller, area: &str, rows: &Value) {
        let answer = caller.put(&format!("/v1/{area}/sync"), rows).await.ok();
        assert_eq!(answer.items(), [] as [Value; 0]);
    }
}
