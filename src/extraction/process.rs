//! Has contents be read by a process of its own.

use std::{path::PathBuf, process::Stdio, time::Duration};

use futures::TryStreamExt;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    process::{ChildStdin, Command},
    time::timeout,
};

use crate::{
    config::{Limits, Storage},
    error::{Error, Result},
    storage::Pieces,
};

/// Bytes that are taken from the store at once, at the most.
const PIECE_BYTES: usize = 1 << 20;

/// Reads texts.
#[derive(Clone, Debug)]
pub struct TextReader {
    program: PathBuf,
    seconds: u64,
    most_bytes: usize,
}

impl TextReader {
    /// A reader by these settings: with the program that is named there, or this one.
    ///
    /// # Errors
    /// The system does not say where this program is.
    pub fn new(storage: &Storage, limits: &Limits) -> Result<Self> {
        let program = match &storage.text_program {
            Some(program) => program.clone(),
            None => this_program().map_err(Error::internal)?,
        };
        Ok(Self { program, seconds: storage.text_seconds, most_bytes: limits.file_text_bytes })
    }

    /// The text of a content whose file has this extension, as far as it can be read in the time for it.
    ///
    /// # Errors
    /// The content does not come, or no process can be begun: it may be tried again.
    pub async fn read(&self, extension: &str, is_whole: bool, content: Pieces) -> Result<String> {
        let mut command = Command::new(&self.program);
        command
            .arg("extract-text")
            .arg(format!("--extension={extension}"))
            .arg(format!("--most-bytes={}", self.most_bytes))
            .arg(format!("--seconds={}", self.seconds))
            .args((!is_whole).then_some("--part"))
            // The server's secrets are in its environment.
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        let mut child = command.spawn().map_err(Error::internal)?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Error::internal(std::io::Error::other("a process without pipes")));
        };
        let mut text = Vec::new();
        let mut fed = Ok(());
        let reading = async {
            let most = u64::try_from(self.most_bytes).unwrap_or(u64::MAX);
            let mut output = output.take(most);
            // A pipe that breaks is an end like any other.
            let (outcome, _read) = tokio::join!(feed(content, input), output.read_to_end(&mut text));
            fed = outcome;
            child.wait().await
        };
        // What takes longer is ended, and what it wrote until then counts.
        let ended = timeout(Duration::from_secs(self.seconds), reading).await;
        fed?;
        match ended {
            Ok(Ok(status)) if status.success() => {}
            Ok(Ok(status)) => tracing::debug!(extension, %status, "a content could not be read to its end"),
            Ok(Err(error)) => return Err(Error::internal(error)),
            Err(_) => tracing::debug!(extension, "a content took too long to be read to its end"),
        }
        Ok(as_text(text))
    }
}

/// Hands the content over, as much of it as is taken.
async fn feed(mut content: Pieces, mut input: ChildStdin) -> Result<()> {
    while let Some(piece) = content.try_next().await? {
        for part in piece.chunks(PIECE_BYTES) {
            if input.write_all(part).await.is_err() {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// A process that was ended may have been in the midst of a character.
fn as_text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| {
        let end = error.utf8_error().valid_up_to();
        String::from_utf8_lossy(&error.as_bytes()[..end]).into_owned()
    })
}

/// Also when its file was replaced since.
fn this_program() -> std::io::Result<PathBuf> {
    let by_process = PathBuf::from("/proc/self/exe");
    if by_process.exists() { Ok(by_process) } else { std::env::current_exe() }
}
