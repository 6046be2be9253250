//! Exit codes and the message of a failed command.

use std::{fmt::Display, process::ExitCode};

use serde::Serialize;

/// Exit code for wrong usage.
///
/// 0 is success, 1 means that the work failed or fell short.
pub(super) const WRONG_USAGE: u8 = 2;

pub(super) fn fail(code: u8, reason: impl Display) -> ExitCode {
    eprintln!("error: {reason}");
    ExitCode::from(code)
}

/// Prints a report, as JSON if asked; success if it is good.
pub(super) fn show<R: Serialize>(
    report: Result<R, String>,
    json: bool,
    is_good: impl Fn(&R) -> bool,
    print: impl Fn(&R),
) -> ExitCode {
    let report = match report {
        Ok(report) => report,
        Err(reason) => return fail(1, reason),
    };
    if json {
        match serde_json::to_string(&report) {
            Ok(text) => println!("{text}"),
            Err(error) => return fail(1, error),
        }
    } else {
        print(&report);
    }
    if is_good(&report) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
