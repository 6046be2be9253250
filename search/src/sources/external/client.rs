//! Bottom layer: the client.

use tokio::sync::OnceCell;
use tracing::Span;
use trawl_connectors::{
    AddressRules, DeclaredOrder, Question, SourceClient, SourceError, SourceSettings, TraceContext,
};

use super::raw_page::{RawPage, SourcePageKey};
use crate::source::{FailureKind, SourceFailure};

/// Trace for the source. It takes the span, which is exported once nobody holds it.
pub type PropagateTrace = fn(Span, Option<TraceContext>) -> Option<TraceContext>;

/// Settings of a client.
#[derive(Clone, Debug)]
pub struct ClientSettings {
    /// Connection.
    pub source: SourceSettings,
    /// Source's order.
    pub order: DeclaredOrder,
    /// `limit` of all calls, constant so that cursors keep their meaning.
    pub page_size: usize,
    /// Permitted addresses.
    pub addresses: AddressRules,
}

/// Set up at the first call: it takes milliseconds, and tenants may have a thousand sources.
pub(super) struct LazyClient {
    settings: ClientSettings,
    client: OnceCell<SourceClient>,
}

impl LazyClient {
    pub(super) fn new(settings: ClientSettings) -> Self {
        Self { settings, client: OnceCell::new() }
    }

    pub(super) async fn connected(&self) -> Result<&SourceClient, SourceFailure> {
        self.client.get_or_try_init(|| self.connect()).await
    }

    async fn connect(&self) -> Result<SourceClient, SourceFailure> {
        let ClientSettings { source, addresses, .. } = self.settings.clone();
        let made = tokio::task::spawn_blocking(move || SourceClient::new(source, &addresses)).await;
        let failed = |reason: String| {
            SourceFailure::new(FailureKind::Error, format!("its settings are not usable: {reason}"))
        };
        made.map_err(|_panic| failed("its client could not be created".to_owned()))?
            .map_err(|error| failed(error.to_string()))
    }

    pub(super) fn has_room(&self) -> bool {
        self.client.get().is_none_or(SourceClient::has_room)
    }

    pub(super) async fn fetch(
        &self,
        client: &SourceClient,
        key: &SourcePageKey,
        trace: Option<&TraceContext>,
    ) -> Result<RawPage, SourceFailure> {
        let ClientSettings { order, page_size, .. } = self.settings;
        let cursor = key.cursor.as_deref();
        let person = key.person.as_deref();
        let question = Question { keyword: &key.keyword, limit: page_size, cursor, person };
        let answer = client.search_within(&question, trace).await.map_err(|error| into_failure(&error))?;
        RawPage::read(answer, order, cursor)
    }
}

fn into_failure(error: &SourceError) -> SourceFailure {
    let kind = match error {
        SourceError::Timeout => FailureKind::Timeout,
        SourceError::Unavailable { .. } => FailureKind::Unavailable,
        SourceError::Unauthorized(_) | SourceError::PersonRefused(_) => FailureKind::Unauthorized,
        SourceError::Invalid(_) => FailureKind::Invalid,
        SourceError::Forbidden(_) | SourceError::Failed(_) | SourceError::CursorRefused(_) => {
            FailureKind::Error
        }
    };
    let retry_after = match error {
        SourceError::Unavailable { retry_after, .. } => *retry_after,
        _ => None,
    };
    SourceFailure {
        retry_after,
        is_person_refused: matches!(error, SourceError::PersonRefused(_)),
        is_cursor_fault: matches!(error, SourceError::CursorRefused(_)),
        ..SourceFailure::new(kind, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forbidden_address_is_an_error_with_its_reason() {
        let failure =
            into_failure(&SourceError::Forbidden("the address of the source leads astray".to_owned()));
        assert_eq!(failure, SourceFailure::new(FailureKind::Error, "the address of the source leads astray"));
    }
}
