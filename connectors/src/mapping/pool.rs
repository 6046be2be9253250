//! Interpreter processes of this server.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::task::spawn_blocking;
use trawl_fair::{Asker, FairSemaphore};

use super::Mapping;
use super::message::{InterpreterJob, JobOfMapping, JobOutcome, MappingError};
use crate::client::PARSED_IN_PLACE_BYTES;

/// Jobs at once.
const MAX_PROCESSES: usize = 3;
/// Processes that wait for the next job of their tenants.
const MAX_IDLE: usize = 8;
/// Jobs of a process. One that was taken over does not stay.
const MAX_JOBS: usize = 1_000;
/// Bytes of a body and its outcome above which a process ends.
const MAX_KEPT_BYTES: usize = 1 << 20;
/// Time of one job by the clock. Its processor time ends long before.
const JOB_TIMEOUT: Duration = Duration::from_secs(10);
/// Signal of a process that used up its processor time.
const SIGXCPU: i32 = 24;
const MAX_OUTCOME_BYTES: u32 = 16 << 20;

/// The allocator's first reservation, in KiB.
///
/// It counts towards the limit of address space. Its usual 1 GiB would be exempt.
const CONFINED_ENVIRONMENT: (&str, &str) = ("MIMALLOC_ARENA_RESERVE", "32768");

/// A process with pipes that ends with its handle, without this one's environment, which holds secrets.
pub fn confined_command(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().envs([CONFINED_ENVIRONMENT]).kill_on_drop(true);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Processes that run the filters of mappings. Clones share them.
///
/// A process that takes too long or ends is replaced; its job fails alone. Filters reach neither files, network nor environment. A
/// process works for one tenant: a filter or an answer that took it over sees nothing of another.
#[derive(Clone, Debug)]
pub struct InterpreterPool {
    tenant_id: i64,
    state: Arc<PoolState>,
}

#[derive(Debug)]
struct PoolState {
    program: PathBuf,
    /// Tenants that used them least lately go first.
    permits: FairSemaphore<i64, ()>,
    idle: Mutex<Vec<Process>>,
}

#[derive(Debug)]
struct Process {
    tenant_id: i64,
    jobs: usize,
    child: Child,
    input: ChildStdin,
    output: ChildStdout,
}

impl InterpreterPool {
    /// `program` is trawl's own; its command `interpret-mappings` calls [`serve_interpreter`](super::serve_interpreter).
    pub fn new(program: PathBuf) -> Self {
        let permits = FairSemaphore::new(MAX_PROCESSES, MAX_PROCESSES, 0);
        let state = PoolState { program, permits, idle: Mutex::new(Vec::new()) };
        Self { tenant_id: 0, state: Arc::new(state) }
    }

    /// The processes of another tenant, among the same number.
    #[must_use]
    pub fn of_tenant(&self, tenant_id: i64) -> Self {
        Self { tenant_id, ..self.clone() }
    }

    /// Compiles all filters of a mapping.
    ///
    /// # Errors
    /// The first wrong field.
    pub async fn compile(&self, mapping: &Mapping) -> Result<(), MappingError> {
        mapping.check_form()?;
        match self.run(mapping, InterpreterJob::Compile, None).await? {
            JobOutcome::Compiled => Ok(()),
            _ => Err(unexpected()),
        }
    }

    pub(super) async fn run(
        &self,
        mapping: &Mapping,
        job: InterpreterJob,
        body: Option<&[u8]>,
    ) -> Result<JobOutcome, MappingError> {
        let failed = |message: String| MappingError::new("mapping", message);
        let message = JobOfMapping { mapping: mapping.clone(), job };
        let message = serde_json::to_vec(&message).map_err(|error| failed(error.to_string()))?;
        let asker = Asker { group: self.tenant_id, member: () };
        let _permit = self.state.permits.acquire_patiently(asker, 1).await;
        let idle = self.take_idle();
        let process = match idle {
            Some(process) => Ok(process),
            None => self.start(),
        };
        let mut process =
            process.map_err(|error| failed(format!("the interpreter does not start: {}", error.kind())))?;
        let exchange = tokio::time::timeout(JOB_TIMEOUT, process.exchange(&message, body)).await;
        let Ok(exchange) = exchange else {
            // Dropping the process kills it.
            return Err(failed(format!("its filters take longer than {} s", JOB_TIMEOUT.as_secs())));
        };
        let Ok(outcome) = exchange else {
            return Err(failed(process.describe_end().await.to_owned()));
        };
        let outcome_bytes = outcome.len();
        if outcome_bytes + body.map_or(0, <[u8]>::len) <= MAX_KEPT_BYTES {
            self.keep(process);
        }
        let parse = move || serde_json::from_slice(&outcome);
        let outcome = if outcome_bytes <= PARSED_IN_PLACE_BYTES {
            parse()
        } else {
            spawn_blocking(parse).await.map_err(|error| failed(error.to_string()))?
        };
        match outcome.map_err(|error| failed(error.to_string()))? {
            JobOutcome::Failed(error) => Err(error),
            outcome => Ok(outcome),
        }
    }

    fn start(&self) -> io::Result<Process> {
        let mut command = confined_command(&self.state.program);
        let mut child = command.arg("interpret-mappings").stderr(Stdio::null()).spawn()?;
        match (child.stdin.take(), child.stdout.take()) {
            (Some(input), Some(output)) => {
                Ok(Process { tenant_id: self.tenant_id, jobs: 0, child, input, output })
            }
            _ => Err(io::Error::other("a process without pipes")),
        }
    }

    /// One of the tenant that still runs.
    fn take_idle(&self) -> Option<Process> {
        let mut idle = self.lock();
        idle.retain_mut(|process| matches!(process.child.try_wait(), Ok(None)));
        let place = idle.iter().rposition(|process| process.tenant_id == self.tenant_id)?;
        Some(idle.remove(place))
    }

    /// Keeps a process for the tenant's next job, in place of the one that waits longest.
    fn keep(&self, mut process: Process) {
        process.jobs += 1;
        if process.jobs >= MAX_JOBS {
            return;
        }
        let mut idle = self.lock();
        if idle.len() >= MAX_IDLE {
            idle.remove(0);
        }
        idle.push(process);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Process>> {
        self.state.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Process {
    /// Why it ended amid a job.
    async fn describe_end(&mut self) -> &'static str {
        let _killed = self.child.start_kill();
        match self.child.wait().await.ok().and_then(|status| status.signal()) {
            Some(SIGXCPU) => "its filters take more than 1 s of processor time",
            _ => "its filters end the interpreter: they need too much memory, or nest too deeply",
        }
    }

    async fn exchange(&mut self, message: &[u8], body: Option<&[u8]>) -> io::Result<Vec<u8>> {
        for frame in std::iter::once(message).chain(body) {
            let length = u32::try_from(frame.len()).map_err(|_| io::Error::other("a frame is too long"))?;
            self.input.write_all(&length.to_le_bytes()).await?;
            self.input.write_all(frame).await?;
        }
        self.input.flush().await?;
        let length = self.output.read_u32_le().await?;
        if length > MAX_OUTCOME_BYTES {
            return Err(io::Error::other("a frame is too long"));
        }
        let mut outcome = vec![0; length as usize];
        self.output.read_exact(&mut outcome).await?;
        Ok(outcome)
    }
}

pub(super) fn unexpected() -> MappingError {
    MappingError::new("mapping", "the interpreter answered another job")
}
