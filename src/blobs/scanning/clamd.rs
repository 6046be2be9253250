//! Client of a `ClamAV` daemon's `INSTREAM` command: length-prefixed chunks, one line in response.
//!
//! The available crates lose clamd's early response to an oversized content, after which it closes.

use std::{io, path::PathBuf, time::Duration};

use futures::TryStreamExt;
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader},
    net::{TcpStream, UnixStream},
    sync::Semaphore,
    time::timeout,
};

use super::{Scanner, Verdict};
use crate::{
    blobs::Pieces,
    config,
    error::{BusinessCode, Error, Result},
};

const CONNECT: Duration = Duration::from_secs(5);

/// Maximum response length; malware names are short.
const MAX_ANSWERED: u64 = 4 << 10;

const CHUNK: usize = 256 << 10;

trait ScannerConnection: AsyncRead + AsyncWrite + Send + Unpin {}
impl<C: AsyncRead + AsyncWrite + Send + Unpin> ScannerConnection for C {}

/// A `clamd` that scans contents.
#[derive(Debug)]
pub struct Clamd {
    address: Address,
    idle: Duration,
    at_once: Semaphore,
}

#[derive(Debug)]
enum Address {
    Tcp(String),
    Socket(PathBuf),
}

impl Clamd {
    /// Builds the client if the settings name a daemon.
    pub fn new(settings: &config::ScannerSettings) -> Option<Self> {
        let address = settings.clamd.as_deref()?;
        let address = match address.strip_prefix("unix:") {
            Some(path) => Address::Socket(path.into()),
            None => Address::Tcp(address.to_owned()),
        };
        let idle = Duration::from_secs(settings.idle_seconds.into());
        Some(Self { address, idle, at_once: Semaphore::new(settings.at_once) })
    }

    async fn connect(&self) -> Result<Box<dyn ScannerConnection>, ScanFailure> {
        let connecting = async {
            let connection: Box<dyn ScannerConnection> = match &self.address {
                Address::Tcp(address) => {
                    let stream = TcpStream::connect(address).await?;
                    // A length prefix must not wait for its chunk.
                    stream.set_nodelay(true)?;
                    Box::new(stream)
                }
                Address::Socket(path) => Box::new(UnixStream::connect(path).await?),
            };
            io::Result::Ok(connection)
        };
        match timeout(CONNECT, connecting).await {
            Ok(connected) => connected.map_err(ScanFailure::Unreachable),
            Err(_) => Err(ScanFailure::Late),
        }
    }

    /// Sends a content and reads the response, which may come early.
    async fn ask(&self, content: Pieces) -> Result<ScanAnswer, ScanFailure> {
        let (from, mut to) = tokio::io::split(self.connect().await?);
        let mut answered = std::pin::pin!(read_answer(from));
        tokio::select! {
            answer = &mut answered => answer,
            sent = send(&mut to, content, self.idle) => match sent {
                Err(failure @ ScanFailure::Content(_)) => Err(failure),
                // A failed send may follow an early response.
                sent => match timeout(self.idle, answered).await {
                    Ok(Ok(answer)) => Ok(answer),
                    Ok(Err(failure)) => Err(sent.err().unwrap_or(failure)),
                    Err(_) => Err(ScanFailure::Late),
                },
            },
        }
    }
}

#[async_trait::async_trait]
impl Scanner for Clamd {
    async fn scan(&self, content: Pieces) -> Result<Verdict> {
        let _turn = self.at_once.acquire().await.map_err(Error::internal)?;
        let answer = match self.ask(content).await {
            Ok(answer) => answer,
            Err(failure) => return Err(failure.into()),
        };
        match answer {
            ScanAnswer::Safe => Ok(Verdict::Safe),
            ScanAnswer::Found(what) => Ok(Verdict::Unsafe(what)),
            ScanAnswer::TooLarge => Err(not_scanned("it exceeds the scanner's size limit")),
            ScanAnswer::Other(line) => Err(not_scanned("the scanner failed").caused_by(line)),
        }
    }
}

#[derive(Debug)]
enum ScanFailure {
    Content(Error),
    Unreachable(io::Error),
    Lost(io::Error),
    Late,
}

impl From<ScanFailure> for Error {
    fn from(failure: ScanFailure) -> Self {
        match failure {
            ScanFailure::Content(error) => error,
            ScanFailure::Unreachable(cause) => not_scanned("the scanner is unreachable").caused_by(cause),
            ScanFailure::Lost(cause) => not_scanned("the scanner closed the connection").caused_by(cause),
            ScanFailure::Late => not_scanned("the scanner did not answer in time"),
        }
    }
}

fn not_scanned(why: &str) -> Error {
    Error::business(BusinessCode::General, format!("the file could not be scanned, as {why}"))
}

async fn send(
    to: &mut (impl AsyncWrite + Unpin),
    mut content: Pieces,
    idle: Duration,
) -> Result<(), ScanFailure> {
    within(idle, to.write_all(b"zINSTREAM\0")).await?;
    while let Some(piece) = content.try_next().await.map_err(ScanFailure::Content)? {
        for chunk in piece.chunks(CHUNK) {
            let length = u32::try_from(chunk.len()).unwrap_or(u32::MAX);
            within(idle, to.write_u32(length)).await?;
            within(idle, to.write_all(chunk)).await?;
        }
    }
    within(idle, to.write_u32(0)).await?;
    within(idle, to.flush()).await
}

async fn within(idle: Duration, writing: impl Future<Output = io::Result<()>>) -> Result<(), ScanFailure> {
    timeout(idle, writing).await.map_err(|_| ScanFailure::Late)?.map_err(ScanFailure::Lost)
}

#[derive(Debug, PartialEq, Eq)]
enum ScanAnswer {
    Safe,
    Found(String),
    TooLarge,
    Other(String),
}

async fn read_answer(from: impl AsyncRead + Unpin) -> Result<ScanAnswer, ScanFailure> {
    let mut answer = Vec::new();
    let read = BufReader::new(from.take(MAX_ANSWERED)).read_until(0, &mut answer).await;
    if let Err(error) = read
        && answer.is_empty()
    {
        return Err(ScanFailure::Lost(error));
    }
    // A truncated response is worthless.
    let Some(line) = answer.strip_suffix(&[0]) else {
        return Err(ScanFailure::Lost(io::ErrorKind::UnexpectedEof.into()));
    };
    Ok(ScanAnswer::of(&String::from_utf8_lossy(line)))
}

impl ScanAnswer {
    fn of(line: &str) -> Self {
        let verdict = line.strip_prefix("stream: ");
        match verdict {
            Some("OK") => Self::Safe,
            _ if line == "INSTREAM size limit exceeded. ERROR" => Self::TooLarge,
            _ => match verdict.and_then(|verdict| verdict.strip_suffix(" FOUND")) {
                Some(what) if !what.is_empty() => Self::Found(what.to_owned()),
                _ => Self::Other(line.to_owned()),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ScanAnswer;

    #[test]
    fn only_what_says_so_is_safe_or_unsafe() {
        for (line, meaning) in [
            ("stream: OK", ScanAnswer::Safe),
            ("stream: Eicar-Test FOUND", ScanAnswer::Found("Eicar-Test".to_owned())),
            ("INSTREAM size limit exceeded. ERROR", ScanAnswer::TooLarge),
        ] {
            assert_eq!(ScanAnswer::of(line), meaning);
        }
        for line in [
            "",
            "OK",
            "stream: ok",
            "stream: OK\n",
            "stream:  FOUND",
            "stream: FOUND",
            "stream: Heuristics.Limits ERROR",
            "other: X FOUND",
            "UNKNOWN COMMAND",
            "COMMAND READ TIMED OUT",
        ] {
            assert_eq!(ScanAnswer::of(line), ScanAnswer::Other(line.to_owned()));
        }
    }
}
