//! Work status codes.

use serde::{Deserialize, Serialize};

use crate::platform::shared::patch::{SyncFailure, TextRule, check_id_of};

const CODE_BYTES: usize = 64;

/// Work status change.
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
        check_id_of("userId", &self.user_id)?;
        TextRule::Line(CODE_BYTES).check("code", self.code.as_deref().unwrap_or_default())?;
        Ok(Self { code: self.code.filter(|code| !code.is_empty()), ..self })
    }
}

/// Result of a batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct WorkStatusOutcome {
    /// Failed items.
    pub failures: Vec<SyncFailure>,
}
