use serde::{Deserialize, Serialize};

/// Position in the change log that a commit stands for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Positions of other stores mean nothing.
    pub store: String,
    /// Last indexed entry of the change log.
    pub position: i64,
    /// False during a rebuild, so that an interrupted one restarts.
    pub complete: bool,
}
