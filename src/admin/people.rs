//! `/admin/v1/people`: accounts of people and their browser sessions.

use std::{collections::HashMap, sync::Arc};

use axum::extract::State;
use serde::{Deserialize, Serialize};
use trawl_macros::operation;

use crate::{
    audit::{self, Actor, AuditEvent},
    auth::{
        AuthState,
        extract::Identified,
        second_factor::{self, FactorOwner},
        sessions::{
            self, LiveSession, SessionId,
            listing::{PersonSession, SignedOut, describe},
        },
        throttle::ThrottledAccount,
    },
    error::{Error, Result},
    http::{
        envelope::Envelope,
        extract::{PathParameter, QueryParameters},
        paging::{Page, PageQuery},
    },
    platform::{
        shared::keyword_filter::{fold_all, fold_keyword},
        users::lookups::{PersonAccount, find_person_account, list_accounts},
    },
    store::{Cached, Connection},
};

const KEYWORD_CHARS: usize = 100;

/// Accounts read at a time while a filter selects some.
const PORTION: u64 = 1_000;

/// Portions of one page.
const MAX_PORTIONS: usize = 50;

/// Filter and page of people.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(rename_all = "camelCase")]
pub struct PeopleQuery {
    /// Previous page's `cursor`.
    cursor: Option<i64>,
    /// People, 1 to 1,000; default 100.
    limit: Option<i64>,
    /// A part of the name, login, id, mobile number or mail address, at most 100 characters.
    keyword: Option<String>,
    /// Whether to list only people with a session.
    signed_in: Option<bool>,
}

/// A person as operators see them.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PersonSummary {
    /// Source user id.
    user_id: String,
    /// Login with account suffix.
    login_id: String,
    /// Name.
    name: String,
    /// Main department's source id.
    org_id: Option<String>,
    /// Main department's name.
    org_name: Option<String>,
    /// 1 enabled, 0 disabled.
    status: i64,
    /// Hidden.
    is_hidden: bool,
    /// Deleted.
    is_deleted: bool,
    /// Last change by the directory, epoch milliseconds.
    updated_at: i64,
}

/// A person in a list.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListedPerson {
    /// The person.
    #[serde(flatten)]
    summary: PersonSummary,
    /// Number of browser sessions.
    sessions: usize,
    /// Last use of a session, epoch milliseconds; null without any.
    last_seen_at: Option<i64>,
}

/// A person with their sessions.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PersonDetails {
    /// The person.
    #[serde(flatten)]
    summary: PersonSummary,
    /// Mobile number.
    mobile: Option<String>,
    /// Mail address.
    email: Option<String>,
    /// Whether they can sign in by password; others sign in at an issuer.
    has_password: bool,
    /// When they confirmed a second factor, epoch milliseconds; null without one.
    second_factor_since: Option<i64>,
    /// Whether they operate this server (`console.operators`).
    is_operator: bool,
    /// Wait for the next login after too many that failed, milliseconds.
    throttled_for_ms: Option<u64>,
    /// Browser sessions, last used first.
    sessions: Vec<PersonSession>,
}

/// Lists people of the tenant, last change first.
#[operation(admin, 200 = "The people, deleted ones included")]
pub async fn list_people(
    State(auth): State<AuthState>,
    Identified(caller): Identified,
    QueryParameters(query): QueryParameters<PeopleQuery>,
) -> Result<Page<ListedPerson>> {
    let limit = PageQuery::new(query.cursor, query.limit).limit()?;
    let keyword = fold_keyword(query.keyword, KEYWORD_CHARS)?;
    let only_signed_in = query.signed_in == Some(true);
    let portion = if keyword.is_some() || only_signed_in { PORTION } else { limit + 1 };
    let (reader, tenant_id) = (auth.store.reader(), caller.tenant.id);
    let mut before = query.cursor.unwrap_or(i64::MAX);
    let mut found = Vec::new();
    for _ in 0..MAX_PORTIONS {
        let mut accounts = list_accounts(reader, tenant_id, before, portion).await?;
        let last = accounts.last().filter(|_| accounts.len() as u64 == portion);
        let next = last.map(|account| account.updated_at);
        if let Some(keyword) = &keyword {
            accounts.retain(|account| fold_all(names_of(account)).contains(keyword));
        }
        let mut sessions = find_sessions(&auth, tenant_id, &accounts).await?;
        let listed = accounts.into_iter().map(|account| {
            let sessions = sessions.remove(&account.user_id).unwrap_or_default();
            ListedPerson {
                sessions: sessions.len(),
                last_seen_at: sessions.iter().map(|session| session.used_at).max(),
                summary: account.into(),
            }
        });
        found.extend(listed.filter(|person| !only_signed_in || person.sessions > 0));
        match next {
            Some(next) if found.len() as u64 <= limit => before = next,
            _ => return Ok(Page::of(found, limit, |person| person.summary.updated_at)),
        }
    }
    Ok(Page::ending_at(found, before))
}

/// Returns one person with their sessions.
#[operation(
    admin, user_id = "The person's synchronised id", 200 = "The person",
    404 = "There is no such person",
)]
pub async fn find_person(
    State(auth): State<AuthState>,
    Identified(caller): Identified,
    PathParameter(user_id): PathParameter,
) -> Result<Envelope<PersonDetails>> {
    let (reader, tenant) = (auth.store.reader(), &caller.tenant);
    let account = find_account(reader, tenant.id, &user_id).await?;
    let mut sessions = find_sessions(&auth, tenant.id, std::slice::from_ref(&account)).await?;
    let sessions = sessions.remove(&user_id).unwrap_or_default();
    let owner = FactorOwner { tenant_id: tenant.id, user_id };
    let factor = second_factor::find(reader, &owner).await?;
    let throttled = auth.throttle.wait_of(ThrottledAccount::login(tenant.id, &account.login_id)).await?;
    Ok(Envelope::of(PersonDetails {
        mobile: account.mobile.clone(),
        email: account.details.email.clone(),
        has_password: account.has_password,
        second_factor_since: factor.map(|factor| factor.confirmed_at),
        is_operator: auth.authenticator.sessions().is_operator(&account.login_id, tenant),
        throttled_for_ms: throttled.map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)),
        sessions: describe(reader, &caller, sessions).await?,
        summary: account.into(),
    }))
}

/// Signs a person out everywhere: ends their sessions and revokes the tokens that this server issued.
///
/// Tokens of external issuers stay valid.
#[operation(
    admin, user_id = "The person's synchronised id", 200 = "They are signed out",
    404 = "There is no such person",
)]
pub async fn sign_out(
    State(auth): State<AuthState>,
    Identified(caller): Identified,
    PathParameter(user_id): PathParameter,
) -> Result<Envelope<SignedOut>> {
    let (actor, tenant) = (Actor::caller(&caller), Arc::clone(&caller.tenant));
    let account = find_account(auth.store.reader(), tenant.id, &user_id).await?;
    let live = find_sessions(&auth, tenant.id, &[account]).await?.remove(&user_id).unwrap_or_default();
    let authenticator = Arc::clone(&auth.authenticator);
    auth.store
        .write(move |transaction| {
            Box::pin(async move {
                let signed_out = authenticator.sign_out(transaction, (tenant.id, &user_id), None).await?;
                signed_out.ok_or_else(no_person)?;
                let event = AuditEvent::new("sign-out", "user", user_id);
                Ok(audit::record(transaction, &actor, &tenant, vec![event]).await?)
            })
        })
        .await?;
    Ok(Envelope::of(SignedOut { sessions: live.len() }))
}

/// Removes a person's second factor, so that their password signs in alone until they set up another.
#[operation(
    admin, user_id = "The person's synchronised id", 200 = "It is removed",
    403 = "The second factor is the operator's own", 404 = "The person has no second factor",
)]
pub async fn reset_second_factor(
    State(auth): State<AuthState>,
    Identified(caller): Identified,
    PathParameter(user_id): PathParameter,
) -> Result<Envelope<()>> {
    let (actor, tenant) = (Actor::caller(&caller), Arc::clone(&caller.tenant));
    if caller.is_signed_in_to(&tenant) && caller.user_id() == Some(user_id.as_str()) {
        return Err(Error::forbidden("userId: another operator has to reset your second factor"));
    }
    auth.store
        .write(move |transaction| {
            Box::pin(async move {
                let owner = FactorOwner { tenant_id: tenant.id, user_id };
                if !second_factor::remove(transaction, &owner).await? {
                    return Err(Error::not_found("userId: the person has no second factor"));
                }
                transaction.invalidate(Cached::Identities(tenant.id));
                let event = AuditEvent::new("reset", "second-factor", owner.user_id);
                Ok(audit::record(transaction, &actor, &tenant, vec![event]).await?)
            })
        })
        .await?;
    Ok(Envelope::of(()))
}

/// Ends one session of a person.
#[operation(
    admin, user_id = "The person's synchronised id", id = "The session's id", 200 = "It has ended",
    404 = "The person has no such session",
)]
pub async fn end_session_of_person(
    State(auth): State<AuthState>,
    Identified(caller): Identified,
    PathParameter((user_id, id)): PathParameter<(String, String)>,
) -> Result<Envelope<()>> {
    let no_session = || Error::not_found("id: the person has no such session");
    let session = SessionId::from_digits(&id).ok_or_else(no_session)?;
    let (actor, tenant) = (Actor::caller(&caller), Arc::clone(&caller.tenant));
    auth.store
        .write(move |transaction| {
            Box::pin(async move {
                if !sessions::end_one(transaction, tenant.id, &user_id, session).await? {
                    return Err(no_session());
                }
                transaction.invalidate(Cached::Identities(tenant.id));
                let event = AuditEvent::new("end", "session", id).with("userId", user_id);
                Ok(audit::record(transaction, &actor, &tenant, vec![event]).await?)
            })
        })
        .await?;
    Ok(Envelope::of(()))
}

async fn find_account(reader: &Connection, tenant_id: i64, user_id: &str) -> Result<PersonAccount> {
    find_person_account(reader, tenant_id, user_id).await?.ok_or_else(no_person)
}

fn no_person() -> Error {
    Error::not_found("userId: the tenant has no such person")
}

fn names_of(account: &PersonAccount) -> impl Iterator<Item = &str> {
    let optional = [&account.mobile, &account.details.email];
    [&account.name, &account.login_id, &account.user_id]
        .into_iter()
        .chain(optional.into_iter().flatten())
        .map(String::as_str)
}

/// The sessions by person that hold for these accounts.
async fn find_sessions(
    auth: &AuthState,
    tenant_id: i64,
    accounts: &[PersonAccount],
) -> Result<HashMap<String, Vec<LiveSession>>> {
    let may_sign_in = accounts.iter().filter(|account| account.status == 1 && !account.is_deleted);
    let accounts: HashMap<&str, &PersonAccount> =
        may_sign_in.map(|account| (account.user_id.as_str(), account)).collect();
    let user_ids: Vec<&str> = accounts.keys().copied().collect();
    let live = auth.authenticator.sessions().find_live(auth.store.reader(), tenant_id, &user_ids).await?;
    let mut sessions: HashMap<String, Vec<LiveSession>> = HashMap::new();
    for session in live {
        let account = accounts.get(session.user_id.as_str());
        if account.is_some_and(|account| session.holds_for(account.epoch, &account.login_id)) {
            sessions.entry(session.user_id.clone()).or_default().push(session);
        }
    }
    Ok(sessions)
}

impl From<PersonAccount> for PersonSummary {
    fn from(account: PersonAccount) -> Self {
        Self {
            user_id: account.user_id,
            login_id: account.login_id,
            name: account.name,
            org_id: account.org_id,
            org_name: account.org_name,
            status: account.status,
            is_hidden: account.is_hidden,
            is_deleted: account.is_deleted,
            updated_at: account.updated_at,
        }
    }
}
