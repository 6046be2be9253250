//! Extracts texts in a child process.

use std::{
    os::unix::process::ExitStatusExt as _,
    path::PathBuf,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use futures::{StreamExt, TryStreamExt, stream};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    process::{ChildStdin, Command},
    time::timeout,
};

use rustix::process::Signal;
use trawl_connectors::CONFINED_ENVIRONMENT;

use super::{
    NO_READER, Stop, TextFormat,
    kind::{LOOKED_AT, may_have_text},
    sandbox::NOTE,
};
use crate::{
    blobs::Pieces,
    config::{Limits, Storage},
    error::{Error, Result},
    sandbox::this_program,
};

const PIECE_BYTES: usize = 1 << 20;

/// Bytes of notes that are read.
const MAX_NOTES_BYTES: u64 = 4 << 10;

/// What a file with a reader, but without text, tells.
const NO_TEXT: &str = "no text was found in it";

/// Multiple of `storage.text_seconds` by the clock, for busy machines or slow stores.
const WALL_CLOCK: u64 = 6;

const TOO_LONG: &str = "it took too long";

/// A text, and what it lacks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExtractedText {
    /// The text; empty where there is none.
    pub text: String,
    /// Why it is empty or not whole.
    pub problem: Option<String>,
}

impl ExtractedText {
    fn without_text(problem: &str) -> Self {
        Self { text: String::new(), problem: Some(problem.to_owned()) }
    }
}

/// The outcome of an extraction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExtractionOutcome {
    /// The final text, even of a damaged or slow content.
    Ended(ExtractedText),
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
        let content = match timeout(self.patience(), begin(content)).await {
            Ok(Ok(Some(content))) => content,
            Ok(Ok(None)) => return Ok(ExtractionOutcome::Ended(ExtractedText::without_text(NO_READER))),
            Ok(Err(error)) => return Ok(cut(Vec::new(), error.to_string())),
            Err(_) => return Ok(cut(Vec::new(), TOO_LONG.to_owned())),
        };
        let (mut text, mut notes) = (Vec::new(), Vec::new());
        let reading = self.read_into(&mut text, &mut notes, read_as, is_whole, content);
        let ended = match timeout(self.patience(), reading).await {
            Ok(ended) => ended?,
            Err(_) => return Ok(cut(text, TOO_LONG.to_owned())),
        };
        Ok(match ended {
            Ok(status) => ExtractionOutcome::Ended(self.ended(text, &notes, status)),
            Err(why) => cut(text, why),
        })
    }

    fn ended(&self, text: Vec<u8>, notes: &[u8], status: ExitStatus) -> ExtractedText {
        let is_full = text.len() >= self.most_bytes;
        let text = as_text(text);
        let mut problems: Vec<String> = String::from_utf8_lossy(notes)
            .lines()
            .filter_map(|line| line.strip_prefix(NOTE).map(str::to_owned))
            .collect();
        if is_full {
            problems.push(Stop::Full(self.most_bytes).to_string());
        } else if !status.success() {
            problems.push(self.failure(status));
        }
        problems.dedup();
        let outcome = match (problems.is_empty(), text.trim().is_empty()) {
            (_, true) => "none",
            (true, false) => "whole",
            (false, false) => "incomplete",
        };
        metrics::counter!("trawl_file_texts_total", "outcome" => outcome).increment(1);
        if problems.is_empty() && text.trim().is_empty() {
            problems.push(NO_TEXT.to_owned());
        }
        ExtractedText { text, problem: (!problems.is_empty()).then(|| problems.join("; ")) }
    }

    fn failure(&self, status: ExitStatus) -> String {
        match status.signal() {
            // The limit of processor time ends it by either.
            Some(signal) if [Signal::KILL, Signal::XCPU].map(Signal::as_raw).contains(&signal) => {
                format!("reading it takes more than {} seconds of processor time", self.seconds)
            }
            Some(_) => "reading it takes more memory than is allowed".to_owned(),
            None => "its reader failed on it".to_owned(),
        }
    }

    /// A process with its share of the processors ends long before.
    fn patience(&self) -> Duration {
        Duration::from_secs(self.seconds * WALL_CLOCK)
    }

    /// Returns how the process ended, or an external cause of interruption.
    async fn read_into(
        &self,
        text: &mut Vec<u8>,
        notes: &mut Vec<u8>,
        read_as: TextFormat,
        is_whole: bool,
        content: Pieces,
    ) -> Result<std::result::Result<ExitStatus, String>> {
        let mut child = self.command(read_as, is_whole).spawn().map_err(Error::internal)?;
        let (Some(input), Some(output), Some(said)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
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
        let noting = async {
            let mut said = said;
            let _read = (&mut said).take(MAX_NOTES_BYTES).read_to_end(notes).await;
            // What follows is let pass, so that the process is not held up.
            let _passed = tokio::io::copy(&mut said, &mut tokio::io::sink()).await;
        };
        let (fed, (), ()) = tokio::join!(feed(content, input), taking, noting);
        let status = child.wait().await.map_err(Error::internal)?;
        if !status.success() {
            tracing::debug!(%read_as, %status, "a content could not be read to its end");
        }
        Ok(match fed {
            Ok(()) => Ok(status),
            Err(error) => Err(error.to_string()),
        })
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
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }
}

fn cut(text: Vec<u8>, why: String) -> ExtractionOutcome {
    ExtractionOutcome::Cut { text: as_text(text), why }
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
