//! The `trawl extract-text` process: reads one content, without access to anything else.

use std::io::{Read, Write, stdin, stdout};

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetError, Scope,
};
use rustix::{
    process::{Resource, Rlimit, Signal, nice, set_parent_process_death_signal, setrlimit},
    thread::set_no_new_privs,
};

use super::{MOST_BYTES, Stop, Text, TextFormat, extract};

/// Address space limit, in bytes.
const ADDRESS_BYTES: u64 = 1 << 30;

/// Niceness, so that searches have priority.
const NICENESS: i32 = 5;

/// Arguments of the process.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// Format of a text whose bytes do not tell it
    #[arg(long, value_enum, default_value_t)]
    read_as: TextFormat,
    /// Only the beginning of the content is sent
    #[arg(long)]
    part: bool,
    /// Maximum bytes of text to write
    #[arg(long, default_value_t = 256 << 10)]
    most_bytes: usize,
    /// Maximum seconds of processor time
    #[arg(long, default_value_t = 10)]
    seconds: u64,
}

/// Reads a content on standard input and writes its text to standard output.
///
/// # Errors
/// The reason for an early stop.
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

/// Confines the process before it reads any content.
///
/// Limits memory and time, ties the process to the server's life, and forbids opening files. Gaining rights is
/// forbidden too. Landlock, where available, adds renaming, deleting and signalling.
fn confine(seconds: u64) -> Result<(), Stop> {
    let failed = |error: rustix::io::Errno| Stop::Lost(error.into());
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(failed)?;
    set_no_new_privs(true).map_err(failed)?;
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
    // A refused niceness is harmless.
    let _nicer = nice(NICENESS);
    stdout().flush()?;
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
