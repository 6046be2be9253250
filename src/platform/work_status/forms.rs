//! Work status codes.

use serde::{Deserialize, Serialize};

use crate::platform::shared::patch::{SyncFailure, check_id};

const CODE_BYTES: usize = 64;

/// Work status change (specification, "user work status item").
#[derive(Clone, Debug, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkStatus {
    /// `01`: on leave; absent, null or empty clears it.
    pub code: Option<String>,
    /// Source user id.
    pub user_id: String,
}

impl WorkStatus {
    /// Checks both fields; an empty code becomes `None`.
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

/// Result of a batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct WorkStatusOutcome {
    /// Failed items.
    pub failures: Vec<SyncFailure>,
}
