//! `GET /session/callback`: someone comes back from where he proved who he is.

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    http::HeaderValue,
    response::Response,
};
use secrecy::SecretString;

use super::{Outcome, Visit, page, pending::Pending, redirect_uri, send_to};
use crate::{
    api::cookies,
    app::App,
    auth::{
        applications,
        attempts::{Account, TooMany},
        directory::{self, SubjectKind},
        grants::{GrantError, Grants, Redemption},
        issuers::{SignIn, SignInAnswer},
        sessions::{self, SignedIn},
    },
    error::Result,
};

/// Where the login page, or an issuer, sends people back to who sign in to the pages. Who is signed in then goes to the page that he came from.
#[utoipa::path(
    get, path = "/session/callback", tag = "identity", security(()),
    params(
        ("state" = Option<String>, Query, description = "What `/session/start` sent along"),
        ("code" = Option<String>, Query, description = "What the sign-in is worth"),
        ("iss" = Option<String>, Query, description = "Who sends him"),
        ("error" = Option<String>, Query, description = "Why there is no code"),
    ),
    responses(
        (status = 303, description =
            "To the page that he came from; where he is not signed in, with `signin` `refused`, `expired`, `busy`, `unknown` or `failed`"),
    )
)]
pub async fn come_back(State(app): State<Arc<App>>, request: Request) -> Result<Response> {
    let visit = Visit::read(&app, request)?;
    let pending = cookies::browser_of(&app, &visit.headers)
        .zip(visit.parameter("state"))
        .and_then(|(browser, state)| Pending::open(&app, &browser, &state));
    // What was begun in another browser leads nowhere in particular.
    let page = page(&app, pending.as_ref().map_or("/", |pending| &pending.to))?;
    let outcome = match pending {
        Some(pending) => sign_in(&app, &visit, pending).await,
        None => Err(Outcome::Failed),
    };
    Ok(match outcome {
        Ok(cookie) => send_to(&page.told(None), vec![cookie]),
        Err(outcome) => send_to(&page.told(Some(outcome.as_str())), Vec::new()),
    })
}

/// The cookie of the new session.
async fn sign_in(app: &App, visit: &Visit, pending: Pending) -> Result<HeaderValue, Outcome> {
    let issuer = pending.issuer.as_ref().map(|id| app.authenticator.issuers().sign_in(id));
    let issuer = issuer.map(|issuer| issuer.ok_or(Outcome::Unknown)).transpose()?;
    let said = visit.parameter("iss");
    // An answer of another server is not looked at any further (RFC 9207).
    let is_answer = match issuer {
        Some(issuer) => issuer.may_have_answered(said.as_deref()),
        None => said.as_ref() == Some(&app.config.public_url()),
    };
    if !is_answer {
        return Err(Outcome::Failed);
    }
    if pending.is_over() {
        return Err(Outcome::Expired);
    }
    if let Some(error) = visit.parameter("error") {
        return Err(of_answer(&error));
    }
    let code = visit.parameter("code").ok_or(Outcome::Failed)?.into();
    let signed_in = match issuer {
        Some(issuer) => {
            // Each asks the issuer something, whatever the code is; what is refused counts.
            let attempt = app.attempts.begin_guess(Account::sign_ins_at(visit.address));
            let attempt = attempt.map_err(|TooMany(_)| Outcome::Busy)?;
            let redeemed = redeem_at(app, issuer, &pending, code, said.as_deref()).await;
            match redeemed {
                Ok(_) => attempt.succeeded(),
                // While the issuer is away, everyone behind an address comes to nothing.
                Err(Outcome::Busy) => attempt.withdrawn(),
                Err(_) => drop(attempt),
            }
            redeemed?
        }
        None => redeem(app, &pending, code).await?,
    };
    let (tenant_id, user_id) = (signed_in.tenant_id, signed_in.user_id.clone());
    let before = cookies::session_of(app, &visit.headers);
    let secret = app.authenticator.begin_session(signed_in, before).await?;
    let address = visit.address;
    tracing::info!(target: "trawl::audit", %address, tenant_id, user_id, "a session began");
    Ok(cookies::keep_session(app, &secret)?)
}

/// What an error that the login page tells comes to (RFC 6749 §4.1.2.1).
fn of_answer(error: &str) -> Outcome {
    match error {
        "temporarily_unavailable" => Outcome::Busy,
        "server_error" => Outcome::Failed,
        _ => Outcome::Refused,
    }
}

/// Whom an issuer's code is of, if he is one of the tenant's people who may sign in.
async fn redeem_at(
    app: &App,
    issuer: &SignIn,
    pending: &Pending,
    code: SecretString,
    said: Option<&str>,
) -> Result<SignedIn, Outcome> {
    let answer = SignInAnswer {
        code,
        issuer: said,
        redirect_uri: &redirect_uri(app),
        nonce: &pending.nonce,
        code_verifier: pending.verifier.clone().into(),
    };
    let login_id = issuer.redeem(answer).await?;
    let (reader, tenant_id) = (app.store.reader(), pending.tenant_id);
    let client_id = sessions::application::client_id(tenant_id);
    let application = applications::find(reader, &client_id).await?;
    let application = application.filter(|application| !application.is_disabled && !application.is_frozen);
    let person = directory::find_person(reader, tenant_id, SubjectKind::LoginId, &login_id).await?;
    let Some((application, person)) = application.zip(person) else {
        tracing::warn!(target: "trawl::audit", issuer = issuer.name(), tenant_id, "whom an issuer names may not sign in");
        return Err(Outcome::Refused);
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

/// Whom the login page's code is of.
async fn redeem(app: &App, pending: &Pending, code: SecretString) -> Result<SignedIn, Outcome> {
    let App { store, authenticator, secret_checker: checker, codes, .. } = app;
    let grants = Grants { store, authenticator, checker, codes };
    let redemption = Redemption {
        client_id: sessions::application::client_id(pending.tenant_id),
        code,
        redirect_uri: redirect_uri(app),
        code_verifier: pending.verifier.clone().into(),
    };
    grants.redeem(redemption).await.map_err(|error| match error {
        GrantError::Failed(error) => Outcome::of(&error),
        GrantError::InvalidClient | GrantError::UnauthorizedClient(_) => Outcome::Refused,
        _ => Outcome::Failed,
    })
}
