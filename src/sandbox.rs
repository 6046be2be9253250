//! Starts and confines processes of this program that read foreign input.

use std::{io, path::PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetError, Scope,
};
use rustix::process::{Resource, Rlimit, Signal, nice, set_parent_process_death_signal, setrlimit};
use rustix::thread::set_no_new_privs;
use rustix::time::{ClockId, clock_gettime};

/// Niceness, so that searches have priority.
const NICENESS: i32 = 5;

/// Path of this program. It works even after the file was replaced.
///
/// # Errors
/// The system does not tell it.
pub fn this_program() -> io::Result<PathBuf> {
    let by_process = PathBuf::from("/proc/self/exe");
    if by_process.exists() { Ok(by_process) } else { std::env::current_exe() }
}

/// Limits of a confined process.
#[derive(Clone, Copy, Debug)]
pub struct ProcessLimits {
    /// Address space in bytes.
    pub address_bytes: u64,
    /// Processor time in seconds, if it is limited.
    pub processor_seconds: Option<u64>,
    /// Whether searches go first.
    pub in_background: bool,
}

/// Confines this process before it reads anything.
///
/// Limits memory and time, ties the process to the server's life, and forbids opening files. Gaining rights is
/// forbidden too. Landlock, where available, adds renaming, deleting and signalling.
///
/// # Errors
/// The system refuses a limit.
pub fn confine(limits: ProcessLimits) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    set_no_new_privs(true)?;
    give_up_access().map_err(io::Error::other)?;
    let limited = [
        (Resource::As, Some(limits.address_bytes)),
        (Resource::Cpu, limits.processor_seconds),
        (Resource::Fsize, Some(0)),
        (Resource::Nofile, Some(0)),
        (Resource::Nproc, Some(0)),
        (Resource::Core, Some(0)),
    ];
    for (resource, most) in limited {
        if most.is_some() {
            setrlimit(resource, Rlimit { current: most, maximum: most })?;
        }
    }
    if limits.in_background {
        // A refused niceness is harmless.
        let _nicer = nice(NICENESS);
    }
    Ok(())
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

/// Gives up files, network and other processes, where the kernel can.
fn give_up_access() -> Result<(), RulesetError> {
    let latest = ABI::V6;
    let _what_is_enforced = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(latest))?
        .handle_access(AccessNet::from_all(latest))?
        .scope(Scope::from_all(latest))?
        .create()?
        .restrict_self()?;
    Ok(())
}
