//! `GET /session/start`: sign-in by login page or issuer.

use axum::{
    extract::{Request, State},
    http::header,
    response::Response,
};
use trawl_macros::operation;
use url::{Host, Url};

use super::{
    SignInOutcome, Visit, page, pending::PendingSignIn, place::Place, redirect_uri, send_to, usual_tenant,
};
use crate::{
    auth::{
        AuthState,
        issuers::{SignIn, SignInRequest},
        sessions::{application, cookies},
        tenants::{self, Tenant},
    },
    error::{Error, Result},
};

/// Marks a request redirected to the public address.
const MOVED: &str = "moved";

/// Starts a sign-in; `signin` reports a failure.
#[operation(
    identity, security(()),
    params(
        ("tenant" = Option<String>, Query, description = "The code of the tenant to sign in to. Without it, `web.tenant`, or the only one"),
        ("issuer" = Option<String>, Query, description = "The issuer to sign in at, as `/session` names it"),
        ("to" = Option<String>, Query, description = "The page to go to: a path below the server's address, such as `/console`"),
        ("moved" = Option<String>, Query, description = "Given where this server sent the browser here"),
    ),
    303 = "To the login page or the issuer; or to `to`, with `signin` `refused`, `expired`, `busy`, `unknown` or `failed`",
)]
pub async fn begin_sign_in(State(auth): State<AuthState>, request: Request) -> Result<Response> {
    let visit = Visit::read(&auth, request)?;
    let page = page(&auth, &visit.parameter("to").unwrap_or_default())?;
    Ok(match begin(&auth, &visit, &page).await {
        Ok(response) => response,
        Err(outcome) => send_to(&page.with_outcome(Some(outcome.as_str())), Vec::new()),
    })
}

async fn begin(auth: &AuthState, visit: &Visit, page: &Place) -> Result<Response, SignInOutcome> {
    if is_nowhere(auth) {
        tracing::warn!("signing in to the pages requires public_url");
        return Err(SignInOutcome::Failed);
    }
    // Cookies belong to a host, so a sign-in must stay on one.
    if !visit.has(MOVED) && !is_at_public_url(auth, visit) {
        return Ok(send_to(&public_address_of(auth, visit)?, Vec::new()));
    }
    let issuer = visit.parameter("issuer");
    let issuer = issuer
        .map(|id| auth.authenticator.issuers().sign_in(&id).ok_or(SignInOutcome::Unknown))
        .transpose()?;
    let tenant = find_tenant(auth, visit.parameter("tenant"), issuer).await?;
    // Disabled applications and frozen tenants admit nobody.
    if tenant.is_frozen {
        return Err(SignInOutcome::Refused);
    }
    let redirect_uri = redirect_uri(auth);
    let application = auth.authenticator.page_application(&auth.keys, &tenant, &redirect_uri).await?;
    if application.is_disabled {
        return Err(SignInOutcome::Refused);
    }
    let browser = match cookies::browser_of(auth, &visit.headers) {
        Some(browser) => browser,
        None => cookies::new_browser()?,
    };
    let pending = PendingSignIn::new(tenant.id, issuer, page.path())?;
    let state = pending.seal(auth, &browser)?;
    let url = match issuer {
        Some(issuer) => {
            issuer
                .address(SignInRequest {
                    redirect_uri: &redirect_uri,
                    state: &state,
                    nonce: &pending.nonce,
                    code_challenge: pending.challenge().as_str(),
                })
                .await?
        }
        None => login_page(auth, &tenant, &pending, &state)?,
    };
    Ok(send_to(&url, vec![cookies::keep_browser(auth, browser)?]))
}

async fn find_tenant(
    auth: &AuthState,
    said: Option<String>,
    issuer: Option<&SignIn>,
) -> Result<Tenant, SignInOutcome> {
    let of_issuer = issuer.map(|issuer| issuer.tenant().to_owned());
    if said.is_some() && of_issuer.is_some() && said != of_issuer {
        return Err(SignInOutcome::Unknown);
    }
    let tenant = match said.or(of_issuer) {
        Some(code) => tenants::find_by_code(auth.store.reader(), &code).await?,
        None => usual_tenant(auth).await?,
    };
    tenant.ok_or(SignInOutcome::Unknown)
}

fn login_page(auth: &AuthState, tenant: &Tenant, pending: &PendingSignIn, state: &str) -> Result<Url> {
    let (client_id, redirect_uri) = (application::client_id(tenant.id), redirect_uri(auth));
    let challenge = pending.challenge();
    let parameters = [
        ("response_type", "code"),
        ("client_id", client_id.as_str()),
        ("redirect_uri", redirect_uri.as_str()),
        ("code_challenge", challenge.as_str()),
        ("code_challenge_method", "S256"),
        ("state", state),
    ];
    address(&format!("{}/oauth2/authorize", auth.public_url), &parameters)
}

/// Listening on all addresses, without `public_url`.
fn is_nowhere(auth: &AuthState) -> bool {
    match Url::parse(&auth.public_url).ok().as_ref().and_then(Url::host) {
        Some(Host::Ipv4(address)) => address.is_unspecified(),
        Some(Host::Ipv6(address)) => address.is_unspecified(),
        _ => false,
    }
}

fn is_at_public_url(auth: &AuthState, visit: &Visit) -> bool {
    let Ok(public) = Url::parse(&auth.public_url) else { return true };
    let Some(host) = visit.headers.get(header::HOST) else { return true };
    let called =
        host.to_str().ok().and_then(|host| Url::parse(&format!("{}://{host}", public.scheme())).ok());
    called.is_some_and(|called| called.origin() == public.origin())
}

fn public_address_of(auth: &AuthState, visit: &Visit) -> Result<Url> {
    let mut url = address(&format!("{}/session/start", auth.public_url), &[])?;
    url.set_query(Some(&visit.query).filter(|query| !query.is_empty()).map(String::as_str));
    url.query_pairs_mut().append_pair(MOVED, "1");
    Ok(url)
}

fn address(text: &str, parameters: &[(&str, &str)]) -> Result<Url> {
    let url = if parameters.is_empty() { Url::parse(text) } else { Url::parse_with_params(text, parameters) };
    url.map_err(Error::internal)
}
