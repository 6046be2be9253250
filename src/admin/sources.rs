//! `/admin/v1/sources` (book: how-to/operate.md).

use axum::{
    extract::State,
    http::HeaderMap,
    response::{IntoResponse, Response, sse::Event},
};
use serde::Deserialize;
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;
use tracing::{Instrument, Span};
use trawl_connectors::{
    GalleryEntry,
    check::{CLAUSES, Decided, Report, Trial},
};
use trawl_macros::operation;
use trawl_search::sources::external::health::SourceHealth;

use crate::{
    admin::AdminState,
    auth::extract::Identified,
    error::{Error, Result},
    http::{
        envelope::{Envelope, Refusals},
        events,
        extract::{JsonObject, PathParameter, QueryParameters},
        precondition::{IfMatch, Tagged},
    },
    platform::search::accept::wants_events,
    registry::{Author, RegisteredSource, SourceCheck, SourceForm, TrialForm},
};

/// Lists the tenant's external sources by name.
#[operation(admin, 200 = "The sources")]
pub async fn list_sources(
    State(state): State<AdminState>,
    Identified(caller): Identified,
) -> Result<Envelope<Vec<RegisteredSource>>> {
    Ok(Envelope::list(state.registry.list_sources(caller.tenant.id).await?))
}

/// Registration options.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(rename_all = "camelCase")]
pub struct RegistrationQuery {
    /// Whether the form is only checked, `auth` if it is given; default: false.
    dry_run: Option<bool>,
}

/// Registers an external source.
#[operation(
    admin, 200 = "The source, without its secret; null with `dryRun`",
    409 = "Its id or name is taken, or the tenant has the maximum of sources",
)]
pub async fn create_source(
    State(state): State<AdminState>,
    Identified(caller): Identified,
    QueryParameters(query): QueryParameters<RegistrationQuery>,
    JsonObject(form): JsonObject<SourceForm>,
) -> Result<Envelope<Option<RegisteredSource>>> {
    if query.dry_run == Some(true) {
        state.registry.check_source_form(caller.tenant.id, form).await?;
        return Ok(Envelope::of(None));
    }
    Ok(Envelope::of(Some(state.registry.create_source(Author::caller(&caller), form).await?)))
}

/// Lists mappings of systems that are in wide use, by name.
#[operation(admin, 200 = "The mappings", Refusals)]
pub async fn list_gallery() -> Envelope<Vec<GalleryEntry>> {
    Envelope::list(trawl_connectors::gallery().to_vec())
}

/// Calls a source once, registered or not, and shows the request, the answer and the rows.
#[operation(admin, 200 = "The call, also one that failed", 503 = "Other checks are running")]
pub async fn try_source(
    State(state): State<AdminState>,
    Identified(caller): Identified,
    JsonObject(form): JsonObject<TrialForm>,
) -> Result<Envelope<Trial>> {
    Ok(Envelope::of(state.registry.try_source(Author::caller(&caller), form).await?))
}

/// Returns one external source.
#[operation(
    admin, id = "The source's id", 200 = "The source, without its secret",
    404 = "There is no such source",
)]
pub async fn find_source(
    State(state): State<AdminState>,
    Identified(caller): Identified,
    PathParameter(id): PathParameter,
) -> Result<Tagged<RegisteredSource>> {
    state.registry.find_source(caller.tenant.id, &id).await
}

/// Replaces an external source; absent fields get defaults, the secret stays.
#[operation(
    admin, id = "The source's id", 200 = "The source, without its secret",
    404 = "There is no such source",
    409 = "Its name is taken",
)]
pub async fn replace_source(
    State(state): State<AdminState>,
    Identified(caller): Identified,
    PathParameter(id): PathParameter,
    if_match: IfMatch,
    JsonObject(form): JsonObject<SourceForm>,
) -> Result<Tagged<RegisteredSource>> {
    state.registry.replace_source(Author::caller(&caller), id, form, if_match).await
}

/// Removes an external source that no module shows.
#[operation(
    admin, id = "The source's id", 200 = "It is removed",
    404 = "There is no such source",
    409 = "Modules show it; the message names them",
)]
pub async fn remove_source(
    State(state): State<AdminState>,
    Identified(caller): Identified,
    PathParameter(id): PathParameter,
    if_match: IfMatch,
) -> Result<Envelope<()>> {
    state.registry.remove_source(Author::caller(&caller), id, if_match).await?;
    Ok(Envelope::of(()))
}

/// Returns an external source's health since the server started.
#[operation(admin, id = "The source's id", 200 = "From real calls", 404 = "There is no such source")]
pub async fn show_health(
    State(state): State<AdminState>,
    Identified(caller): Identified,
    PathParameter(id): PathParameter,
) -> Result<Envelope<SourceHealth>> {
    Ok(Envelope::of(state.registry.health_of(caller.tenant.id, &id).await?))
}

/// Check options.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct CheckQuery {
    /// A word with more than ten matches; default: some common words.
    keyword: Option<String>,
    /// The id of the person who asks. Required if the source has an identity.
    person: Option<String>,
}

/// Checks an external source against the contract by about thirty real calls.
///
/// `Accept: text/event-stream` sends each clause as it completes.
#[operation(
    admin, id = "The source's id",
    (status = 200, description = "The report. As a stream: an event `clause` for each clause, once, when nothing that is \
        still to come can change it, its data the clause with its place in the report, `index`, and the number of \
        clauses, `count`; then an event `done` with the report. A stream without `done` broke off.",
        content((Envelope<Report> = "application/json"), (String = "text/event-stream"))),
    404 = "There is no such source",
    503 = "Other checks are running",
)]
pub async fn check_source(
    State(state): State<AdminState>,
    Identified(caller): Identified,
    PathParameter(id): PathParameter,
    QueryParameters(query): QueryParameters<CheckQuery>,
    headers: HeaderMap,
) -> Result<Response> {
    let CheckQuery { keyword, person } = query;
    let check = state.registry.prepare_check(Author::caller(&caller), &id, keyword, person).await?;
    if wants_events(&headers) {
        return Ok(send_check(check));
    }
    Ok(Envelope::of(check.run(&mut |_decided| {}).await).into_response())
}

/// Sends the check as events; its task ends with the body.
fn send_check(check: SourceCheck) -> Response {
    // Holds every event: a slow reader does not delay the check.
    let (sender, receiver) = mpsc::channel(CLAUSES + 1);
    let sending = async move {
        let mut failure = None;
        let mut tell = |clause: Decided| {
            if let Err(error) = send_event(&sender, "clause", &clause) {
                failure = Some(error);
            }
        };
        let report = check.run(&mut tell).await;
        failure.map_or(Ok(()), Err)?;
        send_event(&sender, "done", &report)
    };
    let span = Span::current();
    let task = AbortOnDropHandle::new(tokio::spawn(sending.instrument(span.clone())));
    events::answer(receiver, task, span)
}

fn send_event(sender: &mpsc::Sender<(Event, ())>, name: &str, data: &impl serde::Serialize) -> Result<()> {
    let data = serde_json::to_string(data).map_err(Error::internal)?;
    // A closed stream ends the task.
    drop(sender.try_send((Event::default().event(name).data(data), ())));
    Ok(())
}
