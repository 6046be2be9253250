//! A registered source that is not asked.

use crate::source::{FailureKind, Position, Source, SourceFailure, SourcePage, SourceRequest};

/// A source that is disabled or has invalid settings.
pub struct InactiveSource {
    id: String,
    name: String,
    /// `None` if it is disabled.
    failure: Option<String>,
}

impl InactiveSource {
    /// A disabled source.
    pub fn disabled(id: String, name: String) -> Self {
        Self { id, name, failure: None }
    }

    /// A source that always fails.
    pub fn failing(id: String, name: String, message: String) -> Self {
        Self { id, name, failure: Some(message) }
    }
}

#[async_trait::async_trait]
impl Source for InactiveSource {
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
