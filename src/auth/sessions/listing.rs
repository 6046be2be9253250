//! Sessions as their person and operators see them.

use std::collections::HashMap;

use serde::Serialize;

use super::LiveSession;
use crate::{
    auth::{applications, caller::Caller},
    store::{self, Connection},
};

/// A browser session of a person.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PersonSession {
    /// Id; no cookie can be made from it.
    id: String,
    /// The application signed in by.
    client_id: String,
    /// The application's name.
    application: Option<String>,
    /// The issuer signed in at; null for the login page.
    issuer: Option<String>,
    /// The client's address at sign-in; null for sessions of earlier versions.
    address: Option<String>,
    /// The browser's `User-Agent` at sign-in, at most 256 characters.
    user_agent: Option<String>,
    /// Begin, epoch milliseconds.
    created_at: i64,
    /// Last use, epoch milliseconds.
    used_at: i64,
    /// End without further use, epoch milliseconds.
    expires_at: i64,
    /// Whether the call is made in this session.
    is_current: bool,
}

/// The result of signing a person out.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct SignedOut {
    /// Number of sessions that were ended.
    pub sessions: usize,
}

/// Describes sessions to a caller, last used first.
pub async fn describe(
    reader: &Connection,
    caller: &Caller,
    mut sessions: Vec<LiveSession>,
) -> store::Result<Vec<PersonSession>> {
    sessions.sort_by_key(|session| -session.used_at);
    let client_ids: Vec<&str> = sessions.iter().map(|session| session.client_id.as_str()).collect();
    let names = applications::find_names(reader, &client_ids).await?;
    let names: HashMap<String, String> = names.into_iter().map(|(id, _, name)| (id, name)).collect();
    let shown = sessions.into_iter().map(|session| PersonSession {
        id: session.id.digits(),
        application: names.get(&session.client_id).cloned(),
        client_id: session.client_id,
        issuer: session.issuer,
        address: session.address,
        user_agent: session.user_agent,
        created_at: session.created_at,
        used_at: session.used_at,
        expires_at: session.expires_at,
        is_current: caller.session_id() == Some(session.id),
    });
    Ok(shown.collect())
}
