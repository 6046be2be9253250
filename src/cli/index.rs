//! `trawl index`: state, rebuild and move of a running server's full-text index.

use std::{
    process::ExitCode,
    time::{Duration, Instant},
};

use bytes::Bytes;
use indicatif::{ProgressBar, ProgressStyle};
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    client::{ApiClient, CallError, ServerOptions},
    exit::{WRONG_USAGE, fail, show},
};
use crate::{
    config::EngineKind,
    indexer::{EngineHealth, IndexState},
};

const LOOK_INTERVAL: Duration = Duration::from_millis(500);

/// A server that does not answer for this long ends the wait.
const UNREACHABLE_TIMEOUT: Duration = Duration::from_mins(1);

#[derive(Debug, clap::Subcommand)]
pub(super) enum IndexCommand {
    /// Show the engine, its health, size and delay; exit 1 unless searches are complete
    Status(IndexOptions),
    /// Rebuild the index beside the present one, which answers until then, and wait for the end
    Rebuild(IndexOptions),
    /// Fill another engine beside the present one, which answers until then, and wait for the end
    ///
    /// The move holds until the server stops: set `engine.kind` before its next start.
    Move(MoveOptions),
}

#[derive(Debug, clap::Args)]
pub(super) struct IndexOptions {
    #[command(flatten)]
    server: ServerOptions,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct MoveOptions {
    /// Engine that is to answer searches
    #[arg(long, value_enum)]
    to: EngineKind,
    #[command(flatten)]
    index: IndexOptions,
}

impl IndexCommand {
    pub(super) async fn run(self) -> ExitCode {
        let options = match &self {
            Self::Status(options) | Self::Rebuild(options) => options,
            Self::Move(options) => &options.index,
        };
        let client = match ApiClient::new(&options.server) {
            Ok(client) => client,
            Err(error) => return fail(WRONG_USAGE, error),
        };
        let state = match &self {
            Self::Status(_) => read(&client).await.map_err(|error| error.to_string()),
            Self::Rebuild(_) => rebuild(&client).await,
            Self::Move(options) => move_to(&client, options.to).await,
        };
        let is_whole = |state: &Value| {
            parse(state).is_ok_and(|state| state.ready && state.engine.status != EngineHealth::Unavailable)
        };
        let shown = show(state, options.json, is_whole, print);
        if let (Self::Move(options), true) = (&self, shown == ExitCode::SUCCESS) {
            eprintln!("set engine.kind = \"{}\" before the server's next start", options.to.name());
        }
        shown
    }
}

async fn read(client: &ApiClient) -> Result<Value, CallError> {
    call(client, Method::GET, &["admin", "v1", "index"], Bytes::new()).await
}

async fn rebuild(client: &ApiClient) -> Result<Value, String> {
    let begun = call(client, Method::POST, &["admin", "v1", "index", "rebuild"], Bytes::new()).await;
    begun.map_err(|error| error.to_string())?;
    let state = wait(client, |state| {
        state.rebuilding.then_some((state.items_done, state.items_known, state.engine.message.clone()))
    });
    let state = state.await?;
    if parse(&state)?.rebuild_failed {
        return Err(
            "the rebuild failed and left the index unchanged; the server's log has the reason".to_owned()
        );
    }
    Ok(state)
}

async fn move_to(client: &ApiClient, to: EngineKind) -> Result<Value, String> {
    let body = json!({"to": to}).to_string();
    let begun = call(client, Method::POST, &["admin", "v1", "index", "move"], body.into()).await;
    begun.map_err(|error| error.to_string())?;
    let state = wait(client, |state| {
        let moving = state.moving.as_ref()?;
        Some((moving.items_done, moving.items_known, moving.message.clone()))
    });
    let state = state.await?;
    let engine = parse(&state)?.engine.kind;
    if engine == to { Ok(state) } else { Err(format!("{} still answers searches", engine.name())) }
}

/// Shows the progress, in items and a message, until it ends.
async fn wait(
    client: &ApiClient,
    progress: impl Fn(&IndexState) -> Option<(u64, u64, Option<String>)>,
) -> Result<Value, String> {
    let style = ProgressStyle::with_template("{wide_bar} {human_pos}/{human_len} items {msg}");
    let bar = ProgressBar::new(0).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    let mut answered = Instant::now();
    loop {
        match read(client).await {
            Ok(state) => {
                let Some((done, known, message)) = progress(&parse(&state)?) else {
                    bar.finish_and_clear();
                    return Ok(state);
                };
                answered = Instant::now();
                bar.set_length(known);
                bar.set_position(done.min(known));
                bar.set_message(message.unwrap_or_default());
            }
            Err(error)
                if (error.may_pass() || matches!(error, CallError::Busy { .. }))
                    && answered.elapsed() < UNREACHABLE_TIMEOUT =>
            {
                bar.set_message(error.to_string());
            }
            Err(error) => return Err(error.to_string()),
        }
        tokio::time::sleep(LOOK_INTERVAL).await;
    }
}

async fn call(client: &ApiClient, method: Method, path: &[&str], body: Bytes) -> Result<Value, CallError> {
    let data = client.send::<Value>(method, path, body).await?;
    data.ok_or_else(|| CallError::Unreadable("it has no data".to_owned()))
}

fn parse(state: &Value) -> Result<IndexState, String> {
    IndexState::deserialize(state).map_err(|error| format!("the answer is not a trawl server's: {error}"))
}

fn print(value: &Value) {
    let Ok(state) = parse(value) else { return };
    let status = value["engine"]["status"].as_str().unwrap_or_default();
    let number =
        |number: Option<u64>| number.map_or_else(|| "unknown".to_owned(), |number| number.to_string());
    let message = state.engine.message.map_or_else(String::new, |message| format!(": {message}"));
    println!("engine     {} ({status}{message})", state.engine.kind.name());
    println!("documents  {}", number(state.documents));
    println!("bytes      {}", number(state.bytes));
    println!("behind     {} changes", state.behind);
    if state.rebuilding {
        println!("rebuilding {} of {} items", state.items_done, state.items_known);
    }
    if let Some(moving) = state.moving {
        let message = moving.message.map_or_else(String::new, |message| format!(": {message}"));
        println!(
            "moving     to {}, {} of {} items{message}",
            moving.to.name(),
            moving.items_done,
            moving.items_known
        );
    }
}
