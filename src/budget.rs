//! Memory shared by concurrent requests: bodies, and large answers until they are sent.

use std::{
    future::Future,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::{
    body::{Body, Bytes, HttpBody, to_bytes},
    response::{IntoResponse, Response},
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::Error;

/// Largest answer that is not counted: each connection buffers as much.
const SMALL_ANSWER_BYTES: u64 = 64 << 10;

const RETRY_AFTER: Duration = Duration::from_secs(1);

tokio::task_local! {
    static CURRENT: BodyReservation;
}

/// A number of bytes; clones share it.
#[derive(Clone, Debug)]
pub struct ByteBudget {
    bytes: Arc<Semaphore>,
    total: usize,
}

/// Fewer bytes are free than asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BudgetExhausted;

impl ByteBudget {
    /// All bytes are free.
    pub fn new(total: usize) -> Self {
        let total = total.clamp(1, Semaphore::MAX_PERMITS);
        Self { bytes: Arc::new(Semaphore::new(total)), total }
    }

    /// Bytes that are free now.
    pub fn available(&self) -> usize {
        self.bytes.available_permits()
    }

    fn reserve(&self, bytes: usize) -> Result<OwnedSemaphorePermit, BudgetExhausted> {
        let bytes = u32::try_from(bytes).map_err(|_| BudgetExhausted)?;
        Arc::clone(&self.bytes).try_acquire_many_owned(bytes).map_err(|_| BudgetExhausted)
    }

    /// Buffers a large answer and holds its bytes until the connection drops them.
    ///
    /// 503 where the budget is used up, except for the outcome of a write. An answer larger than the budget takes all of
    /// it. Streams have no exact size and are not counted.
    pub async fn hold_answer(&self, answer: Response, has_written: bool) -> Response {
        let size = answer.body().size_hint().exact().filter(|size| *size > SMALL_ANSWER_BYTES);
        let Some(size) = size.map(|size| usize::try_from(size).unwrap_or(usize::MAX)) else {
            return answer;
        };
        let Ok(permit) = self.reserve(size.min(self.total).min(u32::MAX as usize)) else {
            if has_written {
                return answer;
            }
            let message = "pending answers use all memory for answers; ask for less or retry";
            return Error::unavailable(message, RETRY_AFTER).into_response();
        };
        let (parts, body) = answer.into_parts();
        match to_bytes(body, usize::MAX).await {
            Ok(bytes) => {
                let bytes = Bytes::from_owner(ReservedBytes { bytes, _permit: permit });
                Response::from_parts(parts, Body::from(bytes))
            }
            Err(error) => Error::internal(error).into_response(),
        }
    }
}

struct ReservedBytes {
    bytes: Bytes,
    _permit: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for ReservedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Bytes of one request body, released by the last clone.
///
/// A queued write holds a clone: it may outlive its request.
#[derive(Clone, Debug)]
pub struct BodyReservation {
    budget: ByteBudget,
    permit: Arc<Mutex<Option<OwnedSemaphorePermit>>>,
}

impl BodyReservation {
    /// An empty reservation.
    pub fn new(budget: &ByteBudget) -> Self {
        Self { budget: budget.clone(), permit: Arc::default() }
    }

    /// Reserves `bytes` more.
    ///
    /// # Errors
    /// The budget is used up; earlier bytes stay reserved.
    pub fn grow(&self, bytes: usize) -> Result<(), BudgetExhausted> {
        let more = self.budget.reserve(bytes)?;
        let mut permit = self.permit.lock().unwrap_or_else(PoisonError::into_inner);
        match permit.as_mut() {
            Some(permit) => permit.merge(more),
            None => *permit = Some(more),
        }
        Ok(())
    }

    /// All bytes of the budget.
    pub fn total(&self) -> usize {
        self.budget.total
    }

    /// Releases all bytes.
    pub fn release(&self) {
        self.permit.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Makes this the current reservation of a request.
    pub async fn scope<T>(self, request: impl Future<Output = T>) -> T {
        CURRENT.scope(self, request).await
    }

    /// None outside of a request with a body.
    pub fn current() -> Option<Self> {
        CURRENT.try_with(Clone::clone).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_share_a_budget_and_the_last_clone_releases_it() {
        let budget = ByteBudget::new(10);
        let (first, second) = (BodyReservation::new(&budget), BodyReservation::new(&budget));
        assert_eq!(
            (first.grow(4), first.grow(3), second.grow(4), second.grow(3)),
            (Ok(()), Ok(()), Err(BudgetExhausted), Ok(()))
        );
        let clone = first.clone();
        drop(first);
        assert_eq!(second.grow(1), Err(BudgetExhausted));
        drop(clone);
        assert_eq!((second.grow(7), second.grow(1)), (Ok(()), Err(BudgetExhausted)));
        second.release();
        assert_eq!(budget.available(), 10);
    }

    #[tokio::test]
    async fn current_reservation_is_known_inside_its_scope_only() {
        assert!(BodyReservation::current().is_none());
        let reservation = BodyReservation::new(&ByteBudget::new(1));
        reservation.grow(1).unwrap();
        let clone = reservation.scope(async { BodyReservation::current() }).await.unwrap();
        assert_eq!((clone.grow(1), BodyReservation::current().is_none()), (Err(BudgetExhausted), true));
    }

    fn answer(bytes: usize) -> Response {
        vec![b'x'; bytes].into_response()
    }

    #[tokio::test]
    async fn large_answers_share_a_budget_until_they_are_sent() {
        let budget = ByteBudget::new(256 << 10);
        let first = budget.hold_answer(answer(200 << 10), false).await;
        assert_eq!(first.body().size_hint().exact(), Some(200 << 10));
        let refused = budget.hold_answer(answer(65 << 10), false).await;
        assert_eq!(refused.status(), 503);
        assert_eq!(refused.headers()["retry-after"], "1");
        assert_eq!(budget.hold_answer(answer(65 << 10), true).await.status(), 200, "outcome of a write");
        assert_eq!(budget.hold_answer(answer(64 << 10), false).await.status(), 200, "small");
        // Bytes count until dropped, also after the body has ended.
        let bytes = to_bytes(first.into_body(), usize::MAX).await.unwrap();
        assert_eq!(budget.hold_answer(answer(65 << 10), false).await.status(), 503);
        drop(bytes);
        assert_eq!(budget.hold_answer(answer(65 << 10), false).await.status(), 200);
        let large = budget.hold_answer(answer(1 << 20), false).await;
        assert_eq!((large.status().as_u16(), budget.available()), (200, 0));
    }
}
