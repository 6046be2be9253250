//! `POST /admin/v1/search`: an operator's search as an application or a person.

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    response::Response,
};
use trawl_macros::operation;
use trawl_search::Viewer;

use super::{
    SearchState,
    page::{NoSourceEnvelope, SearchEnvelope},
    parameters::{PersonParameter, PlaceParameters, RawParameters, TermParameters},
    routes::{search, viewer},
};
use crate::{
    audit::{self, Actor, AuditEvent},
    auth::{
        caller::Caller,
        directory::{PersonDirectory, SubjectKind},
        extract::Identified,
    },
    error::{Error, Result},
    http::{envelope::BodyRefusals, extract::QueryInBody},
    platform::directory::AreaDirectory,
};

/// Searches a module as an application or as a person of the tenant.
///
/// The audit log records each search as a person, without its keyword.
#[operation(
    admin, params(TermParameters, PlaceParameters, PersonParameter),
    request_body(content = QueryInBody, description = "The same names as the query parameters, which prevail"),
    200 = "A page of items": SearchEnvelope,
    404 = "There is no such module or person",
    502 = "No source answered": NoSourceEnvelope,
    504 = "Every source timed out": NoSourceEnvelope,
    BodyRefusals,
)]
pub async fn search_as_operator(
    State(state): State<SearchState>,
    Identified(caller): Identified,
    request: Request,
) -> Result<Response> {
    let given = RawParameters::read(request).await?;
    let viewer = match given.person()?.user_id {
        None => viewer(&caller),
        Some(user_id) => view_as(&state, &caller, &user_id).await?,
    };
    search(&state, &caller, viewer, &given).await
}

async fn view_as(state: &SearchState, caller: &Caller, user_id: &str) -> Result<Viewer> {
    let (reader, tenant) = (state.store.reader(), caller.tenant.clone());
    let person = AreaDirectory.find_person(reader, tenant.id, SubjectKind::UserId, user_id).await?;
    let person = person
        .ok_or_else(|| Error::not_found("userId: the tenant has no person with this id who may sign in"))?;
    let principals = AreaDirectory.principals(reader, tenant.id, &person).await?;
    let viewer = Viewer {
        tenant_id: tenant.id,
        user_id: Some(person.user_id.clone()),
        client_id: Arc::clone(&caller.client_id),
        principals: principals.into(),
    };
    let actor = Actor::caller(caller);
    state
        .store
        .write(move |transaction| {
            Box::pin(async move {
                let event = AuditEvent::new("search-as", "user", person.user_id);
                audit::record(transaction, &actor, &tenant, vec![event]).await?;
                Ok(())
            })
        })
        .await?;
    Ok(viewer)
}
