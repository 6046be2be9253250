//! Authorization codes: tokens of signed-in people.
//!
//! (RFC 6749 §4.1.3, RFC 7636 §4.5.)

use secrecy::ExposeSecret;

use super::{GrantError, GrantedToken, Grants, TokenRequest, missing, subject_of};
use crate::{
    audit::{self, Actor, AuditEvent},
    auth::{
        applications::Application,
        directory::{Person, SubjectKind},
        oauth::authorization::codes::{self, CodeGrant, CodeOutcome, CodeUse},
        revoked_tokens,
        sessions::SignedIn,
        tenants,
    },
    identity::frozen::FROZEN,
    store::{Cached, now_millis},
};

/// One text for every failure, so that guesses learn nothing.
const REFUSED: &str =
    "the code is unknown, used, expired, or of another client, redirect_uri or code_verifier";

pub(super) async fn user_token(
    grants: Grants<'_>,
    application: Application,
    request: &TokenRequest,
) -> Result<GrantedToken, GrantError> {
    let code = request.code.as_ref().ok_or_else(|| missing("code"))?;
    let code_use = CodeUse {
        code: code.expose_secret(),
        client_id: &application.client_id,
        redirect_uri: request.redirect_uri.as_deref().ok_or_else(|| missing("redirect_uri"))?,
        code_verifier: request
            .code_verifier
            .as_ref()
            .ok_or_else(|| missing("code_verifier"))?
            .expose_secret(),
    };
    let token_seconds = grants.auth.authenticator.tokens().lifetime_seconds();
    let (granted, jti) = match codes::take(&grants.auth.store, code_use, token_seconds, now_millis()).await? {
        CodeOutcome::CodeGrant { granted, jti } => (granted, jti),
        CodeOutcome::Refused => return Err(GrantError::InvalidGrant(REFUSED)),
        CodeOutcome::UsedAgain { jti, expires_at, tenant_id } => {
            take_back(grants, &application.client_id, jti, expires_at, tenant_id).await?;
            return Err(GrantError::InvalidGrant(REFUSED));
        }
    };
    let person = person(grants, &application, &granted).await?;
    let scopes = granted.scopes.intersection(&application.scopes.for_user());
    let device_id = granted.device_id.as_deref();
    let subject = subject_of(
        &grants.auth.store,
        grants.auth.authenticator.directory(),
        application,
        person,
        device_id,
        scopes,
    )
    .await?;
    Ok(GrantedToken { subject, issued_token_type: None, jti })
}

/// Redeems a code of the server's own pages.
///
/// A repeat revokes nothing: browsers cause it on back and reload, and no token exists.
pub(super) async fn signed_in(
    grants: Grants<'_>,
    application: &Application,
    code_use: CodeUse<'_>,
) -> Result<SignedIn, GrantError> {
    let CodeOutcome::CodeGrant { granted, .. } =
        codes::take(&grants.auth.store, code_use, 0, now_millis()).await?
    else {
        return Err(GrantError::InvalidGrant(REFUSED));
    };
    let person = person(grants, application, &granted).await?;
    Ok(SignedIn {
        tenant_id: granted.tenant_id,
        user_id: person.user_id,
        user_epoch: person.epoch,
        login_id: granted.login_id,
        client_id: application.client_id.clone(),
        client_epoch: application.epoch,
        issuer: None,
    })
}

async fn person(
    grants: Grants<'_>,
    application: &Application,
    granted: &CodeGrant,
) -> Result<Person, GrantError> {
    let reader = grants.auth.store.reader();
    if application.tenant_id != granted.tenant_id || application.is_frozen {
        return Err(GrantError::InvalidGrant(FROZEN));
    }
    let person = grants
        .auth
        .authenticator
        .directory()
        .find_person(reader, granted.tenant_id, SubjectKind::UserId, &granted.user_id)
        .await?;
    person
        .filter(|person| person.epoch == granted.user_epoch)
        .ok_or(GrantError::InvalidGrant("the user may no longer sign in, or must sign in again"))
}

/// A reused code may be stolen (RFC 6749 §4.1.2).
async fn take_back(
    grants: Grants<'_>,
    client_id: &str,
    jti: String,
    expires_at: u64,
    tenant_id: i64,
) -> Result<(), GrantError> {
    if revoked_tokens::is_revoked(grants.auth.store.reader(), &jti).await? {
        return Ok(());
    }
    let actor = Actor::application(client_id);
    let job = grants.auth.store.write(move |transaction| {
        Box::pin(async move {
            if !revoked_tokens::insert(transaction, &jti, expires_at).await? {
                return Ok(());
            }
            if let Some(tenant) = tenants::find_by_id(transaction, tenant_id).await? {
                let event = AuditEvent::new("revoke", "token", jti)
                    .with("reason", "its authorization code was used again");
                audit::record(transaction, &actor, &tenant, vec![event]).await?;
            }
            transaction.invalidate(Cached::Identities(tenant_id));
            Ok(())
        })
    });
    Ok(job.await?)
}
