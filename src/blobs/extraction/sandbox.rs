//! The `trawl extract-text` process: reads one content, without access to anything else.

use std::io::{Read, Write, stderr, stdin, stdout};

use super::{MAX_BYTES, Stop, TextFormat, TextWriter, extract};
use crate::confined::limits::{ProcessLimits, ReaderOptions, confine};

/// Begins a line of standard error that tells why the text is not whole.
pub(super) const NOTE: &str = "note: ";

/// Arguments of the process.
#[derive(Clone, Debug, clap::Args)]
pub struct SandboxOptions {
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
    #[command(flatten)]
    reader: ReaderOptions,
}

/// Reads a content on standard input and writes its text to standard output.
///
/// Notes of what the text lacks go to standard error.
///
/// # Errors
/// The sandbox is refused, or a stream is lost.
pub fn run(options: &SandboxOptions) -> Result<(), Stop> {
    let limits = ProcessLimits {
        memory_bytes: options.reader.memory_bytes(),
        processor_seconds: Some(options.seconds),
        in_background: true,
        readable: Vec::new(),
    };
    confine(&limits)?;
    let mut content = Vec::new();
    stdin().lock().take(MAX_BYTES).read_to_end(&mut content)?;
    let mut text = TextWriter::new(stdout().lock(), options.most_bytes);
    let extracted = extract(&content, options.read_as, !options.part, &mut text);
    text.flush()?;
    match extracted {
        Ok(()) => {}
        Err(Stop::Lost(error)) => return Err(Stop::Lost(error)),
        Err(stop) => text.note(stop.to_string()),
    }
    for note in text.notes() {
        writeln!(stderr(), "{NOTE}{note}")?;
    }
    Ok(())
}
