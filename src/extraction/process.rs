//! Has contents be read by a process of its own.

use std::{path::PathBuf, process::Stdio, time::Duration};

use futures::{StreamExt, TryStreamExt, stream};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    process::{ChildStdin, Command},
    time::timeout,
};

use super::{
    ReadAs,
    kind::{LOOKED_AT, may_have_text},
};
use crate::{
    config::{Limits, Storage},
    error::{Error, Result},
    storage::Pieces,
};

/// Bytes that are taken from the store at once, at the most.
const PIECE_BYTES: usize = 1 << 20;

/// How many times the processor time that a content may take (`storage.text_seconds`) is waited for its text: on a busy machine, and
/// with a slow store.
const WALL_CLOCK: u64 = 6;

/// How the reading of a content ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reading {
    /// This is its text, also where what is wrong with it, or the time that it takes, ended the reading.
    Ended(String),
    /// It did not come as a whole, or what read it had no time to: this came, and another time there may be more.
    Cut {
        /// What came.
        text: String,
        /// What went wrong.
        why: String,
    },
}

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

    /// The text of a content, read as this where its bytes do not say what it is, as far as it can be read.
    ///
    /// # Errors
    /// No process can be begun, or it is lost sight of: nothing is known of the content.
    pub async fn read(&self, read_as: ReadAs, is_whole: bool, content: Pieces) -> Result<Reading> {
        let mut text = Vec::new();
        let ended = timeout(self.patience(), self.read_into(&mut text, read_as, is_whole, content)).await;
        let why = match ended {
            Ok(ended) => ended?,
            Err(_) => Some("it took too long".to_owned()),
        };
        let text = as_text(text);
        Ok(match why {
            None => Reading::Ended(text),
            Some(why) => Reading::Cut { text, why },
        })
    }

    /// A process that gets its share of the processors ends by itself long before.
    fn patience(&self) -> Duration {
        Duration::from_secs(self.seconds * WALL_CLOCK)
    }

    /// Answers what cut the reading short, where anything but the content did.
    async fn read_into(
        &self,
        text: &mut Vec<u8>,
        read_as: ReadAs,
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
            // A pipe that breaks is an end like any other.
            let _read = output.take(most).read_to_end(text).await;
            if text.len() >= self.most_bytes {
                // There is as much as is kept, whatever it is still at. One that has ended cannot be ended.
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

    fn command(&self, read_as: ReadAs, is_whole: bool) -> Command {
        let mut command = Command::new(&self.program);
        command
            .arg("extract-text")
            .arg(format!("--read-as={read_as}"))
            .arg(format!("--most-bytes={}", self.most_bytes))
            .arg(format!("--seconds={}", self.seconds))
            .args((!is_whole).then_some("--part"))
            // The server's secrets are in its environment.
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        command
    }
}

/// The content as a whole, once it is seen that it begins like one that may have text.
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
