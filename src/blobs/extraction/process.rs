//! Extracts texts in a child process.

use std::{path::PathBuf, process::Stdio, time::Duration};

use futures::{StreamExt, TryStreamExt, stream};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    process::{ChildStdin, Command},
    time::timeout,
};

use trawl_connectors::CONFINED_ENVIRONMENT;

use super::{
    TextFormat,
    kind::{LOOKED_AT, may_have_text},
};
use crate::{
    blobs::Pieces,
    config::{Limits, Storage},
    error::{Error, Result},
    sandbox::this_program,
};

const PIECE_BYTES: usize = 1 << 20;

/// Multiple of `storage.text_seconds` by the clock, for busy machines or slow stores.
const WALL_CLOCK: u64 = 6;

/// The outcome of an extraction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExtractionOutcome {
    /// The final text, even of a damaged or slow content.
    Ended(String),
    /// Interrupted by an external cause; a retry may yield more.
    Cut {
        /// The text so far.
        text: String,
        /// The cause.
        why: String,
    },
}

/// Starts and limits the child processes.
#[derive(Clone, Debug)]
pub struct TextReader {
    program: PathBuf,
    seconds: u64,
    most_bytes: usize,
}

impl TextReader {
    /// Configures the reader with the named program, or with this one.
    ///
    /// # Errors
    /// The program's path is unknown.
    pub fn new(storage: &Storage, limits: &Limits) -> Result<Self> {
        let program = match &storage.text_program {
            Some(program) => program.clone(),
            None => this_program().map_err(Error::internal)?,
        };
        Ok(Self { program, seconds: storage.text_seconds, most_bytes: limits.file_text_bytes })
    }

    /// Extracts a content's text.
    ///
    /// # Errors
    /// The process cannot be started or is lost.
    pub async fn read(
        &self,
        read_as: TextFormat,
        is_whole: bool,
        content: Pieces,
    ) -> Result<ExtractionOutcome> {
        let mut text = Vec::new();
        let ended = timeout(self.patience(), self.read_into(&mut text, read_as, is_whole, content)).await;
        let why = match ended {
            Ok(ended) => ended?,
            Err(_) => Some("it took too long".to_owned()),
        };
        let text = as_text(text);
        Ok(match why {
            None => ExtractionOutcome::Ended(text),
            Some(why) => ExtractionOutcome::Cut { text, why },
        })
    }

    /// A process with its share of the processors ends long before.
    fn patience(&self) -> Duration {
        Duration::from_secs(self.seconds * WALL_CLOCK)
    }

    /// Returns an external cause of interruption, if any.
    async fn read_into(
        &self,
        text: &mut Vec<u8>,
        read_as: TextFormat,
        is_whole: bool,
        content: Pieces,
    ) -> Result<Option<String>> {
        let content = match begin(content).await {
            Ok(Some(content)) => content,
            Ok(None) => return Ok(None),
            Err(error) => return Ok(Some(error.to_string())),
        };
        let mut child = self.command(read_as, is_whole).spawn().map_err(Error::internal)?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Error::internal(std::io::Error::other("a process without pipes")));
        };
        let taking = async {
            let most = u64::try_from(self.most_bytes).unwrap_or(u64::MAX);
            // A broken pipe is an ordinary end.
            let _read = output.take(most).read_to_end(text).await;
            if text.len() >= self.most_bytes {
                let _ended = child.start_kill();
            }
        };
        let (fed, ()) = tokio::join!(feed(content, input), taking);
        let status = child.wait().await.map_err(Error::internal)?;
        if !status.success() {
            tracing::debug!(%read_as, %status, "a content could not be read to its end");
        }
        Ok(fed.err().map(|error| error.to_string()))
    }

    fn command(&self, read_as: TextFormat, is_whole: bool) -> Command {
        let mut command = Command::new(&self.program);
        command
            .arg("extract-text")
            .arg(format!("--read-as={read_as}"))
            .arg(format!("--most-bytes={}", self.most_bytes))
            .arg(format!("--seconds={}", self.seconds))
            .args((!is_whole).then_some("--part"))
            .env_clear()
            .envs([CONFINED_ENVIRONMENT])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        command
    }
}

async fn begin(mut content: Pieces) -> Result<Option<Pieces>> {
    let (mut taken, mut beginning) = (Vec::new(), Vec::new());
    while beginning.len() < LOOKED_AT
        && let Some(piece) = content.try_next().await?
    {
        beginning.extend_from_slice(&piece[..piece.len().min(LOOKED_AT)]);
        taken.push(Ok(piece));
    }
    Ok(may_have_text(&beginning).then(|| stream::iter(taken).chain(content).boxed()))
}

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

/// A killed process may leave half a character.
fn as_text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| {
        let end = error.utf8_error().valid_up_to();
        String::from_utf8_lossy(&error.as_bytes()[..end]).into_owned()
    })
}
