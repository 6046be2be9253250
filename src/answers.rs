//! Answers that are not sent yet: the large ones have so many bytes together and no more (`limits.held_answer_bytes`). Else
//! whoever asks for large pages and does not take them would hold memory for as long as his connections last.

use std::{sync::Arc, time::Duration};

use axum::{
    body::{Body, Bytes, HttpBody, to_bytes},
    response::{IntoResponse, Response},
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::Error;

/// Bytes up to which an answer takes no room: a connection holds as much of its own.
const SMALL: u64 = 64 << 10;

/// When to come back if there is no room for an answer.
const FULL_FOR: Duration = Duration::from_secs(1);

/// The room for all large answers.
#[derive(Debug)]
pub struct Answers {
    room: Arc<Semaphore>,
    kibibytes: u32,
}

/// The bytes of an answer with their room, which is given back when the connection has no more use for them.
struct Kept {
    bytes: Bytes,
    _room: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for Kept {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Answers {
    /// Room for so many bytes.
    pub fn new(bytes: usize) -> Self {
        let kibibytes = u32::try_from(bytes.div_ceil(1 << 10)).unwrap_or(u32::MAX >> 3).max(1);
        Self { room: Arc::new(Semaphore::new(kibibytes as usize)), kibibytes }
    }

    /// The answer with its room. Where there is none it is 503, unless it tells what a write has done: that is sent all the same.
    /// One that is larger than all the room has it alone. What is sent as it is made has bounds of its own.
    pub async fn keep(&self, response: Response, has_written: bool) -> Response {
        let Some(size) = response.body().size_hint().exact().filter(|size| *size > SMALL) else {
            return response;
        };
        let kibibytes = u32::try_from(size.div_ceil(1 << 10)).unwrap_or(u32::MAX).min(self.kibibytes);
        let Ok(room) = Arc::clone(&self.room).try_acquire_many_owned(kibibytes) else {
            if has_written {
                return response;
            }
            let refusal = "answers that are not taken yet hold all the room; ask for less, or again shortly";
            return Error::unavailable(refusal, FULL_FOR).into_response();
        };
        let (parts, body) = response.into_parts();
        match to_bytes(body, usize::MAX).await {
            Ok(bytes) => {
                Response::from_parts(parts, Body::from(Bytes::from_owner(Kept { bytes, _room: room })))
            }
            Err(error) => Error::internal(error).into_response(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(bytes: usize) -> Response {
        vec![b'x'; bytes].into_response()
    }

    #[tokio::test]
    async fn large_answers_share_the_room_until_they_are_sent() {
        let answers = Answers::new(256 << 10);
        let first = answers.keep(answer(200 << 10), false).await;
        assert_eq!(first.body().size_hint().exact(), Some(200 << 10));
        let refused = answers.keep(answer(65 << 10), false).await;
        assert_eq!(refused.status(), 503);
        assert_eq!(refused.headers()["retry-after"], "1");
        assert_eq!(answers.keep(answer(65 << 10), true).await.status(), 200, "what is done is told");
        assert_eq!(answers.keep(answer(64 << 10), false).await.status(), 200, "a small one takes no room");
        // The body is done with when its bytes are handed over; they are held until they are sent.
        let bytes = to_bytes(first.into_body(), usize::MAX).await.unwrap();
        assert_eq!(answers.keep(answer(65 << 10), false).await.status(), 503);
        drop(bytes);
        assert_eq!(answers.keep(answer(65 << 10), false).await.status(), 200);
        // One that is larger than the room takes all of it.
        let large = answers.keep(answer(1 << 20), false).await;
        assert_eq!(
            (large.status().as_u16(), answers.keep(answer(65 << 10), false).await.status().as_u16()),
            (200, 503)
        );
    }
}
