//! `GET /session/callback`: the return from login.

use axum::{
    extract::{Request, State},
    http::HeaderValue,
    response::Response,
};
use secrecy::SecretString;
use trawl_macros::operation;

use super::{SignInOutcome, Visit, page, pending::PendingSignIn, redirect_uri, send_to};
use crate::{
    auth::{
        AuthState, applications,
        directory::SubjectKind,
        issuers::{SignIn, SignInAnswer},
        oauth::grants::{GrantError, Grants, Redemption},
        secrets::SecretCheckFor,
        sessions::{self, SessionOrigin, SignedIn, cookies},
        throttle::{Throttled, ThrottledAccount},
    },
    error::Result,
};

/// Completes a sign-in and redirects to the original page.
#[operation(
    identity, security(()),
    params(
        ("state" = Option<String>, Query, description = "The state from `/session/start`"),
        ("code" = Option<String>, Query, description = "The authorization code"),
        ("iss" = Option<String>, Query, description = "Who sends him"),
        ("error" = Option<String>, Query, description = "The error of the issuer"),
    ),
    303 = "To the page that he came from; where he is not signed in, with `signin` `refused`, `expired`, `busy`, `unknown` or `failed`",
)]
pub async fn handle_callback(State(auth): State<AuthState>, request: Request) -> Result<Response> {
    let visit = Visit::read(&auth, request)?;
    let pending = cookies::browser_of(&auth, &visit.headers)
        .zip(visit.parameter("state"))
        .and_then(|(browser, state)| PendingSignIn::open(&auth, &browser, &state));
    // Another browser's sign-in leads to the first page.
    let page = page(&auth, pending.as_ref().map_or("/", |pending| &pending.to))?;
    let outcome = match pending {
        Some(pending) => sign_in(&auth, &visit, pending).await,
        None => Err(SignInOutcome::Failed),
    };
    Ok(match outcome {
        Ok(cookie) => send_to(&page.with_outcome(None), vec![cookie]),
        Err(outcome) => send_to(&page.with_outcome(Some(outcome.as_str())), Vec::new()),
    })
}

async fn sign_in(
    auth: &AuthState,
    visit: &Visit,
    pending: PendingSignIn,
) -> Result<HeaderValue, SignInOutcome> {
    let issuer = pending.issuer.as_ref().map(|id| auth.authenticator.issuers().sign_in(id));
    let issuer = issuer.map(|issuer| issuer.ok_or(SignInOutcome::Unknown)).transpose()?;
    let said = visit.parameter("iss");
    // Answers of other issuers are ignored (RFC 9207).
    let is_answer = match issuer {
        Some(issuer) => issuer.may_have_answered(said.as_deref()),
        None => said.as_deref() == Some(&*auth.public_url),
    };
    if !is_answer {
        return Err(SignInOutcome::Failed);
    }
    if pending.is_over() {
        return Err(SignInOutcome::Expired);
    }
    if let Some(error) = visit.parameter("error") {
        return Err(from_answer(&error));
    }
    let code = visit.parameter("code").ok_or(SignInOutcome::Failed)?.into();
    let signed_in = match issuer {
        Some(issuer) => {
            // Every code costs a request to the issuer; refusals count.
            let attempt = auth.throttle.begin_guess(ThrottledAccount::sign_ins_at(visit.address)).await?;
            let attempt = attempt.map_err(|Throttled(_)| SignInOutcome::Busy)?;
            let redeemed = redeem_at(auth, issuer, &pending, code, said.as_deref()).await;
            match redeemed {
                // An unreachable issuer does not throttle the address.
                Ok(_) | Err(SignInOutcome::Busy) => attempt.withdrawn().await?,
                Err(_) => drop(attempt),
            }
            redeemed?
        }
        None => redeem(auth, &pending, code).await?,
    };
    let (tenant_id, user_id) = (signed_in.tenant_id, signed_in.user_id.clone());
    let before = cookies::session_of(auth, &visit.headers);
    let address = visit.address;
    let origin = SessionOrigin::of(address, &visit.headers);
    let secret = auth.authenticator.begin_session(signed_in, origin, before).await?;
    tracing::info!(target: "trawl::audit", %address, tenant_id, user_id, "a session began");
    Ok(cookies::keep_session(auth, &secret)?)
}

fn from_answer(error: &str) -> SignInOutcome {
    match error {
        "temporarily_unavailable" => SignInOutcome::Busy,
        "server_error" => SignInOutcome::Failed,
        _ => SignInOutcome::Refused,
    }
}

async fn redeem_at(
    auth: &AuthState,
    issuer: &SignIn,
    pending: &PendingSignIn,
    code: SecretString,
    said: Option<&str>,
) -> Result<SignedIn, SignInOutcome> {
    let answer = SignInAnswer {
        code,
        issuer: said,
        redirect_uri: &redirect_uri(auth),
        nonce: &pending.nonce,
        code_verifier: pending.verifier.clone().into(),
    };
    let login_id = issuer.redeem(answer).await?;
    let (reader, tenant_id) = (auth.store.reader(), pending.tenant_id);
    let client_id = sessions::application::client_id(tenant_id);
    let application = applications::find(reader, &client_id).await?;
    let application = application.filter(|application| !application.is_disabled && !application.is_frozen);
    let person = auth
        .authenticator
        .directory()
        .find_person(reader, tenant_id, SubjectKind::LoginId, &login_id)
        .await?;
    let Some((application, person)) = application.zip(person) else {
        tracing::warn!(target: "trawl::audit", issuer = issuer.name(), tenant_id, "the issuer's person may not sign in");
        return Err(SignInOutcome::Refused);
    };
    Ok(SignedIn {
        tenant_id,
        user_id: person.user_id,
        login_id: person.login_id,
        user_epoch: person.epoch,
        client_id,
        client_epoch: application.epoch,
        issuer: Some(issuer.id().to_owned()),
    })
}

async fn redeem(
    auth: &AuthState,
    pending: &PendingSignIn,
    code: SecretString,
) -> Result<SignedIn, SignInOutcome> {
    let grants = Grants { auth, asks: SecretCheckFor::Directory(pending.tenant_id) };
    let redemption = Redemption {
        client_id: sessions::application::client_id(pending.tenant_id),
        code,
        redirect_uri: redirect_uri(auth),
        code_verifier: pending.verifier.clone().into(),
    };
    grants.redeem(redemption).await.map_err(|error| match error {
        GrantError::Failed(error) => SignInOutcome::of(&error),
        GrantError::InvalidClient | GrantError::UnauthorizedClient(_) => SignInOutcome::Refused,
        _ => SignInOutcome::Failed,
    })
}
