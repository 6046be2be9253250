//! Every long-lived part, built once and handed around as state.

use std::{num::NonZeroU32, sync::Arc};

use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use trawl_connectors::{AddressRules, InvalidHost, SettingsError};

use crate::{
    answers::Answers,
    auth::{
        attempts::Attempts, authorization::codes::Codes, caller::Authenticator, issuers::Issuers, keys::Keys,
        secrets::SecretChecker, sessions::Sessions, tokens::Tokens,
    },
    bodies::Bodies,
    config::{Config, Connectors},
    error::Error,
    extraction::worker::Texts,
    indexer::{BulkGate, IndexControl, Indexer, Progress},
    platform::{files::commit::Commits, robots::limits::RobotLimits, tasks::quick_deal::QuickDeals},
    scanner::{Scanner, clamd::Clamd},
    search::{
        Coordinator,
        clock::{Clock, SystemClock},
        registry::{Reach, Registry},
        slow::SlowSearches,
    },
    storage::{self, BlobStore, contents::Contents, local::Local},
    store::{OpenError, Store},
    upkeep::{Rounds, Upkeep},
};

/// What every handler may use.
pub struct App {
    /// The effective settings.
    pub config: Config,
    /// The database.
    pub store: Store,
    /// The keys derived from the master key.
    pub keys: Arc<Keys>,
    /// Turns tokens into callers.
    pub authenticator: Authenticator,
    /// Checks client secrets and passwords.
    pub secret_checker: SecretChecker,
    /// The authorization codes of people who signed in lately.
    pub codes: Codes,
    /// How often who tried to prove who he is.
    pub attempts: Attempts,
    /// The modules and sources of each tenant.
    pub registry: Arc<Registry>,
    /// Runs searches.
    pub coordinator: Coordinator,
    /// The searches that took long lately.
    pub slow_searches: Arc<SlowSearches>,
    /// How far the full-text index is.
    pub index_progress: watch::Receiver<Progress>,
    /// The full-text index as its operator sees it.
    pub index: Arc<IndexControl>,
    /// Holds bulk writes back while the index is far behind.
    pub bulk: BulkGate,
    /// Handles tasks quickly.
    pub quick_deals: Arc<QuickDeals>,
    /// Writing calls of each application (decisions 9.9).
    pub writes: DefaultKeyedRateLimiter<Arc<str>>,
    /// What group robots sent lately (decisions 9.5).
    pub robot_limits: RobotLimits,
    /// The room for request bodies.
    pub bodies: Bodies,
    /// The room for large answers.
    pub answers: Answers,
    /// Where the contents of files are.
    pub storage: Arc<dyn BlobStore>,
    /// The same, where it is the embedded one.
    pub embedded: Option<Arc<Local>>,
    /// Keeps contents and their rows together.
    pub contents: Arc<Contents>,
    /// The commits of files that go on.
    pub commits: Commits,
    /// What looks for harm in files before they are committed, where anything does.
    pub scanner: Option<Arc<dyn Scanner>>,
    /// Reads what contents say.
    pub texts: Texts,
    /// What is done in the background.
    pub upkeep: Upkeep,
    /// Renders the metrics.
    pub metrics: PrometheusHandle,
}

/// Why the server could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The data directory could not be made.
    #[error("the data directory {path} could not be made: {cause}")]
    Data {
        /// The directory.
        path: std::path::PathBuf,
        /// What the system said.
        cause: std::io::Error,
    },
    /// The database could not be opened.
    #[error(transparent)]
    Store(#[from] OpenError),
    /// There is no master key.
    #[error(transparent)]
    Keys(#[from] crate::auth::keys::KeyError),
    /// A host in the settings is none.
    #[error("connectors.allow_http_hosts: {0}")]
    HttpHost(#[from] InvalidHost),
    /// The client of quick handling's callbacks could not be set up.
    #[error("the client of callbacks could not be set up: {0}")]
    Callbacks(#[from] SettingsError),
    /// The full-text index is another server's, or could not be locked.
    #[error("the full-text index could not be locked: {0}")]
    Index(#[from] trawl_index::Error),
    /// The store of contents could not be opened.
    #[error("{0}")]
    Storage(String),
    /// Something else.
    #[error(transparent)]
    Other(#[from] Error),
}

impl App {
    /// Opens the data directory and starts what runs in the background.
    pub async fn start(
        config: Config,
        metrics: PrometheusHandle,
        rebuild_index: bool,
    ) -> Result<(Arc<Self>, Indexer), StartError> {
        Self::start_by(Arc::new(SystemClock), config, metrics, rebuild_index).await
    }

    /// The same, with suspensions of sources by this clock.
    pub async fn start_by(
        clock: Arc<dyn Clock>,
        config: Config,
        metrics: PrometheusHandle,
        rebuild_index: bool,
    ) -> Result<(Arc<Self>, Indexer), StartError> {
        let data = &config.data;
        std::fs::create_dir_all(data).map_err(|cause| StartError::Data { path: data.clone(), cause })?;
        let keys = Arc::new(Keys::load(config.master_key.as_ref(), data)?);
        let store = Store::open(data, config.store.readers).await?;
        let store = store.keeping_free(data, config.store.reserve_bytes);
        let tokens = Tokens::load(&store, &keys, config.public_url(), config.auth.token_seconds).await?;

        let indexer =
            Indexer::start(store.clone(), data, &config.index, &config.public_url(), rebuild_index).await?;
        let opened = open_storage(&config, &keys, &store).await?;
        let contents = Arc::new(Contents::new(Arc::clone(&opened.store)));
        let reach = reach(&config.connectors)?;
        let issuers = Issuers::new(&config.auth.issuers, &reach.addresses);
        let quick_deals = QuickDeals::new(store.clone(), Arc::clone(&keys), &reach.addresses, &config.tasks)?;
        let registry = Arc::new(Registry::new(
            store.clone(),
            indexer.served(),
            Arc::clone(&keys),
            reach.clone(),
            config.cache,
            config.suspension,
            clock,
        ));
        let search = &config.search;
        let coordinator =
            Coordinator::new(Arc::clone(&registry), Arc::clone(&keys), search.at_once, search.source_pages);
        let writes_per_minute = NonZeroU32::new(config.limits.writes_per_minute).unwrap_or(NonZeroU32::MIN);
        let sessions = Arc::new(Sessions::new(&config.web, &config.console));
        let authenticator = Authenticator::new(store.clone(), tokens, sessions).trusting(issuers);
        let upkeep = Upkeep::start(Rounds {
            store: store.clone(),
            usage: Arc::clone(authenticator.usage()),
            sessions: Arc::clone(authenticator.sessions()),
            tokens: Arc::clone(authenticator.tokens()),
            keep_days: config.audit.keep_days,
            upload_hours: config.storage.upload_hours,
            bulk: BulkGate::new(&store, &indexer),
            contents: Arc::clone(&contents),
            stop: CancellationToken::new(),
        });
        let texts = Texts::start(
            store.clone(),
            Arc::clone(&opened.store),
            (&config.storage, &config.limits),
            upkeep.waker(),
        )
        .await?;
        let app = Self {
            texts,
            authenticator,
            secret_checker: SecretChecker::new(config.auth.secret_checks_at_once)?,
            codes: Codes::default(),
            attempts: Attempts::new(config.limits.logins_per_minute),
            registry,
            coordinator,
            slow_searches: Arc::new(SlowSearches::new(config.search.slow_ms)),
            index_progress: indexer.progress(),
            index: indexer.control(),
            bulk: BulkGate::new(&store, &indexer),
            quick_deals: Arc::new(quick_deals),
            writes: RateLimiter::keyed(Quota::per_minute(writes_per_minute)),
            robot_limits: RobotLimits::new(config.limits.robot_messages_per_minute),
            bodies: Bodies::new(config.limits.held_body_bytes),
            answers: Answers::new(config.limits.held_answer_bytes),
            commits: Commits::default(),
            scanner: Clamd::new(&config.scanner).map(|clamd| Arc::new(clamd) as _),
            metrics,
            storage: opened.store,
            embedded: opened.embedded,
            contents,
            upkeep,
            store,
            keys,
            config,
        };
        Ok((Arc::new(app), indexer))
    }
}

/// The store of contents, once the index is locked: nobody else is at work on it then.
async fn open_storage(config: &Config, keys: &Keys, store: &Store) -> Result<storage::Opened, StartError> {
    let opened = storage::open(config, keys)?;
    storage::contents::check_store(store, opened.store.name()).await?;
    if let Some(embedded) = &opened.embedded {
        embedded.remove_unfinished().await?;
    }
    Ok(opened)
}

fn reach(connectors: &Connectors) -> Result<Reach, StartError> {
    Ok(Reach {
        addresses: AddressRules::new(&connectors.allow_http_hosts)?,
        auth_none: connectors.allow_auth_none,
        max_body_bytes: connectors.max_body_bytes,
    })
}
