//! Permits, limits and records calls: suspension, and the source's timeout.

use std::{any::Any, future::pending, mem, panic::AssertUnwindSafe, pin::Pin, sync::Arc, time::Duration};

use futures::FutureExt;
use tokio::{
    runtime::Handle,
    time::{Instant, timeout},
};

use super::{
    health::SourceState,
    page_cache::PageResult,
    raw_page::RawPage,
    suspension::{CallEnd, Permission, Suspended, later},
};
use crate::{
    panics::CaughtPanic,
    source::{FailureKind, Pause, SourceFailure},
};

type BoxedCall = Pin<Box<dyn Future<Output = PageResult> + Send>>;

impl SourceState {
    /// Fails if the source is suspended.
    pub(super) fn admit(self: &Arc<Self>) -> Result<CallPermit, SourceFailure> {
        let mut record = self.lock();
        let now = self.clock.now();
        let permission = record.suspension.admit(now).map_err(|suspended| refusal(suspended, now))?;
        Ok(CallPermit { state: Arc::clone(self), permission, is_follower: false, is_judged: false })
    }

    /// The pause that the source asked for begins now.
    fn with_pause(&self, failure: SourceFailure) -> SourceFailure {
        let asked = failure.retry_after.filter(|wait| !wait.is_zero());
        let pause = asked.map(|wait| Pause { retry_at: later(self.clock.now(), wait), remaining: wait });
        SourceFailure { pause: failure.pause.or(pause), ..failure }
    }

    fn panicked(&self, payload: &(dyn Any + Send)) -> SourceFailure {
        SourceFailure::from_panic(&self.source_id, &CaughtPanic::new(payload))
    }
}

pub(super) struct CallPermit {
    state: Arc<SourceState>,
    permission: Permission,
    /// One ordinary call outlives its search.
    is_follower: bool,
    is_judged: bool,
}

impl CallPermit {
    /// Runs a call within the source's timeout.
    ///
    /// A call dropped from `deadline` on has timed out; one dropped before was cancelled.
    pub(super) fn watch(
        self,
        deadline: Instant,
        source_timeout: Duration,
        call: impl Future<Output = PageResult> + Send + 'static,
    ) -> impl Future<Output = PageResult> + Send {
        let state = Arc::clone(&self.state);
        let started = Instant::now();
        let late = move |_elapsed| Err(SourceFailure::timed_out(started.elapsed()));
        // Boxed at once: layers above would move kilobytes.
        let call = Box::pin(async move { timeout(source_timeout, call).await.unwrap_or_else(late) });
        async move {
            let mut guard = CallGuard { call, permit: Some(self), started, deadline };
            let ended = AssertUnwindSafe(guard.call.as_mut()).catch_unwind().await;
            let result = ended.unwrap_or_else(|payload| Err(state.panicked(&*payload)));
            let result = result.map_err(|failure| state.with_pause(failure));
            state.record_end(result.as_deref(), started.elapsed());
            if let Some(permit) = guard.permit.take() {
                permit.judge(result.as_deref());
            }
            result
        }
    }

    fn judge(mut self, result: Result<&RawPage, &SourceFailure>) {
        let end = match result {
            Ok(_) => CallEnd::Answered,
            Err(failure) if failure.is_cursor_fault || failure.is_person_refused => return,
            Err(failure) => CallEnd::Failed { cause: failure.kind, retry_after: failure.retry_after },
        };
        self.is_judged = true;
        self.state.judge(self.permission, end);
    }

    fn follow(mut self, call: BoxedCall) {
        let Ok(runtime) = Handle::try_current() else { return };
        if !self.permission.is_probe() {
            if mem::replace(&mut self.state.lock().has_follower, true) {
                return;
            }
            self.is_follower = true;
        }
        runtime.spawn(async move {
            match AssertUnwindSafe(call).catch_unwind().await {
                Ok(result) => self.judge(result.as_deref()),
                // Not judged: another call may probe at once.
                Err(payload) => drop(self.state.panicked(&*payload)),
            }
        });
    }
}

impl Drop for CallPermit {
    fn drop(&mut self) {
        let mut record = self.state.lock();
        if self.is_follower {
            record.has_follower = false;
        }
        if !self.is_judged {
            record.suspension.release(self.permission);
        }
    }
}

/// Records a timeout on drop; a call dropped earlier was cancelled.
struct CallGuard {
    call: BoxedCall,
    permit: Option<CallPermit>,
    started: Instant,
    deadline: Instant,
}

impl Drop for CallGuard {
    fn drop(&mut self) {
        let Some(permit) = self.permit.take() else { return };
        let took = self.started.elapsed();
        if Instant::now() >= self.deadline {
            permit.state.record_end(Err(&SourceFailure::timed_out(took)), took);
            permit.follow(mem::replace(&mut self.call, Box::pin(pending())));
        }
    }
}

/// Another caller does not see the source's words.
fn refusal(suspended: Suspended, now: i64) -> SourceFailure {
    let Suspended { until, cause, times } = suspended;
    let why = match cause {
        FailureKind::Timeout => "it did not answer in time",
        FailureKind::Unavailable => "it was unreachable or accepted no calls",
        FailureKind::Unauthorized => "it refused the credentials",
        FailureKind::Invalid => "nothing in its answers was usable",
        FailureKind::Error => "its searches failed",
    };
    let retry_at = until.max(now);
    let remaining = Duration::from_millis(u64::try_from(retry_at - now).unwrap_or_default());
    SourceFailure {
        pause: Some(Pause { retry_at, remaining }),
        ..SourceFailure::new(
            FailureKind::Unavailable,
            format!("not asked: suspended because {why}; suspensions in a row: {times}"),
        )
    }
}
