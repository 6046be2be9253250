//! One call of an external source, from the question whether it may be asked to what its end says of it.
//!
//! A source that does not answer keeps a call until the source's own limit, which may be later than the deadline of the
//! search. Whether it is down or merely slower than those who search wait, only a call that had the whole limit can
//! tell. So a call that is given up at its search's deadline goes on without it: a probe always, else one at a time.

use std::{future::pending, mem, pin::Pin, sync::Arc, time::Duration};

use tokio::{
    runtime::Handle,
    time::{Instant, timeout},
};

use super::SourceState;
use crate::search::{
    external::SourcePage,
    source::{FailureKind, Rest, SourceFailure},
    suspension::{Decision, Permission, Suspended, Verdict},
};

type Call = Pin<Box<dyn Future<Output = Result<Arc<SourcePage>, SourceFailure>> + Send>>;

impl SourceState {
    /// The permission to make one call.
    ///
    /// # Errors
    /// The source is suspended.
    pub(in crate::search) fn admit(self: &Arc<Self>) -> Result<Admitted, SourceFailure> {
        let mut record = self.lock();
        let now = self.clock.now();
        match record.suspension.ask(now) {
            Decision::Ask(permission) => {
                Ok(Admitted { state: Arc::clone(self), permission, is_followed: false, is_judged: false })
            }
            Decision::LeaveAlone(suspended) => Err(leave_alone(suspended, now)),
        }
    }
}

impl Admitted {
    /// Carries one call through within the source's own limit and remembers how it ended. One that is given up at the
    /// search's deadline timed out; one whose caller went away before did not end.
    ///
    /// # Errors
    /// The call's.
    pub(in crate::search) fn watch(
        self,
        deadline: Instant,
        own_limit: Duration,
        call: impl Future<Output = Result<Arc<SourcePage>, SourceFailure>> + Send + 'static,
    ) -> impl Future<Output = Result<Arc<SourcePage>, SourceFailure>> + Send {
        let state = Arc::clone(&self.state);
        let started = Instant::now();
        let late = move |_elapsed| Err(SourceFailure::timed_out(started.elapsed()));
        // Put in its place at once: a call takes kilobytes, which everything around it would have to move.
        let call = Box::pin(async move { timeout(own_limit, call).await.unwrap_or_else(late) });
        async move {
            let mut watched = Watched { call, admitted: Some(self), started, deadline };
            let result = watched.call.as_mut().await;
            state.remember(result.as_deref(), started.elapsed());
            if let Some(admitted) = watched.admitted.take() {
                admitted.judge(result.as_deref());
            }
            result
        }
    }
}

/// A call under way; dropped before it ended, it tells why.
struct Watched {
    call: Call,
    /// `None` once it ended.
    admitted: Option<Admitted>,
    started: Instant,
    deadline: Instant,
}

impl Drop for Watched {
    fn drop(&mut self) {
        let Some(admitted) = self.admitted.take() else { return };
        let took = self.started.elapsed();
        if std::thread::panicking() {
            let failure = SourceFailure::new(FailureKind::Error, "the source failed inside the server");
            admitted.state.remember(Err(&failure), took);
            admitted.judge(Err(&failure));
        } else if Instant::now() >= self.deadline {
            admitted.state.remember(Err(&SourceFailure::timed_out(took)), took);
            admitted.follow(mem::replace(&mut self.call, Box::pin(pending())));
        }
    }
}

/// The permission for one call. It comes back whatever becomes of the call.
pub(in crate::search) struct Admitted {
    state: Arc<SourceState>,
    permission: Permission,
    /// It is the one call that outlives its search.
    is_followed: bool,
    is_judged: bool,
}

impl Admitted {
    fn judge(mut self, result: Result<&SourcePage, &SourceFailure>) {
        let verdict = match result {
            Ok(_) => Verdict::Answered,
            Err(failure) if failure.is_of_the_cursor => return,
            Err(failure) => Verdict::Failed { cause: failure.kind, retry_after: failure.retry_after },
        };
        self.is_judged = true;
        self.state.judge(self.permission, verdict);
    }

    /// Lets the call go on to its own end.
    fn follow(mut self, call: Call) {
        let Ok(runtime) = Handle::try_current() else { return };
        if !self.permission.is_probe() {
            if mem::replace(&mut self.state.lock().has_follower, true) {
                return;
            }
            self.is_followed = true;
        }
        runtime.spawn(async move {
            let result = call.await;
            self.judge(result.as_deref());
        });
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        let mut record = self.state.lock();
        if self.is_followed {
            record.has_follower = false;
        }
        if !self.is_judged {
            record.suspension.release(self.permission);
        }
    }
}

/// What those are told for whom a suspended source was not asked. What the source said to another caller is not theirs.
fn leave_alone(suspended: Suspended, now: i64) -> SourceFailure {
    let Suspended { until, cause, times } = suspended;
    let why = match cause {
        FailureKind::Timeout => "it did not answer in time",
        FailureKind::Unavailable => "it could not be reached or took no calls",
        FailureKind::Unauthorized => "it refused the credentials",
        FailureKind::Invalid => "nothing in its answers was usable",
        FailureKind::Error => "its searches failed",
    };
    let retry_at = until.max(now);
    let left = Duration::from_millis(u64::try_from(retry_at - now).unwrap_or_default());
    SourceFailure {
        rest: Some(Rest { retry_at, left }),
        ..SourceFailure::new(
            FailureKind::Unavailable,
            format!("not asked: suspended because {why}; suspensions in a row: {times}"),
        )
    }
}
