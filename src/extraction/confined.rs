//! The process that reads one content: `trawl extract-text`, which gives up what it does not need before it looks at a byte.

use std::io::{Read, Write, stdin, stdout};

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetError, Scope,
};
use rustix::{
    process::{Resource, Rlimit, Signal, nice, set_parent_process_death_signal, setrlimit},
    thread::set_no_new_privs,
};

use super::{MOST_BYTES, ReadAs, Stop, Text, extract};

/// Memory that it may take, in bytes of addresses.
const ADDRESS_BYTES: u64 = 1 << 30;

/// How much it stands back behind searches.
const NICENESS: i32 = 5;

/// What is to be read.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// What a text is read as that does not say what it is
    #[arg(long, value_enum, default_value_t)]
    read_as: ReadAs,
    /// Only the beginning of the content comes
    #[arg(long)]
    part: bool,
    /// Bytes of text to write at the most
    #[arg(long, default_value_t = 256 << 10)]
    most_bytes: usize,
    /// Seconds of processor time to take at the most
    #[arg(long, default_value_t = 10)]
    seconds: u64,
}

/// Reads the content on standard input and writes its text to standard output.
///
/// # Errors
/// Why there is no more text than was written.
pub fn run(options: &Options) -> Result<(), Stop> {
    confine(options.seconds)?;
    let mut content = Vec::new();
    stdin().lock().take(MOST_BYTES).read_to_end(&mut content)?;
    let mut text = Text::new(stdout().lock(), options.most_bytes);
    let extracted = extract(&content, options.read_as, !options.part, &mut text);
    text.flush()?;
    match extracted {
        Err(Stop::Full) => Ok(()),
        extracted => extracted,
    }
}

/// No more memory and time than this, no end later than that of the server, nothing opened that is not open (files, connections),
/// and no more rights than now by starting a program. What the kernel lets a process do without opening anything, to rename and
/// delete files and to signal its user's processes, it may not where the kernel has Landlock.
fn confine(seconds: u64) -> Result<(), Stop> {
    let failed = |error: rustix::io::Errno| Stop::Lost(error.into());
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(failed)?;
    set_no_new_privs(true).map_err(failed)?;
    // Before no file may be opened: it takes one itself.
    give_up_access().map_err(|error| Stop::Lost(std::io::Error::other(error)))?;
    let limits = [
        (Resource::As, ADDRESS_BYTES),
        (Resource::Cpu, seconds),
        (Resource::Fsize, 0),
        (Resource::Nofile, 0),
        (Resource::Nproc, 0),
        (Resource::Core, 0),
    ];
    for (resource, most) in limits {
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) }).map_err(failed)?;
    }
    // Whoever may not stand back does not.
    let _nicer = nice(NICENESS);
    stdout().flush()?;
    Ok(())
}

/// As much of the file system, the network and other processes as the kernel lets be given up.
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
