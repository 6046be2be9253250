//! Sources that are not asked.

use crate::source::{FailureKind, PagedSource, Position, SourceFailure, SourcePage, SourceRequest};

/// Disabled, or with invalid settings.
pub struct InactiveSource {
    id: String,
    name: String,
    failure: Option<String>,
}

impl InactiveSource {
    /// Disabled.
    pub fn disabled(id: String, name: String) -> Self {
        Self { id, name, failure: None }
    }

    /// Always fails.
    pub fn failing(id: String, name: String, message: String) -> Self {
        Self { id, name, failure: Some(message) }
    }
}

#[async_trait::async_trait]
impl PagedSource for InactiveSource {
    fn id(&self) -> &str {
        &self.id
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn is_disabled(&self) -> bool {
        self.failure.is_none()
    }

    async fn page(
        &self,
        _request: &SourceRequest,
        _position: &Position,
    ) -> Result<SourcePage, SourceFailure> {
        Err(match &self.failure {
            Some(message) => SourceFailure::new(FailureKind::Error, message.as_str()),
            None => SourceFailure::disabled(),
        })
    }
}
