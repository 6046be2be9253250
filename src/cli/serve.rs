//! `trawl serve`: runs the server until SIGTERM or Ctrl-C.

mod descriptors;

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
};
use tokio_util::sync::CancellationToken;

use super::{
    data_directory::{self, ExposedEntries},
    exit::{WRONG_USAGE, fail},
};
use crate::{
    app::App,
    config::{Config, Flags, Limits},
    demo::Demo,
    indexer::Indexer,
    server, telemetry,
};

const ADDRESS_FILE: &str = "listen.addr";

const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(30);

const METRICS_INTERVAL: Duration = Duration::from_secs(5);

/// Run the server
#[derive(Debug, clap::Args)]
pub(super) struct ServeOptions {
    /// Settings file [default: trawl.toml if it exists]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Data directory [default: ./trawl-data]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Address to listen on; port 0 picks a free one [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDR")]
    listen: Option<SocketAddr>,
    /// Serve sample content, in a temporary data directory unless --data names one
    #[arg(long)]
    demo: bool,
    /// Rebuild the full-text index from the database
    #[arg(long)]
    rebuild_index: bool,
    /// Print the effective settings, secrets masked
    #[arg(long)]
    print_config: bool,
}

pub(super) async fn run(options: ServeOptions) -> ExitCode {
    let flags = Flags { listen: options.listen, data: options.data.clone() };
    let mut config = match Config::load(options.config.as_deref(), &flags) {
        Ok(config) => config,
        Err(reason) => return fail(WRONG_USAGE, reason),
    };
    if options.print_config {
        return match config.to_toml() {
            Ok(text) => {
                print!("{text}");
                ExitCode::SUCCESS
            }
            Err(reason) => fail(1, reason),
        };
    }
    // Removed when dropped at the end.
    let temporary_directory =
        match (options.demo && options.data.is_none()).then(tempfile::tempdir).transpose() {
            Ok(directory) => directory,
            Err(error) => return fail(1, format!("cannot create a temporary directory: {error}")),
        };
    if options.demo {
        let directory = temporary_directory.as_ref().map(|directory| directory.path().to_owned());
        let directory = directory.unwrap_or_else(|| config.data.clone());
        if let Err(reason) = Demo::configure(&mut config, &directory) {
            return fail(WRONG_USAGE, reason);
        }
    }
    let telemetry = match telemetry::start(&config.log, &config.telemetry) {
        Ok(telemetry) => telemetry,
        Err(reason) => return fail(WRONG_USAGE, reason),
    };
    if let Err(reason) = config.check_shared_store() {
        return fail(1, reason);
    }
    let listener = match bind(&config, options.demo && options.listen.is_none()).await {
        Ok(listener) => listener,
        Err(error) => return fail(1, format!("cannot listen on {}: {error}", config.listen)),
    };
    let demo_ending = options.demo.then(|| match &temporary_directory {
        Some(_) => "which deletes everything".to_owned(),
        None => format!("and {} keeps everything", config.data.display()),
    });
    let served = Box::pin(serve(config, listener, demo_ending, options.rebuild_index)).await;
    telemetry.stop().await;
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => fail(1, reason),
    }
}

/// Lowers the number of connections to the available descriptors, and logs it.
fn limit_connections(limits: &mut Limits) {
    match descriptors::raise_limit() {
        Ok(most) if most < limits.connections => {
            let wanted = limits.connections;
            tracing::warn!(
                most,
                wanted,
                "limits.connections is lowered, as the system allows too few open files (ulimit -Hn)"
            );
            limits.connections = most;
        }
        Ok(_) => {}
        Err(error) => tracing::warn!(%error, "the limit of open files cannot be raised"),
    }
}

/// A demo without `--listen` falls back to a free port.
async fn bind(config: &Config, may_pick_port: bool) -> std::io::Result<TcpListener> {
    match TcpListener::bind(config.listen).await {
        Err(error) if may_pick_port && error.kind() == std::io::ErrorKind::AddrInUse => {
            eprintln!("{} is taken; listening on a free port", config.listen);
            TcpListener::bind((config.listen.ip(), 0)).await
        }
        bound => bound,
    }
}

/// Runs the demo if it is told what Ctrl-C does to its data.
async fn serve(
    mut config: Config,
    listener: TcpListener,
    demo_ending: Option<String>,
    rebuild: bool,
) -> Result<(), String> {
    let metrics = telemetry::collect_metrics().map_err(|error| error.to_string())?;
    limit_connections(&mut config.limits);
    let data = config.data.clone();
    let ExposedEntries { mended, left } = data_directory::open(&data)
        .map_err(|error| format!("the data directory {}: {error}", data.display()))?;
    if mended + left > 0 {
        tracing::info!(mended, left, "group or others had rights on entries of the data directory");
    }
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    config.listen = address;
    let (app, indexer) =
        Box::pin(App::start(config, metrics.clone(), rebuild)).await.map_err(|error| error.to_string())?;
    let stop_requested = stop_on_signals().map_err(|error| format!("cannot wait for signals: {error}"))?;
    if let Err(reason) = write_address(&data, address) {
        // A full disk must not stop searches.
        tracing::warn!(reason, "cannot write the address file");
    }

    let stop = CancellationToken::new();
    let upkeep = tokio::spawn(async move {
        let mut ticks = tokio::time::interval(METRICS_INTERVAL);
        loop {
            ticks.tick().await;
            metrics.run_upkeep();
        }
    });
    let server = tokio::spawn({
        let (app, stop) = (Arc::clone(&app), stop.clone());
        async move {
            server::listener::serve(listener, server::service(Arc::clone(&app)), &app.config.limits, stop)
                .await;
        }
    });
    println!("listening on http://{address}");
    let demo = match demo_ending {
        Some(ending) => tokio::select! {
            demo = start_demo(&app, address, &indexer, &ending) => Some(demo?),
            () = stop_requested.cancelled() => None,
        },
        None => None,
    };

    let is_replaced = tokio::select! {
        () = stop_requested.cancelled() => false,
        () = app.replicas.replaced().cancelled() => true,
    };
    tracing::info!("stopping once requests in flight are answered");
    stop.cancel();
    if tokio::time::timeout(SHUTDOWN_TIMEOUT, server).await.is_err() {
        tracing::warn!(seconds = SHUTDOWN_TIMEOUT.as_secs(), "aborting requests in flight");
    }
    if let Some(demo) = demo {
        demo.stop().await;
    }
    upkeep.abort();
    app.subscriptions.stop().await;
    app.quick_deals.stop().await;
    app.texts.stop().await;
    app.maintenance.stop().await;
    indexer.stop().await;
    app.replicas.leave().await;
    app.store.clone().close().await.map_err(|error| error.to_string())?;
    if is_replaced {
        return Err(format!(
            "cluster.replica: another process has started as the replica {}; each needs an id of its own, or a data directory",
            app.replicas.id()
        ));
    }
    Ok(())
}

async fn start_demo(
    app: &Arc<App>,
    address: SocketAddr,
    indexer: &Indexer,
    ending: &str,
) -> Result<Demo, String> {
    if !Demo::is_loaded(&app.config.data) {
        println!("loading the sample content …");
    }
    let demo = Demo::start(app, address, indexer.progress()).await.map_err(|error| error.to_string())?;
    println!("{}\nStop with Ctrl-C, {ending}.", demo.invitation());
    Ok(demo)
}

/// Renames a complete file into place.
fn write_address(data: &Path, address: SocketAddr) -> Result<(), String> {
    let path = data.join(ADDRESS_FILE);
    let aside = path.with_extension("new");
    std::fs::write(&aside, address.to_string())
        .and_then(|()| std::fs::rename(&aside, &path))
        .map_err(|error| format!("cannot write {}: {error}", path.display()))
}

/// Lets SIGTERM and Ctrl-C cancel the token; before this call they end the process.
fn stop_on_signals() -> std::io::Result<CancellationToken> {
    let (mut interrupted, mut terminated) =
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let requested = CancellationToken::new();
    let request = requested.clone().drop_guard();
    tokio::spawn(async move {
        tokio::select! {
            _ = interrupted.recv() => {}
            _ = terminated.recv() => {}
        }
        drop(request);
    });
    Ok(requested)
}
