use serde::{Deserialize, Serialize};

use crate::Error;
use crate::schema::VERSION;

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

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Payload {
    version: u32,
    #[serde(flatten)]
    pub(crate) checkpoint: Checkpoint,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) note: Option<String>,
}

impl Payload {
    pub(crate) fn new(checkpoint: Checkpoint, note: Option<String>) -> Self {
        Self { version: VERSION, checkpoint, note }
    }

    pub(crate) fn read(index: &tantivy::Index) -> Result<Option<Self>, Error> {
        let meta = index.load_metas()?;
        let Some(payload) = meta.payload else {
            if meta.segments.is_empty() {
                return Ok(None);
            }
            return Err(Error::Unusable("its last commit has no checkpoint".to_owned()));
        };
        let payload: Self = serde_json::from_str(&payload)
            .map_err(|error| Error::Unusable(format!("its checkpoint is malformed: {error}")))?;
        if payload.version == VERSION {
            Ok(Some(payload))
        } else {
            Err(Error::Unusable(format!("it is of version {}, this is version {VERSION}", payload.version)))
        }
    }
}
