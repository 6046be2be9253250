//! What a work status must be.

use serde::{Deserialize, Serialize};

use crate::platform::common::{SyncFailure, check_id};

/// Bytes of a code.
const CODE_BYTES: usize = 64;

/// A person's new work status (the document's "user work status item").
#[derive(Clone, Debug, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkStatus {
    /// `01` means on leave; absent, null or empty clears the work status.
    pub code: Option<String>,
    /// User id on the synchronising party's side.
    pub user_id: String,
}

impl WorkStatus {
    /// Checks both fields; what clears is `None` afterwards.
    ///
    /// # Errors
    /// A message that names the field.
    pub fn checked(self) -> Result<Self, String> {
        check_id(&self.user_id).map_err(|reason| reason.replacen("id:", "userId:", 1))?;
        let code = self.code.filter(|code| !code.is_empty());
        if code.as_ref().is_some_and(|code| code.len() > CODE_BYTES || code.chars().any(char::is_control)) {
            return Err(format!(
                "code: must be at most {CODE_BYTES} bytes of UTF-8 without control characters"
            ));
        }
        Ok(Self { code, ..self })
    }
}

/// What became of a batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct WorkStatusOutcome {
    /// The items that failed, and why.
    pub failures: Vec<SyncFailure>,
}
