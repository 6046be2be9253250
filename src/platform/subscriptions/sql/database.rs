//! A database behind a subscription: a connection, or the process that reads a file of SQLite.
//!
//! A file may be hostile, and its views may run for ever. The process `trawl read-sqlite` may open this file alone, and only to read.

use std::{
    ffi::OsString,
    fs::File,
    io::{self, BufRead, BufWriter, Read, stdin, stdout},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use jiff::{Timestamp, tz::TimeZone};
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use tokio::process::ChildStdin;
use url::Url;

use super::{
    connection::{DatabaseConnection, SqliteAccess, TIMEOUT},
    page::{PageRows, QueryColumn},
};
use crate::{
    confined::{
        limits::{ProcessLimits, ReaderMemory, ReaderOptions, allow_processor_time, confine, start_no_more},
        process::{AnsweringProcess, ReaderAsker, ReaderProcesses, answer},
    },
    platform::subscriptions::origins::{DatabaseKind, file_of},
};

/// Processor time of a statement. One that looks at the time ends before.
const PROCESSOR_TIME: Duration = TIMEOUT.saturating_add(Duration::from_secs(5));
/// Bytes of an answer, whose JSON may escape each byte by six.
const MAX_ANSWER_BYTES: usize = 64 << 20;
/// Beginning of the names of files that SQLite keeps beside one.
const BESIDE: [&str; 3] = ["-wal", "-shm", "-journal"];
/// Place and value of the version with a write-ahead log (<https://sqlite.org/fileformat.html>).
const READ_VERSION: (usize, u8) = (19, 2);

/// A database that is read.
pub(super) enum Database {
    Connected(DatabaseConnection),
    Confined(Box<SqliteFile>),
}

/// A file of SQLite, and for whom it is read.
pub(super) struct SqliteFile {
    path: PathBuf,
    folders: Arc<[PathBuf]>,
    readers: ReaderProcesses,
    asker: ReaderAsker,
    /// Its process, while it has a place.
    open: Option<SqliteProcess>,
}

struct SqliteProcess {
    process: AnsweringProcess,
    input: ChildStdin,
}

/// A task of the process.
#[derive(Debug, Serialize, Deserialize)]
enum SqliteRequest {
    /// Opens the file, as the first one.
    Open(PathBuf),
    Columns(String),
    Rows(String, Vec<String>),
}

/// The result of a task.
#[derive(Debug, Serialize, Deserialize)]
enum SqliteAnswer {
    Opened,
    Columns(Vec<QueryColumn>),
    Rows(PageRows),
}

impl Database {
    /// Connects with an address that the form has checked.
    ///
    /// # Errors
    /// A message for operators, as of every method.
    pub(super) async fn connect(
        address: &Url,
        password: Option<&SecretString>,
        folders: &Arc<[PathBuf]>,
        (readers, asker): (&ReaderProcesses, ReaderAsker),
    ) -> Result<Self, String> {
        match DatabaseKind::of(address) {
            Some(DatabaseKind::Postgres) => {
                DatabaseConnection::postgres(address, password).await.map(Self::Connected)
            }
            Some(DatabaseKind::MySql) => {
                DatabaseConnection::mysql(address, password).await.map(Self::Connected)
            }
            Some(DatabaseKind::Sqlite) => {
                let (path, folders, readers) = (file_of(address), Arc::clone(folders), readers.clone());
                Ok(Self::Confined(Box::new(SqliteFile { path, folders, readers, asker, open: None })))
            }
            None => Err("the address is of no known database".to_owned()),
        }
    }

    /// The columns of a query.
    pub(super) async fn columns(&mut self, query: &str) -> Result<Vec<QueryColumn>, String> {
        match self {
            Self::Connected(connection) => connection.columns(query).await,
            Self::Confined(file) => match file.ask(&SqliteRequest::Columns(query.to_owned())).await? {
                SqliteAnswer::Columns(columns) => Ok(columns),
                _ => Err(another()),
            },
        }
    }

    /// The offset from UTC of the database's own zone; zero if it does not tell.
    pub(super) async fn zone_millis(&mut self) -> i64 {
        match self {
            Self::Connected(connection) => connection.zone_millis().await,
            Self::Confined(_) => {
                let offset = TimeZone::system().to_offset(Timestamp::now());
                i64::from(offset.seconds()).saturating_mul(1_000)
            }
        }
    }

    /// See [`DatabaseConnection::is_superuser`].
    pub(super) async fn is_superuser(&mut self) -> bool {
        match self {
            Self::Connected(connection) => connection.is_superuser().await,
            Self::Confined(_) => false,
        }
    }

    /// Rows of a statement as texts, until the page is full, in a read-only transaction.
    pub(super) async fn rows(&mut self, (text, values): (String, Vec<String>)) -> Result<PageRows, String> {
        match self {
            Self::Connected(connection) => connection.rows((text, values)).await,
            Self::Confined(file) => {
                file.give_way().await;
                match file.ask(&SqliteRequest::Rows(text, values)).await? {
                    SqliteAnswer::Rows(rows) => Ok(rows),
                    _ => Err(another()),
                }
            }
        }
    }

    /// Ends the reading; returns once no process holds a lock of the file.
    pub(super) async fn close(self) {
        if let Self::Confined(file) = self
            && let Some(open) = file.open
        {
            open.process.end().await;
        }
    }
}

impl SqliteFile {
    async fn open(&self) -> Result<SqliteProcess, String> {
        let asks = (self.asker.clone(), ReaderMemory::Large);
        let started = self.readers.start(asks, "read-sqlite", PROCESSOR_TIME, MAX_ANSWER_BYTES).await;
        let (process, input) = started.map_err(|error| error.message)?;
        let mut process = SqliteProcess { process, input };
        // The file may have changed while this waited for a place.
        let opened = match permitted(&self.path, &self.folders) {
            Ok(path) => process.ask(&SqliteRequest::Open(path)).await,
            Err(reason) => Err(reason),
        };
        let refusal = match opened {
            Ok(SqliteAnswer::Opened) => return Ok(process),
            Ok(_) => another(),
            Err(reason) => reason,
        };
        process.process.end().await;
        Err(refusal)
    }

    /// Lets others that wait have the place of its process.
    async fn give_way(&mut self) {
        if let Some(open) = self.open.take_if(|open| open.process.place_is_wanted()) {
            open.process.end().await;
        }
    }

    async fn ask(&mut self, request: &SqliteRequest) -> Result<SqliteAnswer, String> {
        let open = match self.open.take() {
            Some(open) => open,
            None => self.open().await?,
        };
        self.open.insert(open).ask(request).await
    }
}

impl SqliteProcess {
    async fn ask(&mut self, request: &SqliteRequest) -> Result<SqliteAnswer, String> {
        let answered: Result<Result<SqliteAnswer, String>, String> =
            self.process.ask(&mut self.input, request).await;
        answered.map_err(|reason| format!("the database's file cannot be read: {reason}"))?
    }
}

fn another() -> String {
    "the reader of the database's file answered another question".to_owned()
}

/// Answers the requests of standard input, as the process `trawl read-sqlite`.
///
/// # Errors
/// The limits are refused, or a stream is lost.
pub fn serve(options: ReaderOptions) -> io::Result<()> {
    let mut requests = stdin().lock().lines();
    let Some(first) = requests.next() else { return Ok(()) };
    let SqliteRequest::Open(file) = serde_json::from_str(&first?)? else {
        return Err(io::Error::other("no file is named"));
    };
    let access = access_to(&file);
    let beside = BESIDE.map(|ending| beside(&file, ending));
    // A link may lead anywhere, and so does a folder.
    let is_plain = |file: &PathBuf| file.symlink_metadata().is_ok_and(|found| found.is_file());
    confine(&ProcessLimits {
        memory_bytes: options.memory_bytes(),
        processor_seconds: None,
        in_background: true,
        readable: [file.clone()].into_iter().chain(beside).filter(is_plain).collect(),
    })?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    let mut output = BufWriter::new(stdout().lock());
    allow_processor_time(PROCESSOR_TIME.as_secs())?;
    let opened = runtime.block_on(DatabaseConnection::sqlite(&file, access));
    start_no_more()?;
    let mut connection = match opened {
        Ok(connection) => connection,
        Err(reason) => return answer(&mut output, &Err::<SqliteAnswer, _>(reason)),
    };
    answer(&mut output, &Ok::<_, String>(SqliteAnswer::Opened))?;
    for request in requests {
        allow_processor_time(PROCESSOR_TIME.as_secs())?;
        let answered = runtime.block_on(do_request(&mut connection, serde_json::from_str(&request?)?));
        answer(&mut output, &answered)?;
    }
    Ok(())
}

async fn do_request(
    connection: &mut DatabaseConnection,
    request: SqliteRequest,
) -> Result<SqliteAnswer, String> {
    Ok(match request {
        SqliteRequest::Open(_) => return Err("a file is open".to_owned()),
        SqliteRequest::Columns(query) => SqliteAnswer::Columns(connection.columns(&query).await?),
        SqliteRequest::Rows(text, values) => SqliteAnswer::Rows(connection.rows((text, values)).await?),
    })
}

/// Whether others have a file with a write-ahead log open.
///
/// Its other files are not there where nobody has, and cannot be made. A copy may have the log alone.
fn access_to(file: &Path) -> SqliteAccess {
    let mut head = [0; READ_VERSION.0 + 1];
    let read = File::open(file).and_then(|mut file| file.read_exact(&mut head));
    let [has_log, has_index] = [BESIDE[0], BESIDE[1]]
        .map(|ending| beside(file, ending).metadata().is_ok_and(|found| found.len() > 0));
    if read.is_err() || head[READ_VERSION.0] != READ_VERSION.1 {
        SqliteAccess::Shared
    } else if !has_log {
        SqliteAccess::Closed
    } else if has_index {
        SqliteAccess::Shared
    } else {
        SqliteAccess::Unindexed
    }
}

fn beside(file: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(file);
    name.push(ending);
    name.into()
}

/// The file, if it lies beneath one of the folders without symbolic links.
fn permitted(file: &Path, folders: &[PathBuf]) -> Result<PathBuf, String> {
    let file =
        file.canonicalize().map_err(|error| format!("the database's file cannot be opened: {error}"))?;
    let mut roots = folders.iter().filter_map(|folder| folder.canonicalize().ok());
    if roots.any(|root| file.starts_with(root)) {
        return Ok(file);
    }
    Err("the database's file lies outside of the permitted folders".to_owned())
}
