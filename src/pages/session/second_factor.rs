//! `/session/second_factor`: a person's own second factor, for the pages of this server alone.

use std::{net::IpAddr, sync::Arc};

use axum::{
    body::Body,
    extract::{FromRef, FromRequestParts, Request, State},
    http::request::Parts,
};
use qrcode::{QrCode, render::svg};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use trawl_macros::operation;
use url::Url;

use crate::{
    audit::{self, Actor, AuditEvent},
    auth::{
        AuthState,
        caller::{Caller, SessionRole},
        credential::session_of,
        directory::{Account, Person},
        keys::Keys,
        login,
        second_factor::{self, FactorOutcome, FactorOwner, TotpSecret},
        secrets::SecretCheckFor,
        sessions::end_all_but,
        throttle::{PendingGuess, Throttled, ThrottledAccount},
    },
    error::{Error, Result},
    http::{client_address::client_address, envelope::Envelope, extract::JsonObject},
    identity::frozen::refuse_frozen,
    store::{Cached, Transaction},
};

/// The person's second factor.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecondFactorShown {
    /// Whether sign-ins by password ask for a code.
    enabled: bool,
    /// When a code confirmed it, epoch milliseconds; null without one.
    confirmed_at: Option<i64>,
    /// Recovery codes that are left.
    recovery_codes: usize,
    /// Whether the person has a password of this server; others sign in at an issuer, which has factors of its own.
    has_password: bool,
    /// Whether the console opens only with one (`console.require_second_factor`).
    required: bool,
}

/// What proves that it is the person who changes the second factor.
#[derive(Deserialize, utoipa::ToSchema)]
pub struct FactorProof {
    /// The person's password.
    #[schema(value_type = String)]
    password: SecretString,
    /// A code of the second factor that holds, or a recovery code; absent without one.
    #[schema(value_type = Option<String>)]
    code: Option<SecretString>,
}

/// A code of the offered second factor.
#[derive(Deserialize, utoipa::ToSchema)]
pub struct OfferedCode {
    /// Six digits, as the app shows them.
    #[schema(value_type = String)]
    code: SecretString,
}

/// A second factor that a code has to confirm.
#[derive(Serialize, utoipa::ToSchema)]
pub struct OfferedFactor {
    /// The address for an authenticator app: `otpauth://totp/…`.
    uri: String,
    /// The secret in Base32, to be typed into the app.
    secret: String,
    /// The address as a QR code, an SVG image.
    qr: String,
}

/// The recovery codes of a confirmed second factor.
#[derive(Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfirmedCodes {
    /// Ten codes, each good once; they are shown only here.
    recovery_codes: Vec<String>,
}

/// The session of the page that calls.
pub struct PageSession {
    caller: Arc<Caller>,
    address: IpAddr,
}

impl<S> FromRequestParts<S> for PageSession
where
    S: Send + Sync,
    AuthState: FromRef<S>,
{
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self> {
        let auth = AuthState::from_ref(state);
        let request = Request::from_parts(parts.clone(), Body::empty());
        let address = client_address(&request, &auth.trusted_proxies)?;
        let id = session_of(&auth, &parts.headers)?
            .ok_or_else(|| Error::unauthorized("a session of a page with x-trawl-session: 1 is needed"))?;
        let caller = auth.authenticator.authenticate_session(id, SessionRole::Person, None).await?;
        refuse_frozen(caller.is_frozen())?;
        Ok(Self { caller, address })
    }
}

impl PageSession {
    fn person(&self) -> Result<&Person> {
        Ok(&self.caller.require_user()?.person)
    }

    fn owner(&self) -> Result<FactorOwner> {
        Ok(FactorOwner { tenant_id: self.caller.tenant.id, user_id: self.person()?.user_id.clone() })
    }

    async fn account(&self, auth: &AuthState) -> Result<Option<Account>> {
        let (reader, login_id) = (auth.store.reader(), &self.person()?.login_id);
        Ok(auth.authenticator.directory().find_account(reader, self.caller.tenant.id, login_id).await?)
    }

    /// # Errors
    /// 429 after too many wrong passwords and codes.
    async fn begin_guess(&self, auth: &AuthState) -> Result<PendingGuess> {
        let account = ThrottledAccount::second_factor_of(self.caller.tenant.id, &self.person()?.user_id);
        auth.throttle.begin_guess(account).await?.map_err(|Throttled(wait)| {
            Error::too_many_requests("too many wrong passwords or codes; try again later", wait)
        })
    }

    /// # Errors
    /// 403 for a wrong password.
    async fn check_password(&self, auth: &AuthState, password: &SecretString) -> Result<()> {
        let directory = auth.authenticator.directory();
        let checks = (&auth.secret_checker, SecretCheckFor::address(self.address));
        let (tenant_id, login_id) = (self.caller.tenant.id, self.person()?.login_id.as_str());
        let login = login::check(&auth.store, directory, checks, tenant_id, login_id, password).await?;
        login.person.map(drop).ok_or_else(|| Error::forbidden("password: is wrong"))
    }

    /// Records what was done to the second factor and ends what is cached of its person.
    async fn record(
        &self,
        transaction: &Transaction,
        action: &'static str,
        owner: &FactorOwner,
    ) -> Result<()> {
        let tenant = &self.caller.tenant;
        transaction.invalidate(Cached::Identities(tenant.id));
        let event = AuditEvent::new(action, "second-factor", owner.user_id.as_str());
        Ok(audit::record(transaction, &Actor::caller(&self.caller), tenant, vec![event]).await?)
    }
}

/// Returns the person's second factor.
#[operation(
    identity, security(()), 200 = "The second factor",
    401 = "No page's session calls", 403 = "The request comes from another site's page, or the tenant is frozen",
    503 = "The server is unavailable; `Retry-After` says when to come back",
)]
pub async fn show_second_factor(
    State(auth): State<AuthState>,
    session: PageSession,
) -> Result<Envelope<SecondFactorShown>> {
    let factor = second_factor::find(auth.store.reader(), &session.owner()?).await?;
    let account = session.account(&auth).await?;
    let sessions = auth.authenticator.sessions();
    let is_operator = sessions.is_operator(&session.person()?.login_id, &session.caller.tenant);
    Ok(Envelope::of(SecondFactorShown {
        enabled: factor.is_some(),
        confirmed_at: factor.map(|factor| factor.confirmed_at),
        recovery_codes: factor.map_or(0, |factor| factor.recovery_codes),
        has_password: account.is_some_and(|account| account.password_hash.is_some()),
        required: is_operator && sessions.require_second_factor(),
    }))
}

/// Offers a new second factor, which a code has to confirm; one that holds goes on until then.
#[operation(
    identity, security(()), 200 = "The secret, shown only here",
    401 = "No page's session calls",
    403 = "Password or code is wrong, or the request comes from another site's page, or the tenant is frozen",
    429 = "Too many wrong passwords or codes; `Retry-After` says when to come back",
    503 = "The server is unavailable; `Retry-After` says when to come back",
)]
pub async fn offer_second_factor(
    State(auth): State<AuthState>,
    session: PageSession,
    JsonObject(proof): JsonObject<FactorProof>,
) -> Result<Envelope<OfferedFactor>> {
    let secret = TotpSecret::generate()?;
    let uri = secret.uri(&server_name(&auth), &account_name(&session)?);
    let image = QrCode::new(uri.expose_secret()).map_err(Error::internal)?;
    let qr = image.render::<svg::Color<'_>>().build();
    let offered = OfferedFactor {
        uri: uri.expose_secret().to_owned(),
        secret: secret.base32().expose_secret().to_owned(),
        qr,
    };
    let guess = session.begin_guess(&auth).await?;
    session.check_password(&auth, &proof.password).await?;
    let (owner, keys) = (session.owner()?, Arc::clone(&auth.keys));
    auth.store
        .write(move |transaction| {
            Box::pin(async move {
                session.caller.confirm(transaction).await?;
                let proved = prove_factor(transaction, &keys, &owner, proof.code.as_ref()).await?;
                if proved.is_ok() {
                    second_factor::offer(transaction, &keys, &owner, &secret).await?;
                }
                Ok(proved)
            })
        })
        .await??;
    guess.withdrawn().await?;
    Ok(Envelope::of(offered))
}

/// Confirms the offered second factor by a code, and ends the person's other sessions.
#[operation(
    identity, security(()), 200 = "Sign-ins by password ask for a code from now on",
    401 = "No page's session calls",
    403 = "The code is wrong, or the request comes from another site's page, or the tenant is frozen",
    429 = "Too many wrong codes; `Retry-After` says when to come back",
    503 = "The server is unavailable; `Retry-After` says when to come back",
)]
pub async fn confirm_second_factor(
    State(auth): State<AuthState>,
    session: PageSession,
    JsonObject(OfferedCode { code }): JsonObject<OfferedCode>,
) -> Result<Envelope<ConfirmedCodes>> {
    let guess = session.begin_guess(&auth).await?;
    let (owner, keys) = (session.owner()?, Arc::clone(&auth.keys));
    let confirmed = auth
        .store
        .write(move |transaction| {
            Box::pin(async move {
                session.caller.confirm(transaction).await?;
                let held = second_factor::find(transaction, &owner).await?.is_some();
                let codes = second_factor::confirm(transaction, &keys, &owner, code.expose_secret()).await?;
                if codes.is_some() {
                    let FactorOwner { tenant_id, user_id } = &owner;
                    end_all_but(transaction, *tenant_id, user_id, session.caller.session_id()).await?;
                    session.record(transaction, if held { "change" } else { "enable" }, &owner).await?;
                }
                Ok(codes)
            })
        })
        .await?;
    let recovery_codes = confirmed.ok_or_else(wrong_code)?;
    guess.withdrawn().await?;
    Ok(Envelope::of(ConfirmedCodes { recovery_codes }))
}

/// Turns the second factor off.
#[operation(
    identity, security(()), 200 = "Sign-ins by password ask for no code from now on",
    401 = "No page's session calls",
    403 = "Password or code is wrong, or the request comes from another site's page, or the tenant is frozen",
    429 = "Too many wrong passwords or codes; `Retry-After` says when to come back",
    503 = "The server is unavailable; `Retry-After` says when to come back",
)]
pub async fn remove_second_factor(
    State(auth): State<AuthState>,
    session: PageSession,
    JsonObject(proof): JsonObject<FactorProof>,
) -> Result<Envelope<()>> {
    let guess = session.begin_guess(&auth).await?;
    session.check_password(&auth, &proof.password).await?;
    let (owner, keys) = (session.owner()?, Arc::clone(&auth.keys));
    auth.store
        .write(move |transaction| {
            Box::pin(async move {
                session.caller.confirm(transaction).await?;
                let proved = prove_factor(transaction, &keys, &owner, proof.code.as_ref()).await?;
                if proved.is_ok() && second_factor::remove(transaction, &owner).await? {
                    session.record(transaction, "disable", &owner).await?;
                }
                Ok(proved)
            })
        })
        .await??;
    guess.withdrawn().await?;
    Ok(Envelope::of(()))
}

/// Checks a code of the factor that holds, if one does.
///
/// The inner refusal is no error of the transaction, which counts the wrong code.
async fn prove_factor(
    transaction: &Transaction,
    keys: &Keys,
    owner: &FactorOwner,
    code: Option<&SecretString>,
) -> Result<Result<()>> {
    if second_factor::find(transaction, owner).await?.is_none() {
        return Ok(Ok(()));
    }
    let Some(code) = code else {
        return Ok(Err(Error::forbidden("code: is missing; the second factor that holds has to prove it")));
    };
    let outcome = second_factor::check_code(transaction, keys, owner, code.expose_secret()).await?;
    Ok(match outcome {
        FactorOutcome::Right | FactorOutcome::RightRecovery => Ok(()),
        FactorOutcome::Wrong => Err(wrong_code()),
        FactorOutcome::Locked => Err(Error::forbidden("code: too many were wrong; give a recovery code")),
    })
}

fn wrong_code() -> Error {
    Error::forbidden("code: is wrong, or was used before")
}

/// The host of this server, as apps show it.
fn server_name(auth: &AuthState) -> String {
    let url = Url::parse(&auth.public_url).ok();
    url.as_ref().and_then(Url::host_str).unwrap_or("trawl").to_owned()
}

fn account_name(session: &PageSession) -> Result<String> {
    Ok(format!("{}@{}", session.person()?.login_id, session.caller.tenant.code))
}
