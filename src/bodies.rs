//! Request bodies held in memory: together they have so many bytes and no more (decisions 9.9).
//!
//! What a body holds is counted as it arrives and given back when its request is answered; a write that outlives its
//! request, because its caller went away while it waited for the writer, holds it until then.

use std::{
    future::Future,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

tokio::task_local! {
    static CURRENT: Held;
}

/// The room for all bodies.
#[derive(Debug)]
pub struct Bodies {
    room: Arc<Semaphore>,
}

/// What the body of one request holds. Clones share it; the last one gives it back.
#[derive(Clone, Debug)]
pub struct Held {
    room: Arc<Semaphore>,
    bytes: Arc<Mutex<Option<OwnedSemaphorePermit>>>,
}

/// There is no room for more at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRoom;

impl Bodies {
    /// Room for so many bytes.
    pub fn new(bytes: usize) -> Self {
        Self { room: Arc::new(Semaphore::new(bytes.min(Semaphore::MAX_PERMITS))) }
    }

    /// The bytes that there is room for at the moment.
    pub fn left(&self) -> usize {
        self.room.available_permits()
    }

    /// A body that holds nothing yet.
    pub fn begin(&self) -> Held {
        Held { room: Arc::clone(&self.room), bytes: Arc::default() }
    }
}

impl Held {
    /// Takes room for this many bytes more.
    ///
    /// # Errors
    /// There is none; what was taken before stays.
    pub fn take(&self, bytes: usize) -> Result<(), NoRoom> {
        let bytes = u32::try_from(bytes).map_err(|_| NoRoom)?;
        let taken = Arc::clone(&self.room).try_acquire_many_owned(bytes).map_err(|_| NoRoom)?;
        let mut held = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        match held.as_mut() {
            Some(held) => held.merge(taken),
            None => *held = Some(taken),
        }
        Ok(())
    }

    /// Gives everything back that was taken.
    pub fn give_back(&self) {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Runs what answers the request of this body.
    pub async fn during<T>(self, request: impl Future<Output = T>) -> T {
        CURRENT.scope(self, request).await
    }

    /// What the body of the request holds that is being answered here, if it has one.
    pub fn current() -> Option<Self> {
        CURRENT.try_with(Clone::clone).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_bodies_share_the_room_and_the_last_clone_gives_it_back() {
        let bodies = Bodies::new(10);
        let (one, other) = (bodies.begin(), bodies.begin());
        assert_eq!(
            (one.take(4), one.take(3), other.take(4), other.take(3)),
            (Ok(()), Ok(()), Err(NoRoom), Ok(()))
        );
        let outlives = one.clone();
        drop(one);
        assert_eq!(other.take(1), Err(NoRoom));
        drop(outlives);
        assert_eq!((other.take(7), other.take(1)), (Ok(()), Err(NoRoom)));
        other.give_back();
        assert_eq!(bodies.begin().take(10), Ok(()));
    }

    #[tokio::test]
    async fn it_is_known_while_its_request_is_answered() {
        assert!(Held::current().is_none());
        let held = Bodies::new(1).begin();
        held.take(1).unwrap();
        let outlives = held.during(async { Held::current() }).await.unwrap();
        assert_eq!((outlives.take(1), Held::current().is_none()), (Err(NoRoom), true));
    }
}
