//! Starts processes, and tells why they ended.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::timeout;
use trawl_connectors::confined_command;
use trawl_fair::{Asker, FairPermit, FairSemaphore};

use super::limits::{MAX_READER_UNITS, MAX_UNITS_OF_TASK, ReaderMemory};
use crate::error::{Error, Result};

/// Multiple of the processor time by the clock, for busy machines.
const WALL_CLOCK: u32 = 6;
/// Time after which one that found no place may come back.
const BUSY_FOR: Duration = Duration::from_secs(5);
/// Time that an import waits for a place.
const MAX_IMPORT_WAIT: Duration = Duration::from_secs(10);
/// Time that background work waits for a place.
const MAX_BACKGROUND_WAIT: Duration = Duration::from_hours(1);
const TOO_LONG: &str = "reading it takes too long";
const FAILED: &str = "its reader failed on it";
/// Message of a refused allocation, which a program of Rust writes before it aborts.
const OUT_OF_MEMORY: &str = "memory allocation of ";
/// Time that a process may take to end after its last answer, or when killed.
const MAX_ENDING: Duration = Duration::from_secs(10);
/// Bytes that a failed process may say.
const MAX_SAID_BYTES: u64 = 4 << 10;

/// Path of this program. It works even after the file was replaced.
///
/// # Errors
/// The system does not tell it.
pub fn this_program() -> io::Result<PathBuf> {
    let by_process = PathBuf::from("/proc/self/exe");
    if by_process.exists() { Ok(by_process) } else { std::env::current_exe() }
}

/// The program that a setting names, or this one.
///
/// # Errors
/// The system does not tell it.
pub(crate) fn own_program(setting: Option<&PathBuf>) -> Result<PathBuf> {
    setting.cloned().map_or_else(|| this_program().map_err(Error::internal), Ok)
}

/// A process and its pipes. It ends with this value.
#[derive(Debug)]
pub(crate) struct ConfinedProcess {
    pub(crate) child: Child,
    pub(crate) input: ChildStdin,
    pub(crate) output: ChildStdout,
    pub(crate) errors: ChildStderr,
}

impl ConfinedProcess {
    /// Starts a command of `program`.
    ///
    /// # Errors
    /// The program cannot be started.
    pub(crate) fn start(program: &Path, arguments: &[impl AsRef<OsStr>]) -> io::Result<Self> {
        let mut child = confined_command(program).args(arguments).spawn()?;
        match (child.stdin.take(), child.stdout.take(), child.stderr.take()) {
            (Some(input), Some(output), Some(errors)) => Ok(Self { child, input, output, errors }),
            _ => Err(io::Error::other("a process without pipes")),
        }
    }
}

/// The clock's time for a process, above its processor time.
pub(crate) fn patience(processor_time: Duration) -> Duration {
    processor_time * WALL_CLOCK
}

/// Tells why a process ended before it was done.
///
/// `said` is the beginning of its standard error.
pub(crate) fn failure(status: ExitStatus, processor_time: Duration, said: &str) -> String {
    match status.signal() {
        Some(signal) if signal == Signal::XCPU.as_raw() => {
            format!("reading it takes more than {} seconds of processor time", processor_time.as_secs())
        }
        Some(signal) if signal == Signal::KILL.as_raw() => "its reader was killed from outside".to_owned(),
        Some(_) if said.contains(OUT_OF_MEMORY) => "reading it takes more memory than is allowed".to_owned(),
        _ => FAILED.to_owned(),
    }
}

/// The task that a process reads for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReadingTask {
    /// A run of a subscription.
    Subscription,
    /// An import, whose caller waits.
    Import,
    /// The text of a file.
    Text,
}

/// Whom a process reads for: a task of a tenant.
pub type ReaderAsker = Asker<i64, ReadingTask>;

/// Places for processes that read, in fair shares of tenants.
#[derive(Clone, Debug)]
pub struct ReaderPlaces(FairSemaphore<i64, ReadingTask>);

/// A place, until the process ends.
pub(crate) type ReaderPlace = FairPermit<i64, ReadingTask>;

impl Default for ReaderPlaces {
    fn default() -> Self {
        Self(FairSemaphore::new(MAX_READER_UNITS, MAX_UNITS_OF_TASK, 0))
    }
}

impl ReaderPlaces {
    /// Waits for a place with so much memory.
    ///
    /// # Errors
    /// 503 if there is none for long.
    pub(crate) async fn take(&self, asker: ReaderAsker, memory: ReaderMemory) -> Result<ReaderPlace> {
        let max_wait = match asker.member {
            ReadingTask::Import => MAX_IMPORT_WAIT,
            ReadingTask::Subscription | ReadingTask::Text => MAX_BACKGROUND_WAIT,
        };
        let place = timeout(max_wait, self.0.acquire_patiently(asker, memory.units())).await;
        place.map_err(|_| Error::unavailable("too many others are being read", BUSY_FOR))
    }
}

/// Starts processes of this program that read.
#[derive(Clone, Debug)]
pub struct ReaderProcesses {
    program: PathBuf,
    places: ReaderPlaces,
}

impl ReaderProcesses {
    /// Starts `program`, which is trawl's own, within the places.
    pub fn new(program: PathBuf, places: ReaderPlaces) -> Self {
        Self { program, places }
    }

    /// Starts a command once there is a place; returns its input, too.
    ///
    /// # Errors
    /// 503 while there is no place. The program cannot be started.
    pub(crate) async fn start(
        &self,
        (asker, memory): (ReaderAsker, ReaderMemory),
        command: &str,
        processor_time: Duration,
        max_message_bytes: usize,
    ) -> Result<(AnsweringProcess, ChildStdin)> {
        let place = self.places.take(asker, memory).await?;
        let process =
            ConfinedProcess::start(&self.program, &[command, &memory.argument()]).map_err(Error::internal)?;
        let ConfinedProcess { child, input, output, errors } = process;
        let answering = AnsweringProcess {
            child,
            output: BufReader::new(output),
            said: tokio::spawn(listen(errors)),
            processor_time,
            patience: patience(processor_time),
            max_message_bytes: u64::try_from(max_message_bytes).unwrap_or(u64::MAX),
            place,
        };
        Ok((answering, input))
    }
}

/// A process that answers in messages, each a line of JSON. It ends with this value.
#[derive(Debug)]
pub(crate) struct AnsweringProcess {
    child: Child,
    output: BufReader<ChildStdout>,
    /// The beginning of its standard error.
    said: JoinHandle<String>,
    processor_time: Duration,
    /// Time by the clock that is left to wait for messages.
    patience: Duration,
    max_message_bytes: u64,
    place: ReaderPlace,
}

impl AnsweringProcess {
    /// Whether others wait for its place.
    pub(crate) fn place_is_wanted(&self) -> bool {
        self.place.is_wanted()
    }

    /// The next message. All together may take six times the processor time by the clock.
    ///
    /// # Errors
    /// Why there is none.
    pub(crate) async fn next<T: DeserializeOwned + Send + 'static>(&mut self) -> Result<T, String> {
        let (mut line, begun) = (Vec::new(), Instant::now());
        let mut bounded = (&mut self.output).take(self.max_message_bytes);
        if timeout(self.patience, bounded.read_until(b'\n', &mut line)).await.is_err() {
            return Err(TOO_LONG.to_owned());
        }
        self.patience = self.patience.saturating_sub(begun.elapsed());
        if line.pop() != Some(b'\n') {
            let is_too_long = line.len() as u64 + 1 >= self.max_message_bytes;
            return Err(if is_too_long { "its answer is too long".to_owned() } else { self.failed().await });
        }
        let read = spawn_blocking(move || serde_json::from_slice(&line)).await.map_err(Error::internal);
        let read = read.and_then(|read: serde_json::Result<T>| read.map_err(Error::internal));
        read.map_err(|error| {
            tracing::warn!(%error, "a process that reads what others sent answered in another form");
            FAILED.to_owned()
        })
    }

    /// Asks for one message, with the whole time of a process.
    ///
    /// # Errors
    /// Why there is no answer.
    pub(crate) async fn ask<T: DeserializeOwned + Send + 'static>(
        &mut self,
        input: &mut ChildStdin,
        question: &impl Serialize,
    ) -> Result<T, String> {
        let mut line = serde_json::to_vec(question).map_err(|error| error.to_string())?;
        line.push(b'\n');
        self.patience = patience(self.processor_time);
        // One that ended is told by its answer.
        if timeout(self.patience, input.write_all(&line)).await.is_err() {
            return Err(TOO_LONG.to_owned());
        }
        self.next().await
    }

    /// Ends the process, and waits until it is gone with all that it held.
    pub(crate) async fn end(mut self) {
        if !matches!(timeout(MAX_ENDING, self.child.kill()).await, Ok(Ok(()))) {
            tracing::warn!("a process that reads what others sent does not end");
        }
    }

    async fn failed(&mut self) -> String {
        let Ok(Ok(status)) = timeout(MAX_ENDING, self.child.wait()).await else { return FAILED.to_owned() };
        let said =
            timeout(MAX_ENDING, &mut self.said).await.map(Result::unwrap_or_default).unwrap_or_default();
        tracing::warn!(%status, said, "a process that reads what others sent failed");
        failure(status, self.processor_time, &said)
    }
}

async fn listen(mut errors: ChildStderr) -> String {
    let mut said = Vec::new();
    let _read = (&mut errors).take(MAX_SAID_BYTES).read_to_end(&mut said).await;
    // The rest is read and dropped, as a full pipe would hold the process up.
    let _passed = tokio::io::copy(&mut errors, &mut tokio::io::sink()).await;
    String::from_utf8_lossy(&said).into_owned()
}

/// Writes a message, within a process.
pub(crate) fn answer(output: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *output, message)?;
    output.write_all(b"\n")?;
    output.flush()
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    /// Counts the contents that get a place at once.
    ///
    /// They have these lengths in bytes, and each is of another tenant.
    fn taken(contents: &[u64]) -> usize {
        let places = ReaderPlaces::default();
        let take = |(tenant, bytes): (i64, &u64)| {
            let asker = ReaderAsker { group: tenant, member: ReadingTask::Text };
            places.take(asker, ReaderMemory::of_content(*bytes)).now_or_never()
        };
        let taken: Vec<_> = (0..).zip(contents).filter_map(take).collect();
        assert!(taken.iter().all(Result::is_ok));
        taken.len()
    }

    #[tokio::test]
    async fn contents_above_one_mebibyte_take_three_of_six_units() {
        const SMALL: u64 = 1 << 20;
        const LARGE: u64 = SMALL + 1;
        assert_eq!(taken(&[SMALL; 7]), 6);
        assert_eq!(taken(&[LARGE; 3]), 2);
        assert_eq!(taken(&[LARGE, SMALL, SMALL, SMALL, SMALL]), 4);
        assert_eq!([SMALL, LARGE].map(|bytes| ReaderMemory::of_content(bytes).mib()), [128, 384]);
    }
}
