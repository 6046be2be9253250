//! What the authorization endpoint asks of a request: authorization code with PKCE (RFC 6749 §4.1, RFC 7636, RFC 9207;
//! decisions 3.4 b).
//!
//! A failure is shown to the person until the redirect URI is known to be the application's; from there on the application
//! is told, by way of the redirect URI.

pub mod codes;
pub mod redirect;

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use url::{Url, form_urlencoded};

use super::{
    applications::{self, Application},
    scopes::Scopes,
    tenants::{self, Tenant},
};
use crate::{error::Error, store::Store};

/// The longest `state`, `login_hint` and `device_id`, in bytes.
const STATE_BYTES: usize = 4_096;
const HINT_BYTES: usize = 256;

/// The characters of base64 of a SHA-256 digest (RFC 7636 §4.2).
const CHALLENGE_BYTES: usize = 43;

/// What an application asks for, checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuthorizationRequest {
    /// The application.
    pub client_id: String,
    /// Where the person is sent back to, letter for letter as it was given.
    pub redirect_uri: String,
    /// The application's own, given back to it.
    pub state: Option<String>,
    /// What the token is to allow.
    pub scopes: Scopes,
    /// The SHA-256 digest of what the application will prove itself by at the token endpoint (RFC 7636).
    pub code_challenge: String,
    /// Whom the application takes the person for.
    pub login_hint: Option<String>,
    /// The person's device, to which the token is bound (decisions 9.7).
    pub device_id: Option<String>,
}

/// Why a request is not carried on.
#[derive(Debug)]
pub enum Refusal {
    /// The person is told.
    Shown(Shown),
    /// The application is told, at this address.
    Told(Box<Url>),
    /// Something else failed: the store, for instance.
    Failed(Error),
}

/// What the person is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// There is no such application, or it is out of use.
    UnknownApplication,
    /// The redirect URI is not the application's.
    UnknownRedirect,
}

impl<E: Into<Error>> From<E> for Refusal {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// An application that may send people here, and its tenant.
#[derive(Clone, Debug)]
pub struct Asking {
    /// The application.
    pub application: Application,
    /// The tenant whose people it may have sign in.
    pub tenant: Tenant,
}

/// What is looked at of a request; everything else is ignored (RFC 6749 §3.1).
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

/// These parameters of a request; of one that was given twice nothing is known but that.
struct Parameters(HashMap<&'static str, Option<String>>);

impl Parameters {
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

    /// A parameter without a value counts as not given (RFC 6749 §3.1).
    fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_deref().filter(|value| !value.is_empty())
    }

    fn first_given_twice(&self) -> Option<&'static str> {
        self.0.iter().filter(|(_, value)| value.is_none()).map(|(name, _)| *name).min()
    }
}

/// A failure of RFC 6749 §4.1.2.1, and what is wrong for the application's developer.
type Failure = (&'static str, String);

/// Reads and checks a request. `issuer` is what this server calls itself (RFC 9207).
pub async fn read(
    store: &Store,
    issuer: &str,
    query: &str,
) -> Result<(AuthorizationRequest, Asking), Refusal> {
    let parameters = Parameters::read(query);
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

/// Whether what was asked for before the person signed in may still be had.
pub async fn confirm(store: &Store, issuer: &str, request: &AuthorizationRequest) -> Result<Asking, Refusal> {
    let application = find_application(store, &request.client_id).await?;
    check_redirect(&application, &request.redirect_uri)?;
    let tell = |failure| Refusal::told(issuer, &request.redirect_uri, request.state.as_deref(), failure);
    find_tenant(store, application).await?.map_err(tell)
}

/// Where the person is sent with a code.
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

async fn find_tenant(store: &Store, application: Application) -> Result<Result<Asking, Failure>, Refusal> {
    let tenant = tenants::find_by_id(store.reader(), application.tenant_id).await?;
    let tenant = tenant.ok_or(Refusal::Shown(Shown::UnknownApplication))?;
    if tenant.is_frozen {
        return Ok(Err(("access_denied", "tenant is frozen".to_owned())));
    }
    Ok(Ok(Asking { application, tenant }))
}

/// Everything that the application is told of.
fn check(parameters: &Parameters, application: &Application) -> Result<AuthorizationRequest, Failure> {
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
        return Err(("request_not_supported", "request: parameters are not taken from an object".to_owned()));
    }
    if parameters.get("request_uri").is_some() {
        return Err(("request_uri_not_supported", "request_uri: nothing is fetched".to_owned()));
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
    // Nobody is ever signed in here already.
    if parameters.get("prompt").is_some_and(|prompt| prompt.split(' ').any(|word| word == "none")) {
        return Err(("login_required", "prompt: nobody signs in without the login page".to_owned()));
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
    // What was asked for is not repeated: descriptions are of fewer characters than parameters.
    let unknown = |_| ("invalid_scope", "scope: names a scope that there is not".to_owned());
    let asked = Scopes::parse(asked).map_err(unknown)?;
    match asked.first_outside(possible) {
        Some(scope) => Err(("invalid_scope", format!("scope: this token may not carry {scope}"))),
        None => Ok(asked),
    }
}
