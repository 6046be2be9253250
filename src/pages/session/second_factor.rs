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
        caller::Caller,
        directory::{Account, Person},
        extract::Identified,
        keys::Keys,
        login,
        second_factor::{self, FactorOutcome, FactorOwner, TotpSecret},
        secrets::SecretCheckFor,
        sessions::SessionId,
        throttle::{Throttled, ThrottledAccount},
    },
    error::{Error, ErrorKind, Result},
    http::{client_address::client_address, envelope::Envelope, extract::JsonObject},
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
#[derive(Clone)]
pub struct PageSession {
    caller: Arc<Caller>,
    id: SessionId,
    address: IpAddr,
}

impl<S> FromRequestParts<S> for PageSession
where
    S: Send + Sync,
    AuthState: FromRef<S>,
{
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self> {
        let Identified(caller) = Identified::from_request_parts(parts, state).await?;
        let id = caller.session_id().ok_or_else(|| Error::internal("the access table admits a token"))?;
        let request = Request::from_parts(parts.clone(), Body::empty());
        let address = client_address(&request, &AuthState::from_ref(state).trusted_proxies)?;
        Ok(Self { caller, id, address })
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

    /// Counts and logs refusals of what takes a password or code.
    ///
    /// # Errors
    /// 429 after too many refusals.
    async fn guess<T>(&self, auth: &AuthState, work: impl Future<Output = Result<T>>) -> Result<T> {
        let (tenant, user_id) = (&self.caller.tenant, self.person()?.user_id.as_str());
        let account = ThrottledAccount::factor_changes_of(tenant.id, user_id);
        let guess = auth.throttle.begin_guess(account).await?.map_err(|Throttled(wait)| {
            Error::too_many_requests("too many wrong passwords or codes; try again later", wait)
        })?;
        let result = work.await;
        if let Err(error @ Error { kind: ErrorKind::Forbidden | ErrorKind::Conflict, .. }) = &result {
            let (address, tenant, reason) = (self.address, tenant.code.as_str(), error.message.as_str());
            tracing::warn!(target: "trawl::audit", %address, tenant, user_id, reason, "a change of a second factor was refused");
        }
        guess.judged(result).await
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

    fn log_proof(&self, outcome: Option<FactorOutcome>) {
        if outcome == Some(FactorOutcome::RightRecovery) {
            let (address, tenant) = (self.address, self.caller.tenant.code.as_str());
            let user_id = self.caller.user_id();
            tracing::warn!(target: "trawl::audit", %address, tenant, user_id, "a recovery code was spent at the account page");
        }
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

/// Offers a new second factor, which a code of the same session has to confirm; one that holds goes on until then.
#[operation(
    identity, security(()), 200 = "The secret, shown only here",
    401 = "No page's session calls",
    403 = "Password or code is wrong, or the request comes from another site's page, or the tenant is frozen",
    409 = "Too many codes were wrong: a recovery code is needed",
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
    let proving = async {
        session.check_password(&auth, &proof.password).await?;
        let (owner, keys, session) = (session.owner()?, Arc::clone(&auth.keys), session.clone());
        let job = auth.store.write(move |transaction| {
            Box::pin(async move {
                session.caller.confirm(transaction).await?;
                let proved = prove_factor(transaction, &keys, &owner, proof.code.as_ref()).await?;
                if proved.is_ok() {
                    second_factor::offer(transaction, &keys, (&owner, session.id), &secret).await?;
                }
                Ok(proved)
            })
        });
        job.await?
    };
    session.log_proof(session.guess(&auth, proving).await?);
    Ok(Envelope::of(offered))
}

/// Confirms the second factor that the session was offered by a code, and signs the person out elsewhere.
///
/// Their other sessions and their tokens of this server end.
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
    let confirming = async {
        let (owner, keys, session) = (session.owner()?, Arc::clone(&auth.keys), session.clone());
        let authenticator = Arc::clone(&auth.authenticator);
        let job = auth.store.write(move |transaction| {
            Box::pin(async move {
                session.caller.confirm(transaction).await?;
                let held = second_factor::find(transaction, &owner).await?.is_some();
                let offer = (&owner, session.id);
                let codes = second_factor::confirm(transaction, &keys, offer, code.expose_secret()).await?;
                if codes.is_some() {
                    let person = (owner.tenant_id, owner.user_id.as_str());
                    authenticator.sign_out(transaction, person, Some(session.id)).await?;
                    session.record(transaction, if held { "change" } else { "enable" }, &owner).await?;
                }
                Ok(codes)
            })
        });
        let refused = || Error::forbidden("code: is wrong, or this session was offered no second factor");
        job.await?.ok_or_else(refused)
    };
    let recovery_codes = session.guess(&auth, confirming).await?;
    Ok(Envelope::of(ConfirmedCodes { recovery_codes }))
}

/// Turns the second factor off.
#[operation(
    identity, security(()), 200 = "Sign-ins by password ask for no code from now on",
    401 = "No page's session calls",
    403 = "Password or code is wrong, or the request comes from another site's page, or the tenant is frozen",
    409 = "Too many codes were wrong: a recovery code is needed",
    429 = "Too many wrong passwords or codes; `Retry-After` says when to come back",
    503 = "The server is unavailable; `Retry-After` says when to come back",
)]
pub async fn remove_second_factor(
    State(auth): State<AuthState>,
    session: PageSession,
    JsonObject(proof): JsonObject<FactorProof>,
) -> Result<Envelope<()>> {
    let removing = async {
        session.check_password(&auth, &proof.password).await?;
        let (owner, keys, session) = (session.owner()?, Arc::clone(&auth.keys), session.clone());
        let job = auth.store.write(move |transaction| {
            Box::pin(async move {
                session.caller.confirm(transaction).await?;
                let proved = prove_factor(transaction, &keys, &owner, proof.code.as_ref()).await?;
                if proved.is_ok() && second_factor::remove(transaction, &owner).await? {
                    session.record(transaction, "disable", &owner).await?;
                }
                Ok(proved)
            })
        });
        job.await?
    };
    session.log_proof(session.guess(&auth, removing).await?);
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
) -> Result<Result<Option<FactorOutcome>>> {
    if second_factor::find(transaction, owner).await?.is_none() {
        return Ok(Ok(None));
    }
    let Some(code) = code else {
        return Ok(Err(Error::forbidden("code: is missing; the second factor that holds has to prove it")));
    };
    let outcome = second_factor::check_code(transaction, keys, owner, code.expose_secret()).await?;
    Ok(match outcome {
        FactorOutcome::Right | FactorOutcome::RightRecovery => Ok(Some(outcome)),
        FactorOutcome::Wrong => Err(Error::forbidden("code: is wrong, or was used before")),
        FactorOutcome::Locked => Err(Error::conflict("code: too many were wrong; give a recovery code")),
    })
}

/// The host of this server, as apps show it.
fn server_name(auth: &AuthState) -> String {
    let url = Url::parse(&auth.public_url).ok();
    url.as_ref().and_then(Url::host_str).unwrap_or("trawl").to_owned()
}

fn account_name(session: &PageSession) -> Result<String> {
    Ok(format!("{}@{}", session.person()?.login_id, session.caller.tenant.code))
}
