//! `GET` and `POST /oauth2/authorize`: the login page.
//!
//! (RFC 6749 §4.1, RFC 7636, RFC 9207.)
//!
//! The form holds the request, sealed with the browser's cookie against changes and login forgery. Each login serves
//! one application once.

mod known_browser;
mod second_factor;

use std::{net::IpAddr, time::Duration};

use axum::{
    extract::{Request, State},
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use trawl_macros::operation;

use self::{known_browser::KnownBrowser, second_factor::SentCode};
use super::page::{Form, Language, LoginMessage, render};
use crate::{
    auth::{
        AuthState,
        directory::Person,
        login::{self, Login},
        oauth::authorization::{
            self, AuthorizationRequest, Refusal, RequestingApplication,
            codes::{self, CodeGrant},
        },
        secrets::SecretCheckFor,
        sessions::cookies::{browser_of, keep_browser, new_browser},
        throttle::{Throttled, ThrottledAccount},
        tokens::epoch_seconds,
    },
    error::{Error, ErrorKind, Result},
    http::{
        client_address::client_address,
        extract::{check_content_type, read_body},
    },
    json,
    store::now_millis,
};

const FORM_LIFE: Duration = Duration::from_mins(15);

#[derive(Serialize, Deserialize)]
struct Sealed {
    request: AuthorizationRequest,
    expires_at: u64,
}

/// The filled login page.
#[derive(Deserialize, utoipa::ToSchema)]
struct LoginForm {
    /// The hidden field of the page.
    form: String,
    /// Login account; absent with `code`.
    #[serde(default)]
    login: String,
    /// Password; absent with `code`.
    #[serde(default)]
    #[schema(value_type = String)]
    password: SecretString,
    /// The code of the second factor, where the page asks for it.
    #[schema(value_type = Option<String>)]
    code: Option<SecretString>,
}

/// Shows the login page.
#[operation(
    identity, security(()),
    params(
        ("response_type" = String, Query, description = "`code`"),
        ("client_id" = String, Query, description = "The application"),
        ("redirect_uri" = String, Query, description =
            "A registered one, matched exactly; on the loopback interface the port may differ"),
        ("code_challenge" = String, Query, description = "RFC 7636"),
        ("code_challenge_method" = String, Query, description = "`S256`"),
        ("scope" = Option<String>, Query, description = "Default: every scope that a user token of the application may carry"),
        ("state" = Option<String>, Query, description = "Given back to the application"),
        ("login_hint" = Option<String>, Query, description = "Login account that the application expects"),
        ("device_id" = Option<String>, Query, description = "The person's device; unbinding it revokes the token"),
    ),
    (status = 200, description = "The login page", content_type = "text/html", body = String),
    303 = "Back to the application with `error`, `state` and `iss`",
    (status = 400, description = "A page: the application or its redirect URI is not known", content_type = "text/html"),
)]
pub async fn show_login(State(auth): State<AuthState>, request: Request) -> Response {
    let language = Language::of(request.headers());
    let query = request.uri().query().unwrap_or_default();
    match authorization::read(&auth.store, &auth.public_url, query).await {
        Ok((request_read, asking)) => {
            let browser = browser_of(&auth, request.headers());
            let opened = open_form(&auth, language, None, browser, request_read, &asking);
            opened.unwrap_or_else(|error| failed(language, &error))
        }
        Err(refusal) => refuse(language, refusal),
    }
}

/// Checks the login and redirects to the application with a code.
///
/// The page asks people with a second factor for its code, in a second form.
#[operation(
    identity, security(()),
    request_body(content_type = "application/x-www-form-urlencoded", content = LoginForm, description = "The login page's form"),
    303 = "Back to the application with `code`, or with `error`; with `state` and `iss`",
    (status = 200, description = "The login page: it asks for the code of the second factor", content_type = "text/html", body = String),
    (status = 400, description = "The login page: the form has expired, or is of another browser", content_type = "text/html"),
    (status = 403, description = "The login page: login account or password is wrong, or the code", content_type = "text/html"),
    (status = 429, description = "The login page: too many attempts; `Retry-After` says when to come back",
        content_type = "text/html"),
    (status = 408, description = "The login page: the form did not arrive in time", content_type = "text/html"),
    (status = 413, description = "The login page: the form is larger than its limit", content_type = "text/html"),
    (status = 415, description = "The login page: the body is not a form", content_type = "text/html"),
    (status = 503, description = "The login page: the server is unavailable; `Retry-After` says when to come back",
        content_type = "text/html"),
)]
pub async fn log_in(State(auth): State<AuthState>, request: Request) -> Response {
    let language = Language::of(request.headers());
    attempt(&auth, language, request).await.unwrap_or_else(|error| failed(language, &error))
}

async fn attempt(auth: &AuthState, language: Language, request: Request) -> Result<Response> {
    let address = client_address(&request, &auth.trusted_proxies)?;
    check_content_type(request.headers(), "application/x-www-form-urlencoded")?;
    let (browser, known_browser) =
        (browser_of(auth, request.headers()), KnownBrowser::of(auth, request.headers()));
    let filled: LoginForm = json::read_form(&read_body(request).await?).map_err(Error::bad_request)?;
    if let Some(code) = filled.code {
        let sent = SentCode { browser, known_browser, form: &filled.form, code, address };
        return second_factor::check(auth, language, sent).await;
    }
    let opened = browser.as_deref().and_then(|browser| unseal(auth, browser, &filled.form));
    let (Some(sealed), Some(browser)) = (opened, browser) else {
        return render(language, Some(LoginMessage::Foreign), None);
    };
    let asking = match authorization::confirm(&auth.store, &auth.public_url, &sealed.request).await {
        Ok(asking) => asking,
        Err(refusal) => return Ok(refuse(language, refusal)),
    };
    if sealed.expires_at <= epoch_seconds() {
        return open_form(
            auth,
            language,
            Some(LoginMessage::Expired),
            Some(browser),
            sealed.request,
            &asking,
        );
    }
    let shown = |message| {
        let (request, login) = (&sealed.request, filled.login.as_str());
        render(
            language,
            Some(message),
            Some(&Form { sealed: &filled.form, request, asking: &asking, login, asks_code: false }),
        )
    };
    let account = ThrottledAccount::login(asking.tenant.id, &filled.login);
    let counted = known_browser.counted(auth, account);
    let attempt = match auth.throttle.begin_login(address, account, counted).await? {
        Ok(attempt) => attempt,
        Err(Throttled(wait)) => {
            // Debug, as throttled attempts are unbounded.
            tracing::debug!(target: "trawl::audit", %address, tenant = asking.tenant.code, "too many logins");
            return shown(LoginMessage::Wait(wait.as_secs() + 1));
        }
    };
    let tenant_id = asking.tenant.id;
    let directory = auth.authenticator.directory();
    let checks = (&auth.secret_checker, SecretCheckFor::address(address));
    let login =
        login::check(&auth.store, directory, checks, tenant_id, &filled.login, &filled.password).await?;
    let Some(person) = &login.person else {
        log(address, &asking, &login);
        attempt.failed().await?;
        return shown(LoginMessage::Wrong);
    };
    let (request, proved) = ((&sealed.request, &asking), (person, filled.login.as_str()));
    if let Some(page) = second_factor::ask(auth, language, &browser, request, proved).await? {
        // A password alone makes no address known.
        attempt.withdrawn().await?;
        return Ok(page);
    }
    log(address, &asking, &login);
    attempt.succeeded().await?;
    send_back(auth, &sealed.request, (tenant_id, person.clone()), account).await
}

async fn send_back(
    auth: &AuthState,
    request: &AuthorizationRequest,
    (tenant_id, person): (i64, Person),
    account: ThrottledAccount,
) -> Result<Response> {
    let granted = CodeGrant {
        client_id: request.client_id.clone(),
        redirect_uri: request.redirect_uri.clone(),
        code_challenge: request.code_challenge.clone(),
        tenant_id,
        user_id: person.user_id,
        user_epoch: person.epoch,
        login_id: person.login_id,
        scopes: request.scopes.clone(),
        device_id: request.device_id.clone(),
    };
    let code = codes::give(&auth.store, granted, now_millis()).await?;
    let back = authorization::answer(&auth.public_url, request, code.expose_secret());
    let back = back.ok_or_else(|| Error::internal("a valid redirect URI could not be parsed again"))?;
    let mut response = send_to(back.as_str());
    response.headers_mut().insert(header::SET_COOKIE, known_browser::remember(auth, account)?);
    Ok(response)
}

/// Unknown login accounts may be mistyped passwords.
fn log(address: IpAddr, asking: &RequestingApplication, login: &Login) {
    let (client_id, tenant) = (asking.application.client_id.as_str(), asking.tenant.code.as_str());
    let user_id = login.named.as_deref();
    if login.person.is_some() {
        tracing::info!(target: "trawl::audit", %address, client_id, tenant, user_id, "signed in");
    } else {
        tracing::warn!(target: "trawl::audit", %address, client_id, tenant, user_id, "a login failed");
    }
}

fn open_form(
    auth: &AuthState,
    language: Language,
    message: Option<LoginMessage>,
    browser: Option<String>,
    request: AuthorizationRequest,
    asking: &RequestingApplication,
) -> Result<Response> {
    let browser = match browser {
        Some(browser) => browser,
        None => new_browser()?,
    };
    let sealed = Sealed { request, expires_at: epoch_seconds() + FORM_LIFE.as_secs() };
    let plain = postcard::to_allocvec(&sealed).map_err(Error::internal)?;
    let bytes = auth.keys.logins.seal(browser.as_bytes(), &plain).map_err(Error::internal)?;
    let text = BASE64_URL_SAFE_NO_PAD.encode(bytes);
    let login = sealed.request.login_hint.as_deref().unwrap_or_default();
    let form = Form { sealed: &text, request: &sealed.request, asking, login, asks_code: false };
    let mut response = render(language, message, Some(&form))?;
    response.headers_mut().insert(header::SET_COOKIE, keep_browser(auth, browser)?);
    Ok(response)
}

fn unseal(auth: &AuthState, browser: &str, text: &str) -> Option<Sealed> {
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(text).ok()?;
    let plain = auth.keys.logins.open(browser.as_bytes(), &bytes).ok()?;
    postcard::from_bytes(&plain).ok()
}

fn refuse(language: Language, refusal: Refusal) -> Response {
    match refusal {
        Refusal::Told(url) => send_to(url.as_str()),
        Refusal::Shown(shown) => page(language, LoginMessage::Refused(shown)),
        Refusal::Failed(error) => failed(language, &error),
    }
}

/// 303 resends no password.
fn send_to(url: &str) -> Response {
    let Ok(location) = HeaderValue::try_from(url) else {
        return Error::internal("a redirect URI cannot be sent in a header").into_response();
    };
    let headers = [
        (header::LOCATION, location),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    ];
    (StatusCode::SEE_OTHER, headers).into_response()
}

fn page(language: Language, message: LoginMessage) -> Response {
    render(language, Some(message), None).unwrap_or_else(IntoResponse::into_response)
}

fn failed(language: Language, error: &Error) -> Response {
    error.log();
    let message = match error.kind {
        ErrorKind::Unavailable => {
            LoginMessage::Busy(error.retry_after.map_or(1, |wait| wait.as_secs().max(1)))
        }
        ErrorKind::Internal => LoginMessage::Failed,
        _ => LoginMessage::Foreign,
    };
    let mut response = page(language, message);
    if let Ok(status) = StatusCode::from_u16(error.kind.status()) {
        *response.status_mut() = status;
    }
    response
}
