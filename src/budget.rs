//! Memory that tenants share: bodies, and large answers until they are sent.

use std::{
    collections::HashMap,
    future::Future,
    mem,
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use axum::{
    body::{Body, Bytes, HttpBody, to_bytes},
    response::{IntoResponse, Response},
};

use crate::error::Error;

/// Largest answer that is not counted: each connection buffers as much.
const SMALL_ANSWER_BYTES: u64 = 64 << 10;

const RETRY_AFTER: Duration = Duration::from_secs(1);

tokio::task_local! {
    static CURRENT: BodyReservation;
}

/// A party that shares the memory with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Holder {
    /// A tenant.
    Tenant(i64),
    /// Callers without a tenant, by their network: an IPv4 /24 or an IPv6 /48.
    Network(IpAddr),
}

/// Bytes of which each holder has at most as many as stay free.
///
/// The first holder gets a half, the next one a quarter. Once they release and come again, `n` holders get an `n + 1`th
/// each (Choudhury and Hahne, Dynamic queue length thresholds for shared-memory packet switches, 1998). Clones share the
/// bytes.
#[derive(Clone, Debug)]
pub struct ByteBudget {
    total: usize,
    shares: Arc<Mutex<Shares>>,
}

#[derive(Debug)]
struct Shares {
    free: usize,
    held: HashMap<Holder, usize>,
}

impl Shares {
    fn take(&mut self, holder: Holder, bytes: usize) -> Result<(), BudgetExhausted> {
        let held = self.held.get(&holder).copied().unwrap_or(0);
        let free = self.free.checked_sub(bytes).ok_or(BudgetExhausted::Busy)?;
        if held + bytes > free {
            return Err(BudgetExhausted::Busy);
        }
        self.free = free;
        self.held.insert(holder, held + bytes);
        Ok(())
    }
}

/// Why no more bytes are reserved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BudgetExhausted {
    /// The holder's share has too few free bytes now.
    Busy,
    /// One reservation would take more than a share ever has.
    TooLarge,
}

impl ByteBudget {
    /// All bytes are free.
    pub fn new(total: usize) -> Self {
        let shares = Shares { free: total, held: HashMap::new() };
        Self { total, shares: Arc::new(Mutex::new(shares)) }
    }

    /// Bytes that are free now.
    pub fn available(&self) -> usize {
        self.shares().free
    }

    /// The most bytes of one holder.
    pub fn max_share(&self) -> usize {
        self.total / 2
    }

    fn shares(&self) -> MutexGuard<'_, Shares> {
        self.shares.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reserve(&self, holder: Holder, bytes: usize) -> Result<BudgetReservation, BudgetExhausted> {
        self.shares().take(holder, bytes)?;
        Ok(BudgetReservation { budget: self.clone(), holder, bytes })
    }

    /// Reserves `bytes`, or a whole share where that is less and the holder has none yet.
    fn reserve_answer(&self, holder: Holder, bytes: usize) -> Result<BudgetReservation, BudgetExhausted> {
        let mut shares = self.shares();
        let bytes = if shares.held.contains_key(&holder) { bytes } else { bytes.min(shares.free / 2) };
        shares.take(holder, bytes)?;
        Ok(BudgetReservation { budget: self.clone(), holder, bytes })
    }

    /// Buffers a large answer and holds its bytes until the connection drops them.
    ///
    /// 503 where the holder's share is used up, except for the outcome of a write. An answer larger than the whole share
    /// takes all of it. Streams have no exact size and are not counted.
    pub async fn hold_answer(&self, answer: Response, holder: Holder, has_written: bool) -> Response {
        let size = answer.body().size_hint().exact().filter(|size| *size > SMALL_ANSWER_BYTES);
        let Some(size) = size.map(|size| usize::try_from(size).unwrap_or(usize::MAX)) else {
            return answer;
        };
        let Ok(reservation) = self.reserve_answer(holder, size) else {
            if has_written {
                return answer;
            }
            let message =
                "unread answers use all memory that your tenant may have for them; ask for less or retry";
            return Error::unavailable(message, RETRY_AFTER).into_response();
        };
        let (parts, body) = answer.into_parts();
        match to_bytes(body, usize::MAX).await {
            Ok(bytes) => {
                let bytes = Bytes::from_owner(ReservedBytes { bytes, _reservation: reservation });
                Response::from_parts(parts, Body::from(bytes))
            }
            Err(error) => Error::internal(error).into_response(),
        }
    }
}

/// Bytes that a holder gives back when this is dropped.
#[derive(Debug)]
struct BudgetReservation {
    budget: ByteBudget,
    holder: Holder,
    bytes: usize,
}

impl Drop for BudgetReservation {
    fn drop(&mut self) {
        let mut shares = self.budget.shares();
        shares.free += self.bytes;
        if let Some(held) = shares.held.get_mut(&self.holder) {
            *held -= self.bytes;
            if *held == 0 {
                shares.held.remove(&self.holder);
            }
        }
    }
}

struct ReservedBytes {
    bytes: Bytes,
    _reservation: BudgetReservation,
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
    holder: Holder,
    reserved: Arc<Mutex<Option<BudgetReservation>>>,
}

impl BodyReservation {
    /// An empty reservation.
    pub fn new(budget: &ByteBudget, holder: Holder) -> Self {
        Self { budget: budget.clone(), holder, reserved: Arc::default() }
    }

    /// Reserves `bytes` more.
    ///
    /// # Errors
    /// Earlier bytes stay reserved.
    pub fn grow(&self, bytes: usize) -> Result<(), BudgetExhausted> {
        let mut reserved = self.reserved.lock().unwrap_or_else(PoisonError::into_inner);
        if reserved.as_ref().map_or(0, |reserved| reserved.bytes) + bytes > self.budget.max_share() {
            return Err(BudgetExhausted::TooLarge);
        }
        let mut more = self.budget.reserve(self.holder, bytes)?;
        match reserved.as_mut() {
            Some(reserved) => reserved.bytes += mem::take(&mut more.bytes),
            None => *reserved = Some(more),
        }
        Ok(())
    }

    /// The most bytes of one holder.
    pub fn max_share(&self) -> usize {
        self.budget.max_share()
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

    use BudgetExhausted::{Busy, TooLarge};

    const ACME: Holder = Holder::Tenant(1);
    const OTHER: Holder = Holder::Tenant(2);

    #[test]
    fn holder_gets_as_much_as_it_leaves_free() {
        let budget = ByteBudget::new(12);
        let [first, second] = [ACME, ACME].map(|holder| BodyReservation::new(&budget, holder));
        assert_eq!((first.grow(4), second.grow(3), second.grow(2)), (Ok(()), Err(Busy), Ok(())));
        let stranger = Holder::Network("192.0.2.0".parse().unwrap());
        let others = [OTHER, stranger].map(|holder| BodyReservation::new(&budget, holder));
        assert_eq!(others.each_ref().map(|other| other.grow(2)), [Ok(()), Ok(())]);
        assert_eq!(others.each_ref().map(|other| other.grow(1)), [Err(Busy); 2]);
        assert_eq!(budget.available(), 2);
        drop(others);
        drop(second);
        assert_eq!((budget.available(), first.grow(2)), (8, Ok(())));
        drop(first);
        assert!(budget.shares().held.is_empty());
    }

    #[test]
    fn last_clone_of_a_reservation_releases_it() {
        let budget = ByteBudget::new(12);
        let reservation = BodyReservation::new(&budget, ACME);
        assert_eq!(reservation.grow(1), Ok(()));
        assert_eq!((reservation.grow(6), reservation.grow(5)), (Err(TooLarge), Ok(())));
        let clone = reservation.clone();
        drop(reservation);
        assert_eq!(budget.available(), 6);
        drop(clone);
        assert_eq!(budget.available(), 12);
    }

    #[tokio::test]
    async fn current_reservation_is_known_inside_its_scope_only() {
        assert!(BodyReservation::current().is_none());
        let reservation = BodyReservation::new(&ByteBudget::new(2), ACME);
        reservation.grow(1).unwrap();
        let clone = reservation.scope(async { BodyReservation::current() }).await.unwrap();
        assert_eq!((clone.grow(1), BodyReservation::current().is_none()), (Err(TooLarge), true));
    }

    fn answer(bytes: usize) -> Response {
        vec![b'x'; bytes].into_response()
    }

    #[tokio::test]
    async fn large_answers_share_a_budget_until_they_are_sent() {
        let budget = ByteBudget::new(512 << 10);
        let hold = async |bytes, has_written| budget.hold_answer(answer(bytes), ACME, has_written).await;
        let first = hold(200 << 10, false).await;
        assert_eq!(first.body().size_hint().exact(), Some(200 << 10));
        let refused = hold(65 << 10, false).await;
        assert_eq!(refused.status(), 503);
        assert_eq!(refused.headers()["retry-after"], "1");
        assert_eq!(budget.hold_answer(answer(65 << 10), OTHER, false).await.status(), 200, "of another");
        assert_eq!(hold(65 << 10, true).await.status(), 200, "outcome of a write");
        assert_eq!(hold(64 << 10, false).await.status(), 200, "small");
        // Bytes count until dropped, also after the body has ended.
        let bytes = to_bytes(first.into_body(), usize::MAX).await.unwrap();
        assert_eq!(hold(65 << 10, false).await.status(), 503);
        drop(bytes);
        assert_eq!(hold(65 << 10, false).await.status(), 200);
        let small = budget.hold_answer(answer(112 << 10), OTHER, false).await;
        let large = hold(1 << 20, false).await;
        assert_eq!((large.status().as_u16(), budget.available()), (200, 200 << 10));
        drop(small);
    }
}
