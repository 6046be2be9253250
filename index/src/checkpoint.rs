use serde::{Deserialize, Serialize};
use trawl_engine::Checkpoint;

use crate::Error;
use crate::schema::VERSION;

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
