//! Every long-lived part, built once and handed around as state.

mod states;

use std::{num::NonZeroU32, sync::Arc, time::Duration};

use axum::http::HeaderValue;
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::{sync::watch, task::spawn_blocking};
use tokio_util::sync::CancellationToken;
use trawl_connectors::{AddressRules, InterpreterPool, InvalidHost, SettingsError};
use trawl_search::{
    Coordinator, CursorKey, ModuleDirectory,
    clock::{Clock, SystemClock},
    figures::Figures,
    slow::SlowSearches,
};

use crate::{
    auth::{
        AuthState,
        assertions::Assertions,
        caller::Authenticator,
        issuers::Issuers,
        keys::Keys,
        secrets::{KEYED_HASHES, SecretChecker},
        sessions::Sessions,
        throttle::LoginThrottle,
        tokens::Tokens,
    },
    blobs::{
        self, BlobStore,
        contents::Contents,
        extraction::{process::TextReader, worker::ExtractionService},
        local::Local,
        scanning::{Scanner, clamd::Clamd},
    },
    budget::ByteBudget,
    config::{Config, Connectors, Limits},
    confined::process::{ReaderPlaces, ReaderProcesses, own_program},
    error::Error,
    index_progress::{BulkGate, WaitingSearches},
    indexer::{IndexControl, Indexer, IndexerError, Progress},
    maintenance::{Jobs, Maintenance},
    platform::{
        contents::ContentsState,
        directory::AreaDirectory,
        files::{commit::FileCommits, reindexing},
        robots::limits::RobotLimits,
        shared::sync::Synchronisation,
        subscriptions::{IgnoredNames, SubscriptionsState, scheduler::Scheduler},
        tasks::{creation::TaskCreations, quick_deal::QuickDeals},
        users,
    },
    registry::{Registry, SourcePolicy},
    replicas::{JoinError, Replicas, SharedSettings, kept_id},
    store::{OpenError, Store, copy},
};

/// The shared state of all handlers.
pub struct App {
    /// Effective settings.
    pub config: Arc<Config>,
    /// Limits on requests.
    pub limits: Arc<Limits>,
    /// The server's public address.
    pub public_url: Arc<str>,
    /// Database.
    pub store: Store,
    /// This process among its replicas.
    pub replicas: Arc<Replicas>,
    /// The replica's id as every answer names it.
    pub replica_header: HeaderValue,
    /// Keys derived from the master key.
    pub keys: Arc<Keys>,
    /// Turns tokens into callers.
    pub authenticator: Arc<Authenticator>,
    /// State of the OAuth and session routes.
    pub auth: AuthState,
    /// Checks client secrets and passwords.
    pub secret_checker: SecretChecker,
    /// Login throttle.
    pub throttle: Arc<LoginThrottle>,
    /// Modules and sources of each tenant.
    pub registry: Arc<Registry>,
    /// Runs searches.
    pub coordinator: Arc<Coordinator>,
    /// Recent slow searches.
    pub slow_searches: Arc<SlowSearches>,
    /// Clock of suspensions, figures and insights.
    pub clock: Arc<dyn Clock>,
    /// Progress of the full-text index.
    pub index_progress: watch::Receiver<Progress>,
    /// Searches that wait for the full-text index.
    pub waiting_searches: WaitingSearches,
    /// Control of the full-text index.
    pub index: Arc<IndexControl>,
    /// Refuses bulk writes while the index lags far behind.
    pub bulk: BulkGate,
    /// Quick handling of tasks.
    pub quick_deals: Arc<QuickDeals>,
    /// Runs of subscriptions.
    pub subscriptions: Scheduler,
    /// Creation of tasks.
    pub(crate) creations: Arc<TaskCreations>,
    /// Write rate of each application (`limits.writes_per_minute`).
    pub writes: DefaultKeyedRateLimiter<Arc<str>>,
    /// Message rates of group robots (`limits.robot_messages_per_minute`).
    pub robot_limits: Arc<RobotLimits>,
    /// Bytes that request bodies hold (`limits.held_body_bytes`).
    pub body_budget: ByteBudget,
    /// Unsent bytes of large answers (`limits.held_answer_bytes`).
    pub answer_budget: ByteBudget,
    /// Store of file contents.
    pub blobs: Arc<dyn BlobStore>,
    /// Embedded content store, if used.
    pub embedded: Option<Arc<Local>>,
    /// Keeps contents and their rows consistent.
    pub contents: Arc<Contents>,
    /// Commits of files in progress.
    pub commits: Arc<FileCommits>,
    /// Scans files before their commit, if configured.
    pub scanner: Option<Arc<dyn Scanner>>,
    /// Extracts the text of contents.
    pub texts: Arc<ExtractionService>,
    /// Background jobs.
    pub maintenance: Maintenance,
    /// Renders the metrics.
    pub metrics: PrometheusHandle,
}

/// Why the server did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The database could not be opened.
    #[error(transparent)]
    Store(#[from] OpenError),
    /// `trawl store copy` was cut short.
    #[error("the database is an unfinished copy of another one; run `trawl store copy` again to complete it")]
    UnfinishedCopy,
    /// The master key is missing or invalid.
    #[error(transparent)]
    Keys(#[from] crate::auth::keys::KeyError),
    /// A configured host is invalid.
    #[error("connectors.allow_http_hosts: {0}")]
    HttpHost(#[from] InvalidHost),
    /// The callback client of quick handling failed to start.
    #[error("the callback client could not be set up: {0}")]
    Callbacks(#[from] SettingsError),
    /// The index could not be locked, or its cluster's settings are wrong.
    #[error(transparent)]
    Index(#[from] IndexerError),
    /// The content store could not be opened.
    #[error(transparent)]
    Blobs(#[from] blobs::BlobOpenError),
    /// Another replica has other settings.
    #[error(transparent)]
    Replicas(#[from] JoinError),
    /// Any other failure.
    #[error(transparent)]
    Other(#[from] Error),
}

impl App {
    /// Opens the data directory and starts the background jobs.
    pub async fn start(
        config: Config,
        metrics: PrometheusHandle,
        rebuild_index: bool,
    ) -> Result<(Arc<Self>, Indexer), StartError> {
        Self::start_by(Arc::new(SystemClock), config, metrics, rebuild_index).await
    }

    /// Like [`App::start`], with this clock for suspensions, figures and insights.
    pub async fn start_by(
        clock: Arc<dyn Clock>,
        config: Config,
        metrics: PrometheusHandle,
        rebuild_index: bool,
    ) -> Result<(Arc<Self>, Indexer), StartError> {
        // The first Chinese search is as fast as later ones.
        let dictionaries = spawn_blocking(trawl_engine::text::load_dictionaries);
        let keys = Arc::new(Keys::load(config.master_key.as_ref(), &config.data)?);
        let store = open_store(&config).await?;
        let replicas = join_replicas(&config, &keys, &store).await?;
        let tokens = Tokens::load(&store, &keys, config.public_url(), config.auth.token_seconds).await?;

        let leases = replicas.leases().clone();
        let indexer = Indexer::start(store.clone(), leases, &config, rebuild_index).await?;
        let opened = open_storage(&config, &keys, &store).await?;
        let contents = Arc::new(Contents::new(Arc::clone(&opened.store)));
        let sessions = Arc::new(Sessions::new(&config.web, &config.console));
        let assertions = Assertions::new(&store, &tokens, Arc::new(AreaDirectory), &sessions);
        let policy = source_policy(&config.connectors, assertions)?;
        let issuers = Issuers::new(&config.auth.issuers, &policy.addresses);
        let quick_deals = QuickDeals::new(
            store.clone(),
            replicas.leases().clone(),
            Arc::clone(&keys),
            &policy.addresses,
            &config.tasks,
        )?;
        let addresses = policy.addresses.clone();
        let figures = Arc::new(Figures::new(Arc::clone(&clock)));
        let registry = registry(&config, &store, &indexer, &keys, policy, &clock);
        let coordinator = coordinator(&config, &registry, &keys, &figures);
        let writes_per_minute = NonZeroU32::new(config.limits.writes_per_minute).unwrap_or(NonZeroU32::MIN);
        let authenticator =
            Authenticator::new(store.clone(), tokens, sessions, Arc::new(AreaDirectory)).trusting(issuers);
        let kept = (&authenticator, &figures, &clock);
        let upkeep = start_maintenance(&config, &store, kept, &indexer, &contents, &replicas);
        let places = ReaderPlaces::default();
        let texts = start_texts(&config, &store, &opened.store, &replicas, places.clone()).await?;
        let bulk = BulkGate::new(store.positions(), indexer.progress());
        let subscriptions = start_subscriptions(
            &config,
            (&store, &bulk, &registry),
            (&keys, addresses),
            &clock,
            &replicas,
            places,
        )?;
        let authenticator = Arc::new(authenticator);
        let secret_checker = SecretChecker::new(config.auth.secret_checks_at_once)?;
        let shared = config.store.url.is_some().then(|| store.clone());
        let throttle = Arc::new(LoginThrottle::new(config.limits.logins_per_minute, shared));
        let public_url: Arc<str> = config.public_url().into();
        let auth = AuthState {
            store: store.clone(),
            keys: Arc::clone(&keys),
            authenticator: Arc::clone(&authenticator),
            secret_checker: secret_checker.clone(),
            throttle: Arc::clone(&throttle),
            public_url: Arc::clone(&public_url),
            trusted_proxies: config.trusted_proxies.as_slice().into(),
            usual_tenant: config.web.tenant.as_str().into(),
        };
        dictionaries.await.map_err(Error::internal)?;
        replicas.start_heartbeat(indexer.progress());
        let app = Self {
            auth,
            limits: Arc::new(config.limits.clone()),
            public_url,
            texts: Arc::new(texts),
            authenticator,
            secret_checker,
            throttle,
            registry,
            coordinator: Arc::new(coordinator),
            slow_searches: Arc::new(SlowSearches::new(config.search.slow_ms)),
            clock,
            index_progress: indexer.progress(),
            waiting_searches: indexer.waiting_searches(),
            index: indexer.control(),
            quick_deals: Arc::new(quick_deals),
            subscriptions,
            creations: TaskCreations::new(store.clone(), bulk.clone()).into(),
            bulk,
            writes: RateLimiter::keyed(Quota::per_minute(writes_per_minute)),
            robot_limits: Arc::new(RobotLimits::new(config.limits.robot_messages_per_minute)),
            body_budget: ByteBudget::new(config.limits.held_body_bytes),
            answer_budget: ByteBudget::new(config.limits.held_answer_bytes),
            commits: Arc::new(FileCommits::new(replicas.leases().clone())),
            scanner: Clamd::new(&config.scanner).map(|clamd| Arc::new(clamd) as _),
            metrics,
            blobs: opened.store,
            embedded: opened.embedded,
            contents,
            maintenance: upkeep,
            replica_header: HeaderValue::from_str(replicas.id()).map_err(Error::internal)?,
            replicas,
            store,
            keys,
            config: Arc::new(config),
        };
        Ok((Arc::new(app), indexer))
    }

    fn sync(&self) -> Synchronisation {
        let (store, bulk) = (self.store.clone(), self.bulk.clone());
        Synchronisation { store, bulk }
    }
}

async fn open_store(config: &Config) -> Result<Store, StartError> {
    let store = Store::open_for_server(config).await?;
    if copy::origin(&store).await.map_err(Error::from)?.is_some() {
        return Err(StartError::UnfinishedCopy);
    }
    users::service::fold_logins(&store).await?;
    Ok(store.with_disk_reserve(&config.data, config.store.reserve_bytes))
}

async fn join_replicas(config: &Config, keys: &Keys, store: &Store) -> Result<Arc<Replicas>, JoinError> {
    let own = [("master_key", keys.fingerprint.clone()), (KEYED_HASHES, "HMAC-SHA-256".to_owned())];
    let shared = config.shared().into_iter().chain(own);
    let id = config.cluster.replica.clone().map_or_else(|| kept_id(&config.data), Ok)?;
    Replicas::join(store, &id, &SharedSettings::new(shared)).await.map(Arc::new)
}

fn registry(
    config: &Config,
    store: &Store,
    indexer: &Indexer,
    keys: &Arc<Keys>,
    policy: SourcePolicy,
    clock: &Arc<dyn Clock>,
) -> Arc<Registry> {
    let (store, served, keys, clock) = (store.clone(), indexer.served(), Arc::clone(keys), Arc::clone(clock));
    Arc::new(Registry::new(store, served, keys, policy, config.cache, config.suspension, clock))
}

fn coordinator(
    config: &Config,
    registry: &Arc<Registry>,
    keys: &Arc<Keys>,
    figures: &Arc<Figures>,
) -> Coordinator {
    let (at_once, source_pages) = (config.search.at_once, config.search.source_pages);
    let directory = Arc::clone(registry) as Arc<dyn ModuleDirectory>;
    let cursor_key = Arc::clone(keys) as Arc<dyn CursorKey>;
    Coordinator::new(directory, cursor_key, at_once, source_pages, Arc::clone(figures))
}

fn start_maintenance(
    config: &Config,
    store: &Store,
    (authenticator, figures, clock): (&Authenticator, &Arc<Figures>, &Arc<dyn Clock>),
    indexer: &Indexer,
    contents: &Arc<Contents>,
    replicas: &Replicas,
) -> Maintenance {
    Maintenance::start(Jobs {
        store: store.clone(),
        usage: Arc::clone(authenticator.usage()),
        sessions: Arc::clone(authenticator.sessions()),
        tokens: Arc::clone(authenticator.tokens()),
        figures: Arc::clone(figures),
        clock: Arc::clone(clock),
        keep_days: config.audit.keep_days,
        upload_hours: config.storage.upload_hours,
        bulk: BulkGate::new(store.positions(), indexer.progress()),
        contents: Arc::clone(contents),
        leases: replicas.leases().clone(),
        stop: CancellationToken::new(),
    })
}

async fn start_texts(
    config: &Config,
    store: &Store,
    contents: &Arc<dyn BlobStore>,
    replicas: &Replicas,
    places: ReaderPlaces,
) -> Result<ExtractionService, Error> {
    let reader = TextReader::new(&config.storage, &config.limits, places)?;
    let service = ExtractionService::start(
        store.clone(),
        Arc::clone(contents),
        (reader, Duration::from_millis(config.storage.text_wait_ms)),
        |transaction, content| Box::pin(reindexing::record_text(transaction, content)),
        store.maintenance_requests(),
        replicas.leases().clone(),
    );
    Ok(service.await)
}

fn start_subscriptions(
    config: &Config,
    (store, bulk, registry): (&Store, &BulkGate, &Arc<Registry>),
    (keys, addresses): (&Arc<Keys>, AddressRules),
    clock: &Arc<dyn Clock>,
    replicas: &Replicas,
    places: ReaderPlaces,
) -> Result<Scheduler, StartError> {
    let readers = ReaderProcesses::new(own_program(config.readers.program.as_ref())?, places.clone());
    let contents = ContentsState {
        store: store.clone(),
        limits: Arc::new(config.limits.clone()),
        bulk: bulk.clone(),
        registry: Arc::clone(registry),
        readers: readers.clone(),
    };
    let state = SubscriptionsState {
        contents,
        keys: Arc::clone(keys),
        addresses,
        folders: config.subscriptions.folders.as_slice().into(),
        ignored_names: Arc::new(IgnoredNames::new(&config.subscriptions.ignored_names)),
        databases: config.subscriptions.databases.as_slice().into(),
        clock: Arc::clone(clock),
        wake: Arc::default(),
    };
    let texts = TextReader::new(&config.storage, &config.limits, places)?;
    let leases = replicas.leases().clone();
    Ok(Scheduler::start(state, leases, texts, readers, &config.subscriptions)?)
}

/// Requires the index lock, so no other process works on it.
async fn open_storage(config: &Config, keys: &Keys, store: &Store) -> Result<blobs::OpenedStore, StartError> {
    let opened = blobs::open(config, keys)?;
    blobs::contents::check_store(store, opened.store.name()).await?;
    if let Some(embedded) = &opened.embedded {
        embedded.remove_unfinished().await?;
    }
    Ok(opened)
}

fn source_policy(connectors: &Connectors, assertions: Assertions) -> Result<SourcePolicy, StartError> {
    Ok(SourcePolicy {
        interpreters: InterpreterPool::new(own_program(connectors.interpreter.as_ref())?),
        addresses: AddressRules::new(&connectors.allow_http_hosts)?.within(&connectors.allow_networks),
        auth_none: connectors.allow_auth_none,
        max_body_bytes: connectors.max_body_bytes,
        assertions: Some(assertions),
    })
}
