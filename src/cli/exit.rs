//! Exit codes and the message of a failed command.

use std::{fmt::Display, process::ExitCode};

/// Exit code for wrong usage; 0 is success, 1 that the work failed or fell short.
pub(super) const WRONG_USAGE: u8 = 2;

pub(super) fn fail(code: u8, reason: impl Display) -> ExitCode {
    eprintln!("error: {reason}");
    ExitCode::from(code)
}
