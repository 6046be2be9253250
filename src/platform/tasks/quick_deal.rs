//! Quick handling of a task by a callback to its application.
//!
//! No transaction spans the callback. One records the start, a second moves the task from the state it finds.

mod handlings;
pub(super) mod repo;
mod rules;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use axum::http::{HeaderMap, HeaderValue};
use backon::{ExponentialBuilder, Retryable};
use secrecy::SecretString;
use trawl_connectors::{AddressRules, CallbackClient, CallbackError, SettingsError};
use url::Url;

use self::{
    handlings::{ApplicationPermit, Handlings},
    repo::{HandlingOutcome, StartedHandling},
    rules::{Handling, TaskInfo, sign},
};
use super::{
    forms::Ending,
    repo as tasks,
    service::{self, TaskActor},
    states::{TaskMove, TaskStatus},
};
use crate::{
    auth::{applications::find_callback_key, caller::Caller, keys::Keys},
    config::Tasks,
    error::{Error, ErrorKind, Result},
    replicas::{Fence, Leases},
    store::{Store, Transaction, now_millis},
};

/// Retries of the write after a successful callback.
const TRIES_AGAIN: usize = 5;
/// Time beyond a callback's timeout to wait for its replica.
///
/// It has answered by then, or counts as dead.
const LEASE_MARGIN: Duration = Duration::from_secs(20);
/// Doubled for each retry.
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// Runs quick handlings.
pub struct QuickDeals {
    store: Store,
    leases: Leases,
    keys: Arc<Keys>,
    callbacks: CallbackClient,
    timeout: Duration,
    handlings: Handlings<()>,
}

#[derive(Clone, Debug)]
struct QuickDealRequest {
    tenant_id: i64,
    task_id: String,
    actor: TaskActor,
    handler_login_id: String,
}

#[derive(Debug)]
struct PendingCallback {
    handling: Handling,
    begun: StartedHandling,
    callback_key: SecretString,
}

impl QuickDeals {
    /// Fails if the HTTP client cannot be set up.
    pub fn new(
        store: Store,
        leases: Leases,
        keys: Arc<Keys>,
        addresses: &AddressRules,
        settings: &Tasks,
    ) -> Result<Self, SettingsError> {
        let callbacks = CallbackClient::new(addresses)?;
        let timeout = settings.callback_timeout();
        Ok(Self { store, leases, keys, callbacks, timeout, handlings: Handlings::new(settings) })
    }

    /// Handles or joins a task's handling, even if the caller disconnects.
    ///
    /// # Errors
    ///
    /// Fails with 404, 403 or 409 if not allowed or moved meanwhile. Fails with 502 if the callback failed and nothing changed, 503 if too
    /// many are in flight.
    pub async fn handle(self: &Arc<Self>, caller: &Caller, task_id: &str) -> Result<()> {
        let request = QuickDealRequest {
            tenant_id: caller.tenant.id,
            task_id: task_id.to_owned(),
            actor: TaskActor::of(caller),
            handler_login_id: caller.require_user()?.person.login_id.clone(),
        };
        // Most invalid requests cause no write; unauthorised ones do not join.
        let row = tasks::find(self.store.reader(), request.tenant_id, &request.task_id).await?;
        let row = row.ok_or_else(service::absent)?;
        Handling::of(&row, &request.actor)?;
        let this = Arc::clone(self);
        let handle = move |permit| this.carry_through(request, permit);
        let waiting = self.handlings.join(task_id, &row.application, handle)?;
        waiting.await.map_err(|refusal| refusal.repeated())
    }

    /// Rejects new handlings and waits for those in flight.
    pub async fn stop(&self) {
        self.handlings.stop().await;
    }

    async fn carry_through(
        self: Arc<Self>,
        request: QuickDealRequest,
        permit: Arc<ApplicationPermit>,
    ) -> Result<()> {
        let outcome = self.carry_alone(request, permit).await;
        if let Err(refusal) = &outcome {
            // Logged here, since the caller may have disconnected.
            refusal.log();
        }
        outcome
    }

    /// Calls for a task, from one replica at a time.
    ///
    /// Another replica waits for that call and answers its outcome.
    async fn carry_alone(&self, request: QuickDealRequest, permit: Arc<ApplicationPermit>) -> Result<()> {
        let name = format!("task:{}:{}", request.tenant_id, request.task_id);
        if let Some(lease) = self.leases.try_acquire(&name).await? {
            let outcome = self.carry(request, lease.fence(), permit).await;
            // The lease ends before the answer, since a person who presses again expects another call.
            lease.release().await;
            return outcome;
        }
        self.leases.wait_until_free(&name, self.timeout + LEASE_MARGIN).await?;
        let QuickDealRequest { tenant_id, task_id, .. } = request;
        let row = tasks::find(self.store.reader(), tenant_id, &task_id).await?;
        match row.ok_or_else(service::absent)?.status()? {
            TaskStatus::Done | TaskStatus::Read => Ok(()),
            _ => Err(Error::bad_gateway("another call for this task has just failed; nothing has changed")),
        }
    }

    async fn carry(
        &self,
        request: QuickDealRequest,
        fence: Fence,
        permit: Arc<ApplicationPermit>,
    ) -> Result<()> {
        let due = self.begin(request.clone(), fence).await?;
        let started = Instant::now();
        let called = self.call(&request, &due, permit).await;
        let took_ms = i64::try_from(started.elapsed().as_millis()).unwrap_or(i64::MAX);
        let outcome = if called.is_ok() { "succeeded" } else { "failed" };
        metrics::counter!("trawl_quick_deal_callbacks_total", "outcome" => outcome).increment(1);
        match called {
            Ok(()) => self.finish(request, due, took_ms).await,
            Err(error) => {
                let (reason, cause) = (error.to_string(), error.cause());
                tracing::info!(task = request.task_id, cause, took_ms, "a quick-handling callback failed");
                self.note_failure(request, due.begun, HandlingOutcome { failure: Some(reason), took_ms })
                    .await;
                Err(Error::bad_gateway(format!("quickDealCallback: {error}; nothing has changed")))
            }
        }
    }

    async fn begin(&self, request: QuickDealRequest, fence: Fence) -> Result<PendingCallback> {
        let keys = Arc::clone(&self.keys);
        let job = self.store.write(move |transaction| {
            Box::pin(async move {
                fence.confirm(transaction).await?;
                begin(transaction, &keys, request).await
            })
        });
        job.await
    }

    /// Holds the application's permit until the DNS lookup ends, possibly after the call.
    async fn call(
        &self,
        request: &QuickDealRequest,
        due: &PendingCallback,
        permit: Arc<ApplicationPermit>,
    ) -> Result<(), CallbackError> {
        let unsendable = |what: &str| CallbackError::Failed(format!("the callback cannot be called: {what}"));
        let info = TaskInfo {
            task: &due.handling.task,
            id: &request.task_id,
            handler_login_id: &request.handler_login_id,
            handled_at: due.begun.handled_at,
        };
        let url = Url::parse(&due.handling.callback).map_err(|_| unsendable("its address is malformed"))?;
        let body =
            serde_json::to_vec(&info).map_err(|_| unsendable("the task cannot be serialised as JSON"))?;
        let signature = sign(&due.callback_key, now_millis() / 1_000, &body);
        let mut headers = HeaderMap::new();
        for (name, text) in [("x-trawl-signature", signature), ("x-trawl-delivery", info.delivery())] {
            let text = HeaderValue::try_from(text).map_err(|_| unsendable("its headers are malformed"))?;
            headers.insert(name, text);
        }
        self.callbacks.post(&url, headers, body, self.timeout, permit).await
    }

    /// Moves the task if status and assignee still allow it.
    ///
    /// The caller is not checked again.
    async fn finish(&self, request: QuickDealRequest, due: PendingCallback, took_ms: i64) -> Result<()> {
        let PendingCallback { handling, begun, .. } = due;
        let finish = || {
            let (request, handling) = (request.clone(), handling.clone());
            self.store.write(move |transaction| {
                Box::pin(async move { finish(transaction, &request, &handling, begun, took_ms).await })
            })
        };
        let pauses = ExponentialBuilder::default().with_min_delay(FIRST_PAUSE).with_max_times(TRIES_AGAIN);
        finish.retry(pauses).when(|error: &Error| error.kind == ErrorKind::Unavailable).await?
    }

    async fn note_failure(&self, request: QuickDealRequest, begun: StartedHandling, end: HandlingOutcome) {
        let noted = self.store.write(move |transaction| {
            Box::pin(async move { Ok(repo::end(transaction, &request.task_id, begun, &end).await?) })
        });
        if let Err(error) = noted.await {
            tracing::warn!(%error, "the outcome of a quick handling could not be saved");
        }
    }
}

async fn begin(transaction: &Transaction, keys: &Keys, request: QuickDealRequest) -> Result<PendingCallback> {
    let QuickDealRequest { tenant_id, task_id, actor, handler_login_id } = request;
    let row = tasks::find(transaction, tenant_id, &task_id).await?.ok_or_else(service::absent)?;
    let handling = Handling::of(&row, &actor)?;
    let callback_key = find_callback_key(transaction, keys, &row.application).await?.ok_or_else(|| {
        Error::conflict("the application of this task is disabled, so its callback cannot be called")
    })?;
    let begun = repo::begin(transaction, tenant_id, &task_id, &handler_login_id, now_millis()).await?;
    Ok(PendingCallback { handling, begun, callback_key })
}

/// The inner result is for the caller. Rejections are recorded too.
async fn finish(
    transaction: &Transaction,
    request: &QuickDealRequest,
    handling: &Handling,
    begun: StartedHandling,
    took_ms: i64,
) -> Result<Result<()>> {
    let QuickDealRequest { tenant_id, task_id, actor, .. } = request;
    let row = tasks::find(transaction, *tenant_id, task_id).await?;
    let status = row.ok_or_else(service::absent)?.status()?;
    // The application may have completed the task.
    let moved = if status == handling.target {
        Ok(())
    } else {
        let made =
            service::make(transaction, *tenant_id, actor, task_id, TaskMove::Complete, &Ending::default())
                .await;
        match made {
            Err(error) if !is_refusal(&error) => return Err(error),
            made => made.map(drop),
        }
    };
    let failure =
        moved.is_err().then(|| format!("the callback answered, but by then the task was {}", status.name()));
    repo::end(transaction, task_id, begun, &HandlingOutcome { failure, took_ms }).await?;
    Ok(moved)
}

fn is_refusal(error: &Error) -> bool {
    matches!(error.kind, ErrorKind::NotFound | ErrorKind::Forbidden | ErrorKind::Conflict)
}
