//! Browser sign-in, status and sign-out.
//!
//! Pages never see a token: scripts cannot read the session's cookie.

pub mod callback;
mod pending;
mod place;
pub mod second_factor;
pub mod start;

use std::net::IpAddr;

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;
use trawl_macros::operation;
use url::{Url, form_urlencoded};

use self::place::Place;
use crate::{
    auth::{
        AuthState,
        caller::{Caller, SessionRole},
        credential::{is_of_a_page, session_of},
        issuers::SignIn,
        sessions::cookies,
        tenants::{self, Tenant},
    },
    error::{Error, ErrorKind, Result},
    http::{client_address::client_address, envelope::Envelope},
    platform::users::{lookups::find_avatar, picture::public_address},
};

/// The browser's session, or the ways to sign in.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(untagged)]
pub enum SessionShown {
    /// Signed in.
    In(SessionHere),
    /// Signed out.
    Out(NoSession),
}

/// The signed-in person.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionHere {
    /// true.
    signed_in: bool,
    /// The person.
    person: SessionPerson,
    /// Tenant.
    tenant: SessionTenant,
    /// Whether the session may use operations of the scopes `admin` and `tenants`.
    operator: bool,
    /// Whether the operator has to set up a second factor first (`console.require_second_factor`).
    needs_second_factor: bool,
}

/// The signed-in person.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionPerson {
    /// Synchronised id.
    user_id: String,
    /// Login account.
    login_id: String,
    /// Name.
    name: String,
    /// Avatar's address, or null.
    picture: Option<String>,
}

/// The signed-in person's tenant.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionTenant {
    /// The eCode.
    code: String,
    /// Enterprise name.
    name: String,
    /// Whether the search page reports finished searches.
    search_insights: bool,
}

/// The ways to sign in.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NoSession {
    /// false.
    signed_in: bool,
    /// The default tenant's code; null if it must be given.
    tenant: Option<String>,
    /// External issuers.
    issuers: Vec<SignInIssuer>,
}

/// An issuer for sign-in.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct SignInIssuer {
    /// `issuer` parameter of `/session/start`.
    id: String,
    /// Display name.
    name: String,
    /// Code of its tenant.
    tenant: String,
}

impl From<&SignIn> for SignInIssuer {
    fn from(issuer: &SignIn) -> Self {
        let owned = str::to_owned;
        Self { id: owned(issuer.id()), name: owned(issuer.name()), tenant: owned(issuer.tenant()) }
    }
}

/// Returns the browser's session; requires the header `x-trawl-session: 1`.
#[operation(
    identity, security(()),
    params(("x-trawl-session" = Option<String>, Header, description = "Must be `1`, or the session is ignored")),
    200 = "Who is signed in, or else the ways to sign in": Envelope<SessionShown>,
    503 = "The server is unavailable; `Retry-After` says when to come back",
)]
pub async fn show_session(State(auth): State<AuthState>, headers: HeaderMap) -> Result<Response> {
    let session = session_of(&auth, &headers).unwrap_or_default();
    let caller = match session {
        None => None,
        Some(id) => match auth.authenticator.authenticate_session(id, SessionRole::Person, None).await {
            Ok(caller) => Some(caller),
            Err(error) if matches!(error.kind, ErrorKind::Unauthorized | ErrorKind::Forbidden) => None,
            Err(error) => return Err(error),
        },
    };
    let shown = match caller {
        Some(caller) => SessionShown::In(describe(&auth, &caller).await?),
        None => SessionShown::Out(NoSession {
            signed_in: false,
            tenant: usual_tenant(&auth).await?.map(|tenant| tenant.code),
            issuers: auth.authenticator.issuers().sign_ins().iter().map(SignInIssuer::from).collect(),
        }),
    };
    Ok(without_storing(Envelope::of(shown).into_response()))
}

/// Signs out on request of a page of this server.
#[operation(
    identity, security(()),
    params(("x-trawl-session" = Option<String>, Header, description = "Must be `1`, or the session stays")),
    200 = "Nobody is signed in any more": Envelope<Option<String>>,
    401 = "The header is missing",
    403 = "The request comes from another site's page",
    503 = "The server is unavailable; `Retry-After` says when to come back",
)]
pub async fn end_session(State(auth): State<AuthState>, request: Request) -> Result<Response> {
    let Visit { address, headers, .. } = Visit::read(&auth, request)?;
    // Browsers withhold cookies cross-site, and would still delete them.
    if !is_of_a_page(&auth, &headers)? {
        return Err(Error::unauthorized("x-trawl-session: 1 is needed to sign out"));
    }
    if let Some(id) = cookies::session_of(&auth, &headers)
        && let Some((tenant_id, user_id)) = auth.authenticator.end_session(id).await?
    {
        tracing::info!(target: "trawl::audit", %address, tenant_id, user_id, "signed out");
    }
    let mut response = without_storing(Envelope::of(None::<()>).into_response());
    response.headers_mut().insert(header::SET_COOKIE, cookies::drop_session(&auth)?);
    Ok(response)
}

async fn describe(auth: &AuthState, caller: &Caller) -> Result<SessionHere> {
    let person = &caller.require_user()?.person;
    let reader = auth.store.reader();
    let picture = find_avatar(reader, caller.tenant.id, &person.user_id).await?;
    Ok(SessionHere {
        signed_in: true,
        person: SessionPerson {
            user_id: person.user_id.clone(),
            login_id: person.login_id.clone(),
            name: person.name.clone(),
            picture: picture.map(|picture| public_address(&auth.public_url, &picture)),
        },
        tenant: SessionTenant {
            code: caller.tenant.code.clone(),
            name: caller.tenant.name.clone(),
            search_insights: caller.tenant.search_insights,
        },
        operator: !caller.needs_second_factor()
            && auth.authenticator.sessions().is_operator(&person.login_id, &caller.tenant),
        needs_second_factor: caller.needs_second_factor(),
    })
}

/// The default tenant: configured, or the only one.
async fn usual_tenant(auth: &AuthState) -> Result<Option<Tenant>> {
    let reader = auth.store.reader();
    let code = &*auth.usual_tenant;
    if !code.is_empty() {
        return Ok(tenants::find_by_code(reader, code).await?);
    }
    Ok(tenants::find_only(reader).await?)
}

/// A sign-in's failure, as the parameter `signin`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SignInOutcome {
    Refused,
    Expired,
    /// The server or issuer is overloaded.
    Busy,
    Unknown,
    Failed,
}

impl SignInOutcome {
    fn as_str(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Expired => "expired",
            Self::Busy => "busy",
            Self::Unknown => "unknown",
            Self::Failed => "failed",
        }
    }

    fn of(error: &Error) -> Self {
        error.log();
        match error.kind {
            ErrorKind::Unavailable | ErrorKind::TooManyRequests => Self::Busy,
            ErrorKind::Unauthorized | ErrorKind::Forbidden => Self::Refused,
            _ => Self::Failed,
        }
    }
}

impl From<Error> for SignInOutcome {
    fn from(error: Error) -> Self {
        Self::of(&error)
    }
}

impl From<crate::store::DatabaseError> for SignInOutcome {
    fn from(error: crate::store::DatabaseError) -> Self {
        Self::of(&error.into())
    }
}

fn redirect_uri(auth: &AuthState) -> String {
    format!("{}/session/callback", auth.public_url)
}

fn page(auth: &AuthState, path: &str) -> Result<Place> {
    let place = Place::read(path, &auth.public_url);
    place.ok_or_else(|| Error::internal("the server's own address is malformed"))
}

struct Visit {
    address: IpAddr,
    headers: HeaderMap,
    query: String,
}

impl Visit {
    fn read(auth: &AuthState, request: Request) -> Result<Self> {
        let address = client_address(&request, &auth.trusted_proxies)?;
        let (parts, _) = request.into_parts();
        let query = parts.uri.query().unwrap_or_default().to_owned();
        Ok(Self { address, headers: parts.headers, query })
    }

    fn has(&self, name: &str) -> bool {
        form_urlencoded::parse(self.query.as_bytes()).any(|(key, _)| key == name)
    }

    fn parameter(&self, name: &str) -> Option<String> {
        let mut values = form_urlencoded::parse(self.query.as_bytes()).filter(|(key, _)| key == name);
        let value = values.next().map(|(_, value)| value.into_owned());
        value.filter(|value| !value.is_empty() && values.next().is_none())
    }
}

fn send_to(url: &Url, cookies: Vec<HeaderValue>) -> Response {
    let Ok(location) = HeaderValue::try_from(url.as_str()) else {
        return Error::internal("an address cannot be sent in a header").into_response();
    };
    let mut response = without_storing(StatusCode::SEE_OTHER.into_response());
    response.headers_mut().insert(header::LOCATION, location);
    for cookie in cookies {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    response
}

fn without_storing(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}
