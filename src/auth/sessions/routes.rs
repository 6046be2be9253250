//! `/v1/sessions`: a person's own browser sessions.

use std::sync::Arc;

use axum::extract::State;
use trawl_macros::operation;

use super::{
    SessionId, end_one,
    listing::{PersonSession, SignedOut, describe},
};
use crate::{
    audit::{self, Actor, AuditEvent},
    auth::{AuthState, extract::Identified},
    error::{Error, Result},
    http::{envelope::Envelope, extract::PathParameter},
    store::Cached,
};

/// Lists the person's own browser sessions, last used first.
#[operation(identity, security(()), 200 = "The sessions, at most 50")]
pub async fn list_own_sessions(
    State(auth): State<AuthState>,
    Identified(caller): Identified,
) -> Result<Envelope<Vec<PersonSession>>> {
    let (reader, person) = (auth.store.reader(), &caller.require_user()?.person);
    let sessions = auth.authenticator.sessions();
    let mut live = sessions.find_live(reader, caller.tenant.id, &[&person.user_id]).await?;
    live.retain(|session| session.holds_for(person.epoch, &person.login_id));
    Ok(Envelope::list(describe(reader, &caller, live).await?))
}

/// Ends one of the person's own sessions.
#[operation(
    identity, security(()), id = "The session's id", 200 = "It has ended",
    404 = "The person has no such session",
)]
pub async fn end_own_session(
    State(auth): State<AuthState>,
    Identified(caller): Identified,
    PathParameter(id): PathParameter,
) -> Result<Envelope<()>> {
    let no_session = || Error::not_found("id: you have no such session");
    let session = SessionId::from_digits(&id).ok_or_else(no_session)?;
    let user_id = caller.require_user()?.person.user_id.clone();
    auth.store
        .write(move |transaction| {
            Box::pin(async move {
                caller.confirm(transaction).await?;
                let tenant = &caller.tenant;
                if !end_one(transaction, tenant.id, &user_id, session).await? {
                    return Err(no_session());
                }
                transaction.invalidate(Cached::Identities(tenant.id));
                let event = AuditEvent::new("end", "session", id).with("userId", user_id);
                Ok(audit::record(transaction, &Actor::caller(&caller), tenant, vec![event]).await?)
            })
        })
        .await?;
    Ok(Envelope::of(()))
}

/// Ends the person's sessions but the one that calls, and revokes the tokens that this server issued.
#[operation(identity, security(()), 200 = "They have ended")]
pub async fn end_other_sessions(
    State(auth): State<AuthState>,
    Identified(caller): Identified,
) -> Result<Envelope<SignedOut>> {
    let user_id = caller.require_user()?.person.user_id.clone();
    let authenticator = Arc::clone(&auth.authenticator);
    let ended = auth
        .store
        .write(move |transaction| {
            Box::pin(async move {
                caller.confirm(transaction).await?;
                let tenant = &caller.tenant;
                let person = (tenant.id, user_id.as_str());
                let ended = authenticator.sign_out(transaction, person, caller.session_id()).await?;
                let event = AuditEvent::new("sign-out-elsewhere", "user", user_id);
                audit::record(transaction, &Actor::caller(&caller), tenant, vec![event]).await?;
                Ok(ended)
            })
        })
        .await?;
    let sessions = usize::try_from(ended.unwrap_or_default()).unwrap_or(usize::MAX);
    Ok(Envelope::of(SignedOut { sessions }))
}
