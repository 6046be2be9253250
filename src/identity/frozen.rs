//! Refusal of calls of and on a frozen tenant (book: how-to/operate.md).

use crate::error::{Error, Result};

/// Its message.
pub const FROZEN: &str = "tenant is frozen";

/// Fails with 403 for a frozen tenant.
pub fn refuse_frozen(is_frozen: bool) -> Result<()> {
    if is_frozen { Err(Error::forbidden(FROZEN)) } else { Ok(()) }
}
