//! Being signed in to the pages: who is, how one gets there, and how it ends.
//!
//! Pages never see a token. A sign-in goes by way of the login page as that of any application does, but what comes of it is a
//! session, which the browser holds in a cookie that no script can read.

pub mod callback;
mod pending;
mod place;
pub mod start;

use std::{net::IpAddr, sync::Arc};

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;
use url::{Url, form_urlencoded};

use self::place::Place;
use super::{
    address::client_address,
    cookies,
    credential::{is_of_a_page, session_of},
    envelope::{Envelope, FailureEnvelope},
};
use crate::{
    app::App,
    auth::{
        caller::{Caller, Role},
        issuers::SignIn,
        tenants::{self, Tenant},
    },
    error::{Error, Kind, Result},
    platform::users::{pages, picture::public_address},
};

/// Who is signed in in this browser, or by what one can.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(untagged)]
pub enum SessionShown {
    /// Someone is.
    In(SessionHere),
    /// Nobody is.
    Out(NoSession),
}

/// Who is signed in.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionHere {
    /// true.
    signed_in: bool,
    /// Who he is.
    person: SessionPerson,
    /// Whose he is.
    tenant: SessionTenant,
    /// Whether he operates the server: by a session too, operations of the scopes `admin` and `tenants` are his.
    operator: bool,
}

/// A person who is signed in.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionPerson {
    /// The id on the synchronising side.
    user_id: String,
    /// The login account.
    login_id: String,
    /// The name.
    name: String,
    /// The address of the avatar; null where there is none.
    picture: Option<String>,
}

/// The tenant of someone who is signed in.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct SessionTenant {
    /// The eCode.
    code: String,
    /// The enterprise's name.
    name: String,
}

/// By what one can sign in.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NoSession {
    /// false.
    signed_in: bool,
    /// The code of the tenant to sign in to; null where one has to say it.
    tenant: Option<String>,
    /// Where else one can prove who one is.
    issuers: Vec<SignInIssuer>,
}

/// An issuer by which people sign in.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct SignInIssuer {
    /// What `/session/start` takes as `issuer`.
    id: String,
    /// What people call it.
    name: String,
    /// The code of the tenant whose people it knows.
    tenant: String,
}

impl From<&SignIn> for SignInIssuer {
    fn from(issuer: &SignIn) -> Self {
        let owned = str::to_owned;
        Self { id: owned(issuer.id()), name: owned(issuer.name()), tenant: owned(issuer.tenant()) }
    }
}

/// Says who is signed in in this browser. A session counts where the header `x-trawl-session: 1` is sent along, as in every
/// operation.
#[utoipa::path(
    get, path = "/session", tag = "identity", security(()),
    params(("x-trawl-session" = Option<String>, Header, description = "`1`, for the session to count")),
    responses(
        (status = 200, description = "Who is signed in; where nobody is, by what one can", body = Envelope<SessionShown>),
        (status = 503, description = "The server cannot say now; `Retry-After` says when to come back", body = FailureEnvelope),
    )
)]
pub async fn show_session(State(app): State<Arc<App>>, headers: HeaderMap) -> Result<Response> {
    let session = session_of(&app, &headers).unwrap_or_default();
    let caller = match session {
        None => None,
        Some(id) => match app.authenticator.authenticate_session(id, Role::Person, None).await {
            Ok(caller) => Some(caller),
            Err(error) if matches!(error.kind, Kind::Unauthorized | Kind::Forbidden) => None,
            Err(error) => return Err(error),
        },
    };
    let shown = match caller {
        Some(caller) => SessionShown::In(describe(&app, &caller).await?),
        None => SessionShown::Out(NoSession {
            signed_in: false,
            tenant: usual_tenant(&app).await?.map(|tenant| tenant.code),
            issuers: app.authenticator.issuers().sign_ins().iter().map(SignInIssuer::from).collect(),
        }),
    };
    Ok(without_storing(Envelope::of(shown).into_response()))
}

/// Signs out, where a page of this server asks. Nobody being signed in is no failure.
#[utoipa::path(
    post, path = "/session/end", tag = "identity", security(()),
    params(("x-trawl-session" = Option<String>, Header, description = "`1`: without it, a session stays what it is")),
    responses(
        (status = 200, description = "Nobody is signed in any more", body = Envelope<Option<String>>),
        (status = 401, description = "The header is missing", body = FailureEnvelope),
        (status = 403, description = "A page of another site asks", body = FailureEnvelope),
        (status = 503, description = "The server cannot do it now; `Retry-After` says when to come back", body = FailureEnvelope),
    )
)]
pub async fn end_session(State(app): State<Arc<App>>, request: Request) -> Result<Response> {
    let Visit { address, headers, .. } = Visit::read(&app, request)?;
    // Whether or not there is a cookie: browsers keep it from what other sites ask, and would forget it all the same.
    if !is_of_a_page(&app, &headers)? {
        return Err(Error::unauthorized("x-trawl-session: 1 is needed to sign out"));
    }
    if let Some(id) = cookies::session_of(&app, &headers)
        && let Some((tenant_id, user_id)) = app.authenticator.end_session(id).await?
    {
        tracing::info!(target: "trawl::audit", %address, tenant_id, user_id, "signed out");
    }
    let mut response = without_storing(Envelope::of(None::<()>).into_response());
    response.headers_mut().insert(header::SET_COOKIE, cookies::drop_session(&app)?);
    Ok(response)
}

async fn describe(app: &App, caller: &Caller) -> Result<SessionHere> {
    let person = &caller.require_user()?.person;
    let reader = app.store.reader();
    let picture = pages::find_avatar(reader, caller.tenant.id, &person.user_id).await?;
    Ok(SessionHere {
        signed_in: true,
        person: SessionPerson {
            user_id: person.user_id.clone(),
            login_id: person.login_id.clone(),
            name: person.name.clone(),
            picture: picture.map(|picture| public_address(&app.config.public_url(), &picture)),
        },
        tenant: SessionTenant { code: caller.tenant.code.clone(), name: caller.tenant.name.clone() },
        operator: app.authenticator.sessions().is_operator(&person.login_id, &caller.tenant),
    })
}

/// The tenant that people sign in to who name none: the one that the settings name, or the only one.
async fn usual_tenant(app: &App) -> Result<Option<Tenant>> {
    let reader = app.store.reader();
    let code = app.config.web.tenant.as_str();
    if !code.is_empty() {
        return Ok(tenants::find_by_code(reader, code).await?);
    }
    Ok(tenants::find_only(reader).await?)
}

/// Why nobody is signed in after a sign-in, as the page is told in the parameter `signin`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// He may not, or did not want to.
    Refused,
    /// It took too long.
    Expired,
    /// The server, or the issuer, has too much to do.
    Busy,
    /// There is no such tenant or issuer.
    Unknown,
    /// Anything else.
    Failed,
}

impl Outcome {
    fn as_str(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Expired => "expired",
            Self::Busy => "busy",
            Self::Unknown => "unknown",
            Self::Failed => "failed",
        }
    }

    /// What a failure comes to, which is logged if it is ours.
    fn of(error: &Error) -> Self {
        error.log();
        match error.kind {
            Kind::Unavailable | Kind::TooManyRequests => Self::Busy,
            Kind::Unauthorized | Kind::Forbidden => Self::Refused,
            _ => Self::Failed,
        }
    }
}

impl From<Error> for Outcome {
    fn from(error: Error) -> Self {
        Self::of(&error)
    }
}

impl From<sea_orm::DbErr> for Outcome {
    fn from(error: sea_orm::DbErr) -> Self {
        Self::of(&error.into())
    }
}

/// Where the login page, or an issuer, sends people back to.
fn redirect_uri(app: &App) -> String {
    format!("{}/session/callback", app.config.public_url())
}

/// The page that a path below the public address names.
fn page(app: &App, path: &str) -> Result<Place> {
    let place = Place::read(path, &app.config.public_url());
    place.ok_or_else(|| Error::internal("the server's own address is none"))
}

/// What a browser brings that is on its way here or there.
struct Visit {
    address: IpAddr,
    headers: HeaderMap,
    query: String,
}

impl Visit {
    fn read(app: &App, request: Request) -> Result<Self> {
        let address = client_address(&request, &app.config.trusted_proxies)?;
        let (parts, _) = request.into_parts();
        let query = parts.uri.query().unwrap_or_default().to_owned();
        Ok(Self { address, headers: parts.headers, query })
    }

    /// Whether a parameter is given, in whatever form.
    fn has(&self, name: &str) -> bool {
        form_urlencoded::parse(self.query.as_bytes()).any(|(key, _)| key == name)
    }

    /// A parameter that is given once, and not empty.
    fn parameter(&self, name: &str) -> Option<String> {
        let mut values = form_urlencoded::parse(self.query.as_bytes()).filter(|(key, _)| key == name);
        let value = values.next().map(|(_, value)| value.into_owned());
        value.filter(|value| !value.is_empty() && values.next().is_none())
    }
}

/// To another address, keeping these cookies.
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

/// Nothing on the way keeps it, and where it stood is not told.
fn without_storing(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}
