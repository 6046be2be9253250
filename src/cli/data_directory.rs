//! Options of commands on a server's data directory.

use std::{path::PathBuf, process::ExitCode};

use super::exit::{WRONG_USAGE, fail};
use crate::config::{Config, Flags};

/// Settings and data directory.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct DataDirectory {
    /// Settings file
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Data directory of the server
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

impl DataDirectory {
    /// # Errors
    /// The exit code, after printing the reason.
    pub(super) fn load_config(self) -> Result<Config, ExitCode> {
        let flags = Flags { data: self.data, listen: None };
        let config =
            Config::load(self.config.as_deref(), &flags).map_err(|reason| fail(WRONG_USAGE, reason))?;
        config.check_shared_store().map_err(|reason| fail(1, reason))?;
        Ok(config)
    }
}
