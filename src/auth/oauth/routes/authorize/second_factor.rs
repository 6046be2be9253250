//! The login page's second step: the code of a person whose password was right.

use std::{net::IpAddr, sync::Arc, time::Duration};

use axum::response::Response;
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};

use super::{
    super::page::{Form, Language, LoginMessage, render},
    known_browser::KnownBrowser,
    open_form, refuse, send_back,
};
use crate::{
    auth::{
        AuthState,
        directory::{Person, SubjectKind},
        oauth::authorization::{self, AuthorizationRequest, RequestingApplication},
        second_factor::{self, FactorOutcome, FactorOwner},
        throttle::{LoginAttempt, PendingGuess, Throttled, ThrottledAccount},
        tokens::epoch_seconds,
    },
    error::{Error, Result},
};

const CODE_FORM_LIFE: Duration = Duration::from_mins(5);

/// A sign-in whose password was right and whose code is asked.
#[derive(Serialize, Deserialize)]
pub(super) struct PendingCode {
    request: AuthorizationRequest,
    user_id: String,
    user_epoch: i64,
    /// The login as it was typed, for which wrong codes count.
    login: String,
    /// Epoch seconds.
    expires_at: u64,
}

/// A code that was sent, and by whom.
pub(super) struct SentCode<'a> {
    pub(super) browser: Option<String>,
    pub(super) known_browser: KnownBrowser,
    pub(super) form: &'a str,
    pub(super) code: SecretString,
    pub(super) address: IpAddr,
}

/// Asks for the code, where the person has a second factor.
pub(super) async fn ask(
    auth: &AuthState,
    language: Language,
    browser: &str,
    (request, asking): (&AuthorizationRequest, &RequestingApplication),
    (person, login): (&Person, &str),
) -> Result<Option<Response>> {
    let owner = FactorOwner { tenant_id: asking.tenant.id, user_id: person.user_id.clone() };
    if second_factor::find(auth.store.reader(), &owner).await?.is_none() {
        return Ok(None);
    }
    let pending = PendingCode {
        request: request.clone(),
        user_id: owner.user_id,
        user_epoch: person.epoch,
        login: login.to_owned(),
        expires_at: epoch_seconds() + CODE_FORM_LIFE.as_secs(),
    };
    let (user_id, tenant) = (pending.user_id.as_str(), asking.tenant.code.as_str());
    tracing::info!(target: "trawl::audit", tenant, user_id, "the password was right, a code is asked");
    let sealed = pending.seal(auth, browser)?;
    show(language, None, &sealed, &pending, asking).map(Some)
}

/// Checks the code and redirects to the application.
pub(super) async fn check(auth: &AuthState, language: Language, sent: SentCode<'_>) -> Result<Response> {
    let SentCode { browser, known_browser, form, code, address } = sent;
    let opened = browser.as_deref().and_then(|browser| PendingCode::open(auth, browser, form));
    let Some(pending) = opened else { return render(language, Some(LoginMessage::Foreign), None) };
    let asking = match authorization::confirm(&auth.store, &auth.public_url, &pending.request).await {
        Ok(asking) => asking,
        Err(refusal) => return Ok(refuse(language, refusal)),
    };
    let person = pending.find_person(auth, &asking).await?;
    let Some(person) = person.filter(|_| pending.expires_at > epoch_seconds()) else {
        let message = Some(LoginMessage::Expired);
        return open_form(auth, language, message, browser, pending.request, &asking);
    };
    let shown = |message| show(language, Some(message), form, &pending, &asking);
    let account = ThrottledAccount::login(asking.tenant.id, &pending.login);
    let counted = known_browser.counted(auth, account);
    let attempt = match CodeAttempt::begin(auth, address, (account, counted), &pending, &asking).await? {
        Ok(attempt) => attempt,
        Err(Throttled(wait)) => {
            let tenant = asking.tenant.code.as_str();
            tracing::debug!(target: "trawl::audit", %address, tenant, "too many codes");
            return shown(LoginMessage::Wait(wait.as_secs() + 1));
        }
    };
    let outcome = match spend(auth, asking.tenant.id, &pending.user_id, code).await {
        Ok(outcome) => outcome,
        Err(error) => {
            // It was not judged, and does not count.
            attempt.guess.withdrawn().await?;
            return Err(error);
        }
    };
    log(address, &pending, &asking, outcome);
    if !outcome.is_right() {
        attempt.failed().await?;
        return shown(match outcome {
            FactorOutcome::Locked => LoginMessage::CodeLocked,
            _ => LoginMessage::CodeWrong,
        });
    }
    attempt.succeeded().await?;
    send_back(auth, &pending.request, (asking.tenant.id, person), account).await
}

/// A code in flight: a login of its account, and a guess.
struct CodeAttempt<'a> {
    login: LoginAttempt<'a>,
    guess: PendingGuess,
}

impl<'a> CodeAttempt<'a> {
    async fn begin(
        auth: &'a AuthState,
        address: IpAddr,
        (account, counted): (ThrottledAccount, ThrottledAccount),
        pending: &PendingCode,
        asking: &RequestingApplication,
    ) -> Result<Result<Self, Throttled>> {
        let login = match auth.throttle.continue_login(address, account, counted).await? {
            Ok(login) => login,
            Err(throttled) => return Ok(Err(throttled)),
        };
        let account = ThrottledAccount::second_factor_of(asking.tenant.id, &pending.user_id);
        Ok(auth.throttle.begin_guess(account).await?.map(|guess| Self { login, guess }))
    }

    async fn failed(self) -> Result<()> {
        drop(self.guess);
        self.login.failed().await
    }

    async fn succeeded(self) -> Result<()> {
        self.guess.withdrawn().await?;
        self.login.succeeded().await
    }
}

async fn spend(auth: &AuthState, tenant_id: i64, user_id: &str, code: SecretString) -> Result<FactorOutcome> {
    let owner = FactorOwner { tenant_id, user_id: user_id.to_owned() };
    let keys = Arc::clone(&auth.keys);
    let job = auth.store.write(move |transaction| {
        Box::pin(
            async move { second_factor::check_code(transaction, &keys, &owner, code.expose_secret()).await },
        )
    });
    job.await
}

fn log(address: IpAddr, pending: &PendingCode, asking: &RequestingApplication, outcome: FactorOutcome) {
    let client_id = asking.application.client_id.as_str();
    let (tenant, user_id) = (asking.tenant.code.as_str(), pending.user_id.as_str());
    match outcome {
        FactorOutcome::Right => {
            tracing::info!(target: "trawl::audit", %address, client_id, tenant, user_id, "signed in with a code");
        }
        FactorOutcome::RightRecovery => {
            tracing::warn!(target: "trawl::audit", %address, client_id, tenant, user_id, "signed in with a recovery code");
        }
        FactorOutcome::Wrong | FactorOutcome::Locked => {
            tracing::warn!(target: "trawl::audit", %address, client_id, tenant, user_id, "a code was refused");
        }
    }
}

fn show(
    language: Language,
    message: Option<LoginMessage>,
    sealed: &str,
    pending: &PendingCode,
    asking: &RequestingApplication,
) -> Result<Response> {
    let (request, login) = (&pending.request, pending.login.as_str());
    render(language, message, Some(&Form { sealed, request, asking, login, asks_code: true }))
}

impl PendingCode {
    fn seal(&self, auth: &AuthState, browser: &str) -> Result<String> {
        let plain = postcard::to_allocvec(self).map_err(Error::internal)?;
        let sealed = auth.keys.logins.seal(&context(browser), &plain).map_err(Error::internal)?;
        Ok(BASE64_URL_SAFE_NO_PAD.encode(sealed))
    }

    fn open(auth: &AuthState, browser: &str, form: &str) -> Option<Self> {
        let sealed = BASE64_URL_SAFE_NO_PAD.decode(form).ok()?;
        let plain = auth.keys.logins.open(&context(browser), &sealed).ok()?;
        postcard::from_bytes(&plain).ok()
    }

    /// The person, unless they were changed since the password was right.
    async fn find_person(&self, auth: &AuthState, asking: &RequestingApplication) -> Result<Option<Person>> {
        let (reader, directory) = (auth.store.reader(), auth.authenticator.directory());
        let kind = SubjectKind::UserId;
        let person = directory.find_person(reader, asking.tenant.id, kind, &self.user_id).await?;
        Ok(person.filter(|person| person.epoch == self.user_epoch))
    }
}

/// Differs from the contexts of the first form and of `state`.
fn context(browser: &str) -> Vec<u8> {
    [b"second factor ", browser.as_bytes()].concat()
}
