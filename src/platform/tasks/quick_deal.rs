//! Quick handling: a person handles a task where it is shown, and its application is told by a callback (decisions 8.3).
//!
//! The callback may take seconds, so no transaction is open meanwhile: one writes down that the handling has begun, another one
//! moves the task and writes down how it ended. Between the two anything may happen to the task, and the second one goes by
//! what it finds.

mod flights;
mod model;
mod repo;
pub mod routes;

use std::{
    slice::from_ref,
    sync::Arc,
    time::{Duration, Instant},
};

use axum::http::{HeaderMap, HeaderValue};
use backon::{ExponentialBuilder, Retryable};
use secrecy::SecretString;
use trawl_connectors::{AddressRules, CallbackClient, CallbackError, SettingsError};
use url::Url;

use self::{
    flights::{ApplicationPlace, Flights},
    model::{Handling, TaskInfo, sign},
    repo::{Begun, End},
};
use super::{
    model::Ending,
    moves::{self, Actor},
    repo as tasks,
    states::Move,
};
use crate::{
    auth::{applications::find_callback_key, caller::Caller, keys::Keys},
    config::Tasks,
    error::{Error, Kind, Result},
    store::{Store, Transaction, now_millis},
};

/// How often a move that the store cannot write at the moment is tried again: the application has acted on it already.
const TRIES_AGAIN: usize = 5;
/// The first pause before that; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// Handles tasks quickly.
pub struct QuickDeals {
    store: Store,
    keys: Arc<Keys>,
    callbacks: CallbackClient,
    timeout: Duration,
    flights: Flights<()>,
}

/// One press of the button.
#[derive(Clone, Debug)]
struct Press {
    tenant_id: i64,
    task_id: String,
    actor: Actor,
    handler_login_id: String,
}

/// A handling whose callback is to be called.
#[derive(Debug)]
struct Due {
    handling: Handling,
    begun: Begun,
    callback_key: SecretString,
}

impl QuickDeals {
    /// # Errors
    /// An HTTP client that cannot be set up here.
    pub fn new(
        store: Store,
        keys: Arc<Keys>,
        addresses: &AddressRules,
        settings: &Tasks,
    ) -> Result<Self, SettingsError> {
        let callbacks = CallbackClient::new(addresses)?;
        let timeout = settings.callback_timeout();
        Ok(Self { store, keys, callbacks, timeout, flights: Flights::new(settings) })
    }

    /// Handles a task of the caller, who is a person. It goes on when he goes away. Where the task is being handled already, he
    /// waits for that and gets its outcome.
    ///
    /// # Errors
    /// 404, 403 and 409 where he cannot handle it, also where it was moved elsewhere meanwhile; 502 where its callback failed
    /// and nothing has changed; 503 where too many are under way.
    pub async fn handle(self: &Arc<Self>, caller: &Caller, task_id: &str) -> Result<()> {
        let press = Press {
            tenant_id: caller.tenant.id,
            task_id: task_id.to_owned(),
            actor: Actor::of(caller),
            handler_login_id: caller.require_user()?.person.login_id.clone(),
        };
        // Most that cannot be is refused without a write. And whoever joins another's handling is one who may.
        let rows = tasks::find(self.store.reader(), press.tenant_id, from_ref(&press.task_id)).await?;
        let row = rows.first().ok_or_else(moves::absent)?;
        Handling::of(row, &press.actor)?;
        let this = Arc::clone(self);
        let handle = move |place| this.carry_through(press, place);
        let waiting = self.flights.join(task_id, &row.application, handle)?;
        waiting.await.map_err(|refusal| refusal.repeated())
    }

    /// Takes no more on, and finishes what is in hand.
    pub async fn stop(&self) {
        self.flights.stop().await;
    }

    async fn carry_through(self: Arc<Self>, press: Press, place: Arc<ApplicationPlace<()>>) -> Result<()> {
        let outcome = self.carry(press, place).await;
        if let Err(refusal) = &outcome {
            // Here, since the caller may have gone away.
            refusal.log();
        }
        outcome
    }

    async fn carry(&self, press: Press, place: Arc<ApplicationPlace<()>>) -> Result<()> {
        let due = self.begin(press.clone()).await?;
        let started = Instant::now();
        let called = self.call(&press, &due, place).await;
        let took_ms = i64::try_from(started.elapsed().as_millis()).unwrap_or(i64::MAX);
        let outcome = if called.is_ok() { "succeeded" } else { "failed" };
        metrics::counter!("trawl_quick_deal_callbacks_total", "outcome" => outcome).increment(1);
        match called {
            Ok(()) => self.finish(press, due, took_ms).await,
            Err(error) => {
                let reason = error.to_string();
                tracing::info!(
                    task = press.task_id,
                    reason,
                    took_ms,
                    "the callback of a quick handling failed"
                );
                self.note_failure(press, due.begun, End { failure: Some(reason), took_ms }).await;
                Err(Error::bad_gateway(format!("quickDealCallback: {error}; nothing has changed")))
            }
        }
    }

    /// Asks once more whether the task may be handled, and writes down that it begins.
    async fn begin(&self, press: Press) -> Result<Due> {
        let keys = Arc::clone(&self.keys);
        self.store
            .write(move |transaction| Box::pin(async move { begin(transaction, &keys, press).await }))
            .await
    }

    /// Calls the callback. The place of the application stays taken until the look-up of the callback's name has ended, which
    /// may be long after the call has.
    async fn call(
        &self,
        press: &Press,
        due: &Due,
        place: Arc<ApplicationPlace<()>>,
    ) -> Result<(), CallbackError> {
        let unsendable = |what: &str| CallbackError::Failed(format!("the callback cannot be called: {what}"));
        let info = TaskInfo {
            task: &due.handling.task,
            id: &press.task_id,
            handler_login_id: &press.handler_login_id,
            handled_at: due.begun.handled_at,
        };
        let url = Url::parse(&due.handling.callback).map_err(|_| unsendable("its address is none"))?;
        let body = serde_json::to_vec(&info).map_err(|_| unsendable("the task cannot be written as JSON"))?;
        let signature = sign(&due.callback_key, now_millis() / 1_000, &body);
        let mut headers = HeaderMap::new();
        for (name, text) in [("x-trawl-signature", signature), ("x-trawl-delivery", info.delivery())] {
            let text =
                HeaderValue::try_from(text).map_err(|_| unsendable("its headers cannot be written"))?;
            headers.insert(name, text);
        }
        self.callbacks.post(&url, headers, body, self.timeout, place).await
    }

    /// Moves the task after its callback succeeded, as far as it and the caller's part in it still allow that: a task that was
    /// moved or taken from him meanwhile stays as it is, though the application has acted. His token and his account are not
    /// asked for again.
    async fn finish(&self, press: Press, due: Due, took_ms: i64) -> Result<()> {
        let Due { handling, begun, .. } = due;
        let finish = || {
            let (press, handling) = (press.clone(), handling.clone());
            self.store.write(move |transaction| {
                Box::pin(async move { finish(transaction, &press, &handling, begun, took_ms).await })
            })
        };
        let pauses = ExponentialBuilder::default().with_min_delay(FIRST_PAUSE).with_max_times(TRIES_AGAIN);
        finish.retry(pauses).when(|error: &Error| error.kind == Kind::Unavailable).await?
    }

    /// The caller is told of the failure in any case.
    async fn note_failure(&self, press: Press, begun: Begun, end: End) {
        let noted = self.store.write(move |transaction| {
            Box::pin(async move { Ok(repo::end(transaction, &press.task_id, begun, &end).await?) })
        });
        if let Err(error) = noted.await {
            tracing::warn!(%error, "how a quick handling ended could not be written down");
        }
    }
}

async fn begin(transaction: &Transaction, keys: &Keys, press: Press) -> Result<Due> {
    let Press { tenant_id, task_id, actor, handler_login_id } = press;
    let rows = tasks::find(&**transaction, tenant_id, from_ref(&task_id)).await?;
    let row = rows.first().ok_or_else(moves::absent)?;
    let handling = Handling::of(row, &actor)?;
    let callback_key = find_callback_key(&**transaction, keys, &row.application).await?.ok_or_else(|| {
        Error::conflict("the application that this task comes from is out of use, so it cannot be told of it")
    })?;
    let begun = repo::begin(transaction, tenant_id, &task_id, &handler_login_id, now_millis()).await?;
    Ok(Due { handling, begun, callback_key })
}

/// Makes the move and writes down the end, both or neither. The inner result is what the caller is told; a refusal is
/// written down too.
async fn finish(
    transaction: &Transaction,
    press: &Press,
    handling: &Handling,
    begun: Begun,
    took_ms: i64,
) -> Result<Result<()>> {
    let Press { tenant_id, task_id, actor, .. } = press;
    let rows = tasks::find(&**transaction, *tenant_id, from_ref(task_id)).await?;
    let status = rows.first().ok_or_else(moves::absent)?.status()?;
    // Its application may well have completed it by itself; then that is its one end.
    let moved = if status == handling.target {
        Ok(())
    } else {
        let made =
            moves::make(transaction, *tenant_id, actor, task_id, Move::Complete, &Ending::default()).await;
        match made {
            Err(error) if !is_refusal(&error) => return Err(error),
            made => made.map(drop),
        }
    };
    let failure =
        moved.is_err().then(|| format!("the callback answered, but by then the task was {}", status.name()));
    repo::end(transaction, task_id, begun, &End { failure, took_ms }).await?;
    Ok(moved)
}

/// Whether a move was refused, and did not fail.
fn is_refusal(error: &Error) -> bool {
    matches!(error.kind, Kind::NotFound | Kind::Forbidden | Kind::Conflict)
}
