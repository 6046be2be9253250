//! Validates authorization requests with PKCE.
//!
//! (RFC 6749 §4.1, RFC 7636, RFC 9207.)
//!
//! The person sees failures until the redirect URI is verified, the application later ones.

pub mod codes;
pub mod redirect;

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use url::{Url, form_urlencoded};

use crate::{
    auth::{
        applications::{self, Application},
        tenants::{self, Tenant},
    },
    error::Error,
    identity::{frozen::FROZEN, scopes::Scopes},
    store::Store,
};

/// Limits `state`, `login_hint` and `device_id`.
const STATE_BYTES: usize = 4_096;
const HINT_BYTES: usize = 256;

/// Base64 length of a SHA-256 digest (RFC 7636 §4.2).
const CHALLENGE_BYTES: usize = 43;

/// A validated authorization request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuthorizationRequest {
    /// Application.
    pub client_id: String,
    /// Redirect URI, exactly as given.
    pub redirect_uri: String,
    /// Opaque state, returned to the application.
    pub state: Option<String>,
    /// Requested scopes.
    pub scopes: Scopes,
    /// SHA-256 code challenge (RFC 7636).
    pub code_challenge: String,
    /// Expected login account.
    pub login_hint: Option<String>,
    /// The device that the token is bound to.
    pub device_id: Option<String>,
}

/// Why a request was refused.
#[derive(Debug)]
pub enum Refusal {
    /// Shown to the person.
    Shown(Shown),
    /// Reported to the application by a redirect to this address.
    Told(Box<Url>),
    /// Another failure.
    Failed(Error),
}

/// A failure shown to the person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// Unknown application, or out of use.
    UnknownApplication,
    /// The redirect URI is not registered.
    UnknownRedirect,
}

impl<E: Into<Error>> From<E> for Refusal {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// The requesting application and its tenant.
#[derive(Clone, Debug)]
pub struct RequestingApplication {
    /// Application.
    pub application: Application,
    /// Tenant.
    pub tenant: Tenant,
}

const NAMES: [&str; 13] = [
    "client_id",
    "code_challenge",
    "code_challenge_method",
    "device_id",
    "login_hint",
    "prompt",
    "redirect_uri",
    "request",
    "request_uri",
    "response_mode",
    "response_type",
    "scope",
    "state",
];

struct AuthorizationParameters(HashMap<&'static str, Option<String>>);

impl AuthorizationParameters {
    fn read(query: &str) -> Self {
        let mut parameters = HashMap::new();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let Some(name) = NAMES.into_iter().find(|known| *known == name) else { continue };
            parameters
                .entry(name)
                .and_modify(|value| *value = None)
                .or_insert_with(|| Some(value.into_owned()));
        }
        Self(parameters)
    }

    /// An empty parameter counts as absent (RFC 6749 §3.1).
    fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_deref().filter(|value| !value.is_empty())
    }

    fn first_given_twice(&self) -> Option<&'static str> {
        self.0.iter().filter(|(_, value)| value.is_none()).map(|(name, _)| *name).min()
    }
}

type Failure = (&'static str, String);

/// Reads and checks a request; `issuer` names this server (RFC 9207).
pub async fn read(
    store: &Store,
    issuer: &str,
    query: &str,
) -> Result<(AuthorizationRequest, RequestingApplication), Refusal> {
    let parameters = AuthorizationParameters::read(query);
    let client_id = parameters.get("client_id").ok_or(Refusal::Shown(Shown::UnknownApplication))?;
    let application = find_application(store, client_id).await?;
    let redirect_uri = parameters.get("redirect_uri").ok_or(Refusal::Shown(Shown::UnknownRedirect))?;
    check_redirect(&application, redirect_uri)?;

    let state = parameters.get("state").filter(|state| state.len() <= STATE_BYTES);
    let tell = |failure| Refusal::told(issuer, redirect_uri, state, failure);
    let asking = find_tenant(store, application).await?.map_err(tell)?;
    let request = check(&parameters, &asking.application).map_err(tell)?;
    Ok((request, asking))
}

/// Checks again, after login, that the request is allowed.
pub async fn confirm(
    store: &Store,
    issuer: &str,
    request: &AuthorizationRequest,
) -> Result<RequestingApplication, Refusal> {
    let application = find_application(store, &request.client_id).await?;
    check_redirect(&application, &request.redirect_uri)?;
    let tell = |failure| Refusal::told(issuer, &request.redirect_uri, request.state.as_deref(), failure);
    find_tenant(store, application).await?.map_err(tell)
}

/// The redirect to the application with a code.
pub fn answer(issuer: &str, request: &AuthorizationRequest, code: &str) -> Option<Url> {
    send_back(issuer, &request.redirect_uri, request.state.as_deref(), &[("code", code)])
}

impl Refusal {
    fn told(issuer: &str, redirect_uri: &str, state: Option<&str>, (error, description): Failure) -> Self {
        let parameters = [("error", error), ("error_description", description.as_str())];
        match send_back(issuer, redirect_uri, state, &parameters) {
            Some(url) => Self::Told(Box::new(url)),
            None => Self::Shown(Shown::UnknownRedirect),
        }
    }
}

fn send_back(
    issuer: &str,
    redirect_uri: &str,
    state: Option<&str>,
    parameters: &[(&str, &str)],
) -> Option<Url> {
    let state = state.map(|state| ("state", state));
    let parameters: Vec<_> = parameters.iter().copied().chain(state).chain([("iss", issuer)]).collect();
    redirect::with_parameters(redirect_uri, &parameters)
}

async fn find_application(store: &Store, client_id: &str) -> Result<Application, Refusal> {
    let application = applications::find(store.reader(), client_id).await?;
    application
        .filter(|application| !application.is_disabled)
        .ok_or(Refusal::Shown(Shown::UnknownApplication))
}

fn check_redirect(application: &Application, redirect_uri: &str) -> Result<(), Refusal> {
    let is_its_own =
        application.login.redirect_uris.iter().any(|registered| redirect::matches(registered, redirect_uri));
    if is_its_own { Ok(()) } else { Err(Refusal::Shown(Shown::UnknownRedirect)) }
}

async fn find_tenant(
    store: &Store,
    application: Application,
) -> Result<Result<RequestingApplication, Failure>, Refusal> {
    let tenant = tenants::find_by_id(store.reader(), application.tenant_id).await?;
    let tenant = tenant.ok_or(Refusal::Shown(Shown::UnknownApplication))?;
    if tenant.is_frozen {
        return Ok(Err(("access_denied", FROZEN.to_owned())));
    }
    Ok(Ok(RequestingApplication { application, tenant }))
}

fn check(
    parameters: &AuthorizationParameters,
    application: &Application,
) -> Result<AuthorizationRequest, Failure> {
    let invalid = |description: &str| ("invalid_request", description.to_owned());
    if let Some(name) = parameters.first_given_twice() {
        return Err(("invalid_request", format!("{name}: must be given only once")));
    }
    let too_long = |name, most| parameters.get(name).is_some_and(|value: &str| value.len() > most);
    let bounds = [("state", STATE_BYTES), ("login_hint", HINT_BYTES), ("device_id", HINT_BYTES)];
    if let Some((name, most)) = bounds.into_iter().find(|(name, most)| too_long(name, *most)) {
        return Err(("invalid_request", format!("{name}: must be at most {most} bytes")));
    }
    if parameters.get("request").is_some() {
        return Err(("request_not_supported", "request: request objects are not supported".to_owned()));
    }
    if parameters.get("request_uri").is_some() {
        return Err(("request_uri_not_supported", "request_uri: is not supported".to_owned()));
    }
    match parameters.get("response_type") {
        Some("code") => {}
        Some(_) => return Err(("unsupported_response_type", "response_type must be code".to_owned())),
        None => return Err(invalid("response_type is missing")),
    }
    if parameters.get("response_mode").is_some_and(|mode| mode != "query") {
        return Err(invalid("response_mode must be query"));
    }
    if parameters.get("code_challenge_method") != Some("S256") {
        return Err(invalid("code_challenge_method must be S256"));
    }
    let is_challenge = |text: &&str| {
        let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        text.len() == CHALLENGE_BYTES && text.bytes().all(is_base64)
    };
    let Some(code_challenge) = parameters.get("code_challenge").filter(is_challenge) else {
        return Err(invalid("code_challenge must be the base64url of a SHA-256 digest, 43 characters"));
    };
    // There is no session to reuse.
    if parameters.get("prompt").is_some_and(|prompt| prompt.split(' ').any(|word| word == "none")) {
        return Err(("login_required", "prompt: signing in requires the login page".to_owned()));
    }
    let owned = |name| parameters.get(name).map(str::to_owned);
    Ok(AuthorizationRequest {
        client_id: application.client_id.clone(),
        redirect_uri: owned("redirect_uri").unwrap_or_default(),
        state: owned("state"),
        scopes: check_scopes(parameters.get("scope"), &application.scopes.for_user())?,
        code_challenge: code_challenge.to_owned(),
        login_hint: owned("login_hint"),
        device_id: owned("device_id"),
    })
}

fn check_scopes(asked: Option<&str>, possible: &Scopes) -> Result<Scopes, Failure> {
    let Some(asked) = asked.filter(|scope| !scope.trim().is_empty()) else { return Ok(possible.clone()) };
    // Not echoed: descriptions allow fewer characters.
    let unknown = |_| ("invalid_scope", "scope: names an unknown scope".to_owned());
    let asked = Scopes::parse(asked).map_err(unknown)?;
    match asked.first_outside(possible) {
        Some(scope) => Err(("invalid_scope", format!("scope: this token may not carry {scope}"))),
        None => Ok(asked),
    }
}
