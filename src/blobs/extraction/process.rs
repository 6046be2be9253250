//! Extracts texts in a child process.

use std::{path::PathBuf, process::ExitStatus, time::Duration};

use futures::{StreamExt, TryStreamExt, stream};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    process::ChildStdin,
    time::timeout,
};

use super::{
    MAX_BYTES, NO_READER, Stop, TextFormat,
    kind::{LOOKED_AT, may_have_text},
    sandbox::NOTE,
};
use crate::{
    blobs::Pieces,
    config::{Limits, Storage},
    confined::limits::ReaderMemory,
    confined::process::{ConfinedProcess, ReaderAsker, ReaderPlaces, failure, own_program, patience},
    error::{Error, Result},
};

const PIECE_BYTES: usize = 1 << 20;

/// Bytes of notes that are read.
const MAX_NOTES_BYTES: u64 = 4 << 10;

/// What a file with a reader, but without text, tells.
const NO_TEXT: &str = "no text was found in it";

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
    places: ReaderPlaces,
    processor_time: Duration,
    most_bytes: usize,
}

impl TextReader {
    /// Configures the reader with the named program, or with this one, within the places.
    ///
    /// # Errors
    /// The program's path is unknown.
    pub fn new(storage: &Storage, limits: &Limits, places: ReaderPlaces) -> Result<Self> {
        let program = own_program(storage.text_program.as_ref())?;
        Ok(Self {
            program,
            places,
            processor_time: Duration::from_secs(storage.text_seconds),
            most_bytes: limits.file_text_bytes,
        })
    }

    /// Extracts a content's text. Of one with more than [`MAX_BYTES`], the pieces are the beginning.
    ///
    /// # Errors
    /// There is no place for long. The process cannot be started or is lost.
    pub async fn read(
        &self,
        asker: ReaderAsker,
        read_as: TextFormat,
        size: u64,
        content: Pieces,
    ) -> Result<ExtractionOutcome> {
        let content = match timeout(patience(self.processor_time), begin(content)).await {
            Ok(Ok(Some(content))) => content,
            Ok(Ok(None)) => return Ok(ExtractionOutcome::Ended(ExtractedText::without_text(NO_READER))),
            Ok(Err(error)) => return Ok(cut(Vec::new(), error.to_string())),
            Err(_) => return Ok(cut(Vec::new(), TOO_LONG.to_owned())),
        };
        let memory = ReaderMemory::of_content(size);
        let _place = self.places.take(asker, memory).await?;
        let (mut text, mut notes) = (Vec::new(), Vec::new());
        let reading = self.read_into((&mut text, &mut notes), (read_as, size), memory, content);
        let ended = match timeout(patience(self.processor_time), reading).await {
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
        let said = String::from_utf8_lossy(notes);
        let mut problems: Vec<String> =
            said.lines().filter_map(|line| line.strip_prefix(NOTE).map(str::to_owned)).collect();
        if is_full {
            problems.push(Stop::Full(self.most_bytes).to_string());
        } else if !status.success() {
            problems.push(failure(status, self.processor_time, &said));
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

    /// Returns how the process ended, or an external cause of interruption.
    async fn read_into(
        &self,
        (text, notes): (&mut Vec<u8>, &mut Vec<u8>),
        (read_as, size): (TextFormat, u64),
        memory: ReaderMemory,
        content: Pieces,
    ) -> Result<std::result::Result<ExitStatus, String>> {
        let mut arguments = vec![
            "extract-text".to_owned(),
            format!("--read-as={read_as}"),
            format!("--most-bytes={}", self.most_bytes),
            format!("--seconds={}", self.processor_time.as_secs()),
            memory.argument(),
        ];
        arguments.extend((size > MAX_BYTES).then(|| "--part".to_owned()));
        let ConfinedProcess { mut child, input, output, errors } =
            ConfinedProcess::start(&self.program, &arguments).map_err(Error::internal)?;
        let taking = async {
            let most = u64::try_from(self.most_bytes).unwrap_or(u64::MAX);
            // A broken pipe is an ordinary end.
            let _read = output.take(most).read_to_end(text).await;
            if text.len() >= self.most_bytes {
                let _ended = child.start_kill();
            }
        };
        let noting = async {
            let mut said = errors;
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
