//! Runs a subscription from its source, and records how it went.

use std::{any::Any, panic::AssertUnwindSafe, time::Duration};

use futures::FutureExt;
use tokio::time::sleep;
use trawl_search::panics::CaughtPanic;

use super::{
    feed, folder,
    origins::Origin,
    repo::SubscriptionRow,
    run::{FinishedRun, Run, RunFailure, RunStop, Runner},
    secrets,
    service::check_module,
    sql,
};
use crate::{
    auth::keys::CannotOpen,
    error::{Error, ErrorKind, Result},
    replicas::Fence,
};

/// Pause of a subscription whose run could not be recorded.
const STORE_PAUSE: Duration = Duration::from_secs(5);

const CANNOT_OPEN: &str =
    "sql.password: must be given again, as the server's master key cannot open the stored one";

/// Runs a subscription and records how it went.
pub(super) async fn run(runner: &Runner, begun: SubscriptionRow, fence: Fence) {
    let (tenant_id, id) = (begun.tenant_id, begun.settings.id.clone());
    let mut run = Run::new(runner, begun, fence);
    let carried = AssertUnwindSafe(carry_out(&mut run)).catch_unwind().await;
    let panicked = |payload: Box<dyn Any + Send>| {
        RunStop::from(Error::internal(CaughtPanic::new(&*payload).to_string()))
    };
    let recorded = match carried.map_err(panicked).flatten() {
        Ok(()) | Err(RunStop::Superseded) => return,
        Err(RunStop::Paused) => run.pause().await,
        Err(RunStop::Failed(failure)) => run.fail(failure).await,
        Err(RunStop::Internal(error)) => {
            tracing::warn!(tenant_id, subscription = id, %error, "a run of a subscription met an internal failure");
            let message = match error.kind {
                ErrorKind::Internal => "an internal error; the server's log has details".to_owned(),
                _ => error.message,
            };
            run.fail(RunFailure { message, ..RunFailure::default() }).await
        }
    };
    if let Err(RunStop::Internal(error)) = recorded {
        tracing::warn!(tenant_id, subscription = id, %error, "a run could not be recorded");
        sleep(STORE_PAUSE).await;
    }
}

async fn carry_out(run: &mut Run<'_>) -> Result<(), RunStop> {
    run.begin().await?;
    let ending = read(run).await?;
    run.end(ending).await
}

async fn read(run: &mut Run<'_>) -> Result<FinishedRun, RunStop> {
    let settings = run.begun.settings.clone();
    let module = check_module(&run.runner.state, run.begun.tenant_id, &settings.module);
    module.await.map_err(|error| match error.kind {
        ErrorKind::BadRequest => RunStop::failed(error.message),
        _ => error.into(),
    })?;
    match settings.origin.0 {
        Origin::Feed(origin) => feed::read(run, &origin).await,
        Origin::Folder(origin) => folder::read(run, &origin).await,
        Origin::Sql(origin) => {
            let password = secrets::open(
                &run.runner.state.keys.secrets,
                run.begun.tenant_id,
                &settings.id,
                settings.secret_sealed.as_deref(),
            );
            let password = password.map_err(|CannotOpen| RunStop::failed(CANNOT_OPEN))?;
            sql::read(run, &origin, password.as_ref()).await
        }
    }
}
