//! Answers that are no pages.

use std::time::Duration;

use reqwest::{Response, StatusCode};

use super::Question;
use crate::error::{SourceError, names_rate_limit, refuses_the_call};
use crate::transport::{SOURCE, read_body};

/// Pause of a source that asks for fewer requests, and tells no time.
const UNSTATED_PAUSE: Duration = Duration::from_mins(1);
const MAX_REFUSAL_BYTES: usize = 16 * 1024;

pub(super) async fn read_refusal(
    response: Response,
    question: &Question<'_>,
    is_personal: bool,
    loses_query: bool,
) -> SourceError {
    let status = response.status();
    let mut error = match SOURCE.describe_status(status, response.headers()) {
        SourceError::Failed(text) if loses_query => {
            SourceError::Failed(format!("{text}, behind a redirect that loses the query"))
        }
        error => error,
    };
    if status == StatusCode::FORBIDDEN
        && matches!(error, SourceError::Unauthorized(_))
        && says_rate_limit(response).await
    {
        error = SourceError::Unavailable {
            reason: "the source asked for fewer requests (HTTP 403)".to_owned(),
            retry_after: Some(UNSTATED_PAUSE),
        };
    }
    match error {
        SourceError::Failed(text)
            if question.cursor.is_some() && refuses_the_call(status.as_u16().into()) =>
        {
            SourceError::CursorRefused(text)
        }
        // Systems differ in the status for a person whom they do not know.
        SourceError::Unauthorized(_) | SourceError::Failed(_) if is_personal && status.is_client_error() => {
            let text = format!("the source refused this person with HTTP {}", status.as_u16());
            SourceError::PersonRefused(text)
        }
        error => error,
    }
}

/// Whether a 403 is about the number of requests, which some systems say in words alone.
async fn says_rate_limit(response: Response) -> bool {
    let body = read_body(response, MAX_REFUSAL_BYTES).await.unwrap_or_default();
    names_rate_limit(&body)
}
