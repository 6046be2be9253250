//! Which server's data directory a command works on, beside the server or without it.

use std::{path::PathBuf, process::ExitCode};

use super::{WRONG_USAGE, fail};
use crate::config::{Config, Flags};

/// Where a server's data is.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Place {
    /// Settings file
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Data directory of the server
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

impl Place {
    /// The settings of that server.
    ///
    /// # Errors
    /// The exit code, once it was said what is wrong with them.
    pub(super) fn settings(self) -> Result<Config, ExitCode> {
        let flags = Flags { data: self.data, listen: None };
        Config::load(self.config.as_deref(), flags).map_err(|reason| fail(WRONG_USAGE, reason))
    }
}
