//! Limits of a process, set by itself.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetError, Scope, path_beneath_rules,
};
use rustix::process::{Resource, Rlimit, Signal, nice, set_parent_process_death_signal, setrlimit};
use rustix::thread::set_no_new_privs;
use rustix::time::{ClockId, clock_gettime};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    apply_filter,
};

/// Niceness of a reader, which gets a ninth of a search's processor time beside it.
const NICENESS: i32 = 10;

/// Limits of a confined process.
#[derive(Clone, Debug)]
pub struct ProcessLimits {
    /// Memory of its own, in bytes.
    pub memory_bytes: u64,
    /// Processor time in seconds, if it is limited.
    pub processor_seconds: Option<u64>,
    /// Whether searches go first.
    pub in_background: bool,
    /// Files that may be opened to be read.
    ///
    /// A process with some may start threads until [`start_no_more`].
    pub readable: Vec<PathBuf>,
}

/// Content whose reader needs little memory, in bytes.
const MAX_SMALL_CONTENT: u64 = 1 << 20;
/// Memory of a reader of little content, in MiB.
const UNIT_MIB: u64 = 128;
/// Units of a reader of more content.
const LARGE_UNITS: usize = 3;

/// Memory of a process that reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReaderMemory {
    /// One unit.
    Small,
    /// Three units.
    Large,
}

impl ReaderMemory {
    /// The memory that a content of this size needs.
    pub(crate) fn of_content(bytes: u64) -> Self {
        if bytes <= MAX_SMALL_CONTENT { Self::Small } else { Self::Large }
    }

    /// Its part of [`MAX_READER_UNITS`].
    pub(crate) fn units(self) -> usize {
        match self {
            Self::Small => 1,
            Self::Large => LARGE_UNITS,
        }
    }

    pub(crate) fn mib(self) -> u64 {
        UNIT_MIB * self.units() as u64
    }

    /// The argument of the process.
    pub(crate) fn argument(self) -> String {
        format!("--memory-mib={}", self.mib())
    }
}

/// Units of all readers at once: two large ones, or more small ones.
pub(crate) const MAX_READER_UNITS: usize = 2 * LARGE_UNITS;
/// Units of all readers of one task of a tenant: a large one and a small one.
pub(crate) const MAX_UNITS_OF_TASK: usize = LARGE_UNITS + 1;

/// Arguments of a process that reads.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct ReaderOptions {
    /// Memory in MiB
    #[arg(long, default_value_t = 384)]
    memory_mib: u64,
}

impl ReaderOptions {
    /// Memory in bytes.
    pub fn memory_bytes(self) -> u64 {
        self.memory_mib << 20
    }
}
/// Address space of the program itself, and of files that it maps.
const PROGRAM_BYTES: u64 = 256 << 20;

/// System calls that lead out of a process: to sockets of every kind, programs, other processes, and the kernel's less tried parts.
const FORBIDDEN_CALLS: [i64; 17] = [
    libc::SYS_socket,
    libc::SYS_socketpair,
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_open,
    libc::SYS_io_uring_setup,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
];
/// Set in numbers of calls of the x32 ABI, which has its own for some.
#[cfg(target_arch = "x86_64")]
const X32: i64 = 0x4000_0000;
/// `execve`, `ptrace`, `process_vm_readv`, `process_vm_writev` and `execveat` of x32.
#[cfg(target_arch = "x86_64")]
const FORBIDDEN_X32_CALLS: [i64; 5] = [520, 521, 539, 540, 545];

/// Descriptors of a process that may open files.
const MAX_DESCRIPTORS: u64 = 64;

/// Confines this process before it reads anything.
///
/// It limits memory and time, and ties the process to the server's life. The process cannot gain rights. It can open no files but the
/// readable ones, which Landlock alone enforces. Where the kernel has Landlock, renaming, deleting and signalling are forbidden, too; where it
/// has seccomp, sockets and programs are.
///
/// # Errors
/// The system refuses a limit.
pub fn confine(limits: &ProcessLimits) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    set_no_new_privs(true)?;
    give_up_access(&limits.readable).map_err(io::Error::other)?;
    give_up_calls().map_err(io::Error::other)?;
    let opens_none = limits.readable.is_empty();
    let limited = [
        (Resource::Data, Some(limits.memory_bytes)),
        // Shared memory is part of the address space alone.
        (Resource::As, Some(limits.memory_bytes + PROGRAM_BYTES)),
        (Resource::Cpu, limits.processor_seconds),
        (Resource::Fsize, Some(0)),
        (Resource::Nofile, Some(if opens_none { 0 } else { MAX_DESCRIPTORS })),
        (Resource::Nproc, opens_none.then_some(0)),
        (Resource::Core, Some(0)),
    ];
    for (resource, most) in limited {
        if most.is_some() {
            // At the lower limit of processor time the end is told by `SIGXCPU`, at the upper one by `SIGKILL`.
            let more = u64::from(matches!(resource, Resource::Cpu));
            setrlimit(resource, Rlimit { current: most, maximum: most.map(|most| most + more) })?;
        }
    }
    if limits.in_background {
        // A refused niceness is harmless.
        let _nicer = nice(NICENESS);
    }
    Ok(())
}

/// Forbids this process to start threads and processes.
///
/// # Errors
/// The system refuses the limit.
pub fn start_no_more() -> io::Result<()> {
    Ok(setrlimit(Resource::Nproc, Rlimit { current: Some(0), maximum: Some(0) })?)
}

/// Ends this process by `SIGXCPU` after so much more processor time.
///
/// The system counts whole seconds: the end may be half a second early or late.
///
/// # Errors
/// The system refuses the limit.
pub fn allow_processor_time(seconds: u64) -> io::Result<()> {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    let rounded = used.tv_sec + i64::from(used.tv_nsec >= 500_000_000);
    let most = u64::try_from(rounded).unwrap_or_default().saturating_add(seconds);
    setrlimit(Resource::Cpu, Rlimit { current: Some(most), maximum: None })?;
    Ok(())
}

/// Gives up other files, network and other processes, where the kernel can.
fn give_up_access(readable: &[PathBuf]) -> Result<(), RulesetError> {
    let latest = ABI::V6;
    let _what_is_enforced = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(latest))?
        .handle_access(AccessNet::from_all(latest))?
        .scope(Scope::from_all(latest))?
        .create()?
        .add_rules(path_beneath_rules(readable, AccessFs::ReadFile))?
        .restrict_self()?;
    Ok(())
}

/// Lets forbidden calls fail, where the kernel can.
fn give_up_calls() -> Result<(), seccompiler::BackendError> {
    let Ok(architecture) = std::env::consts::ARCH.try_into() else { return Ok(()) };
    let mut forbidden: BTreeMap<i64, Vec<SeccompRule>> =
        FORBIDDEN_CALLS.map(|call| (call, Vec::new())).into();
    #[cfg(target_arch = "x86_64")]
    forbidden
        .extend(FORBIDDEN_CALLS.into_iter().chain(FORBIDDEN_X32_CALLS).map(|call| (X32 | call, Vec::new())));
    // Limits of another process.
    let is_another = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, 0)?;
    forbidden.insert(libc::SYS_prlimit64, vec![SeccompRule::new(vec![is_another])?]);
    let refusal = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let filter = SeccompFilter::new(forbidden, SeccompAction::Allow, refusal, architecture)?;
    let _is_enforced = apply_filter(&BpfProgram::try_from(filter)?).is_ok();
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::os::unix::net::UnixStream;
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    use rustix::process::{PidfdFlags, getppid, pidfd_open, prlimit};

    use super::*;

    /// Set where this test runs once more, in a process that it confines.
    const IS_CONFINED: &str = "TRAWL_TEST_IS_CONFINED";

    #[test]
    fn confined_process_reaches_no_socket_program_or_other_process() {
        if std::env::var_os(IS_CONFINED).is_none() {
            let name = std::thread::current().name().unwrap().to_owned();
            let mut again = Command::new(std::env::current_exe().unwrap());
            again.args(["--exact", &name, "--no-capture"]).env(IS_CONFINED, "true");
            let output = again.output().unwrap();
            assert!(output.status.success(), "{output:?}");
            assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"), "{output:?}");
            return;
        }
        confine(&ProcessLimits {
            memory_bytes: 512 << 20,
            processor_seconds: None,
            in_background: false,
            readable: Vec::new(),
        })
        .unwrap();
        let parent = getppid().unwrap();
        let unlimited = Rlimit { current: None, maximum: None };
        let calls = [
            ("socket", TcpListener::bind("127.0.0.1:0").map(drop)),
            ("socketpair", UnixStream::pair().map(drop)),
            ("pidfd_open", pidfd_open(parent, PidfdFlags::empty()).map(drop).map_err(io::Error::from)),
            (
                "prlimit64",
                prlimit(Some(parent), Resource::Core, unlimited).map(drop).map_err(io::Error::from),
            ),
            ("execve", Err(Command::new("/bin/true").exec())),
        ];
        for (call, outcome) in calls {
            assert_eq!(outcome.unwrap_err().raw_os_error(), Some(libc::EPERM), "{call}");
        }
    }
}
