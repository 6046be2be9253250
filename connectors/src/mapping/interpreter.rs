//! The interpreter process: runs filters for the server until its input ends.

use std::collections::HashMap;
use std::io::{self, Read, Write};

use super::message::{InterpreterJob, JobOfMapping, JobOutcome, MappingError};
use super::program::CompiledMapping;

/// Compiled mappings that are kept.
const MAX_PROGRAMS: usize = 64;
/// Larger frames are faults of the protocol.
const MAX_FRAME_BYTES: u32 = 64 << 20;

/// Does jobs of `input` and writes their outcomes to `output`.
///
/// Filters may take all memory and time. The caller confines this process, and `begin_job` limits the processor time of the next job.
///
/// # Errors
/// Broken pipes, and frames that are no jobs. Errors of `begin_job`.
pub fn serve(
    mut input: impl Read,
    mut output: impl Write,
    begin_job: impl Fn() -> io::Result<()>,
) -> io::Result<()> {
    let mut programs = HashMap::new();
    while let Some(frame) = read_frame(&mut input)? {
        let JobOfMapping { mapping, job } = serde_json::from_slice(&frame)?;
        let body = match job {
            InterpreterJob::Read { .. } => read_frame(&mut input)?.unwrap_or_default(),
            InterpreterJob::Compile | InterpreterJob::Build(_) => Vec::new(),
        };
        begin_job()?;
        let key = serde_json::to_string(&mapping)?;
        if programs.len() >= MAX_PROGRAMS && !programs.contains_key(&key) {
            programs.clear();
        }
        let program = programs.entry(key).or_insert_with(|| CompiledMapping::compile(&mapping));
        let outcome = do_job(program, job, &body).unwrap_or_else(JobOutcome::Failed);
        write_frame(&mut output, &serde_json::to_vec(&outcome)?)?;
    }
    Ok(())
}

fn do_job(
    program: &Result<CompiledMapping, MappingError>,
    job: InterpreterJob,
    body: &[u8],
) -> Result<JobOutcome, MappingError> {
    let program = program.as_ref().map_err(Clone::clone)?;
    Ok(match job {
        InterpreterJob::Compile => JobOutcome::Compiled,
        InterpreterJob::Build(variables) => JobOutcome::Built(program.build(&variables)?),
        InterpreterJob::Read { variables, received } => {
            JobOutcome::Read(program.read(&variables, received, body)?)
        }
    })
}

/// `None` at the end of the input.
fn read_frame(input: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 4];
    match input.read_exact(&mut length) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    let length = u32::from_le_bytes(length);
    if length > MAX_FRAME_BYTES {
        return Err(io::Error::other("a frame is too long"));
    }
    let mut frame = vec![0; length as usize];
    input.read_exact(&mut frame)?;
    Ok(Some(frame))
}

fn write_frame(output: &mut impl Write, frame: &[u8]) -> io::Result<()> {
    let length = u32::try_from(frame.len()).map_err(|_| io::Error::other("a frame is too long"))?;
    output.write_all(&length.to_le_bytes())?;
    output.write_all(frame)?;
    output.flush()
}
