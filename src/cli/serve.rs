//! `trawl serve`: runs the server until it is told to stop.

use std::{
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

use tokio::{net::TcpListener, signal::unix::SignalKind};
use tokio_util::sync::CancellationToken;

use super::{WRONG_USAGE, fail};
use crate::{
    api,
    app::App,
    config::{Config, Flags},
    demo::Demo,
    edge,
    indexer::Indexer,
    telemetry,
};

/// The file in the data directory that holds the address really bound.
const ADDRESS_FILE: &str = "listen.addr";

/// How long requests that are under way may take to end once the server was told to stop.
const GRACE: Duration = Duration::from_secs(30);

/// Between two tidyings of the metrics.
const METRICS_UPKEEP: Duration = Duration::from_secs(5);

/// Run the server
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Settings file; trawl.toml is read when it is there
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Data directory [default: ./trawl-data]
    #[arg(long, value_name = "DIR", conflicts_with = "demo")]
    data: Option<PathBuf>,
    /// Address to listen on; port 0 picks a free one [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDR")]
    listen: Option<SocketAddr>,
    /// Serve sample content from a throw-away data directory
    #[arg(long)]
    demo: bool,
    /// Fill the full-text index anew from the database
    #[arg(long)]
    rebuild_index: bool,
    /// Print the effective settings, secrets masked, and exit
    #[arg(long)]
    print_config: bool,
}

/// Runs the server.
pub async fn run(options: Options) -> ExitCode {
    let flags = Flags { listen: options.listen, data: options.data.clone() };
    let mut config = match Config::load(options.config.as_deref(), flags) {
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
    let telemetry = match telemetry::start(&config.log, &config.telemetry) {
        Ok(telemetry) => telemetry,
        Err(reason) => return fail(WRONG_USAGE, reason),
    };
    // Held until the server has ended; then the directory is removed.
    let _throw_away = if options.demo {
        match tempfile::tempdir() {
            Ok(directory) => {
                directory.path().clone_into(&mut config.data);
                // Where its external system is.
                config.connectors.allow_http_hosts.push(Ipv4Addr::LOCALHOST.to_string());
                config.console.operators.push(Demo::operator());
                Some(directory)
            }
            Err(error) => return fail(1, format!("no throw-away directory could be made: {error}")),
        }
    } else {
        None
    };
    let listener = match bind(&config, options.demo && options.listen.is_none()).await {
        Ok(listener) => listener,
        Err(error) => return fail(1, format!("cannot listen on {}: {error}", config.listen)),
    };
    let served = serve(config, listener, options.demo, options.rebuild_index).await;
    telemetry.stop().await;
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => fail(1, reason),
    }
}

/// A demo that was not told where to listen takes a free port when the usual one is taken.
async fn bind(config: &Config, any_port_will_do: bool) -> std::io::Result<TcpListener> {
    match TcpListener::bind(config.listen).await {
        Err(error) if any_port_will_do && error.kind() == std::io::ErrorKind::AddrInUse => {
            eprintln!("{} is taken, so a free port it is", config.listen);
            TcpListener::bind((config.listen.ip(), 0)).await
        }
        bound => bound,
    }
}

async fn serve(mut config: Config, listener: TcpListener, demo: bool, rebuild: bool) -> Result<(), String> {
    let metrics = telemetry::collect_metrics().map_err(|error| error.to_string())?;
    let data = config.data.clone();
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    config.listen = address;
    let (app, indexer) =
        App::start(config, metrics.clone(), rebuild).await.map_err(|error| error.to_string())?;
    if let Err(reason) = write_address(&data, address) {
        // A disk that is full is no reason not to answer searches.
        tracing::warn!(reason, "the address could not be written down");
    }

    let stop = CancellationToken::new();
    let upkeep = tokio::spawn(async move {
        let mut ticks = tokio::time::interval(METRICS_UPKEEP);
        loop {
            ticks.tick().await;
            metrics.run_upkeep();
        }
    });
    let server = tokio::spawn({
        let (app, stop) = (Arc::clone(&app), stop.clone());
        async move { edge::serve(listener, api::service(Arc::clone(&app)), &app.config.limits, stop).await }
    });
    println!("listening on http://{address}");
    let demo = if demo { Some(start_demo(&app, address, &indexer).await?) } else { None };

    stop_signal().await;
    tracing::info!("stopping: finishing what is under way");
    stop.cancel();
    if tokio::time::timeout(GRACE, server).await.is_err() {
        tracing::warn!(seconds = GRACE.as_secs(), "requests that were still under way are cut off");
    }
    if let Some(demo) = demo {
        demo.stop().await;
    }
    upkeep.abort();
    app.quick_deals.stop().await;
    app.texts.stop().await;
    app.upkeep.stop().await;
    indexer.stop().await;
    app.store.clone().close().await.map_err(|error| error.to_string())
}

async fn start_demo(app: &Arc<App>, address: SocketAddr, indexer: &Indexer) -> Result<Demo, String> {
    println!("loading the sample content …");
    let demo = Demo::start(app, address, indexer.progress()).await.map_err(|error| error.to_string())?;
    println!("{}", demo.invitation());
    Ok(demo)
}

/// Written aside and renamed, so that whoever waits for the file never reads half of it.
fn write_address(data: &Path, address: SocketAddr) -> Result<(), String> {
    let path = data.join(ADDRESS_FILE);
    let aside = path.with_extension("new");
    std::fs::write(&aside, address.to_string())
        .and_then(|()| std::fs::rename(&aside, &path))
        .map_err(|error| format!("{} could not be written: {error}", path.display()))
}

/// Ends at SIGTERM or Ctrl-C.
async fn stop_signal() {
    let interrupt = async {
        if let Err(error) = tokio::signal::ctrl_c().await {
            tracing::error!(%error, "Ctrl-C cannot be waited for");
            std::future::pending::<()>().await;
        }
    };
    let terminate = async {
        match tokio::signal::unix::signal(SignalKind::terminate()) {
            Ok(mut signal) => drop(signal.recv().await),
            Err(error) => {
                tracing::error!(%error, "SIGTERM cannot be waited for");
                std::future::pending::<()>().await;
            }
        }
    };
    tokio::select! {
        () = interrupt => {}
        () = terminate => {}
    }
}
