//! Token exchange within the application's tenant (RFC 8693).

use super::{
    ACCESS_TOKEN_TYPE, GrantError, GrantedToken, TokenRequest, granted_scopes, missing, new_jti, subject_of,
};
use crate::{
    auth::{
        applications::Application,
        directory::{PersonDirectory, SubjectKind},
    },
    identity::scopes::TokenScope,
    store::Store,
};

const LOGIN_ID_TYPE: &str = "urn:trawl:params:oauth:token-type:login-id";
const USER_ID_TYPE: &str = "urn:trawl:params:oauth:token-type:user-id";

pub(super) async fn user_token(
    store: &Store,
    directory: &dyn PersonDirectory,
    application: Application,
    request: &TokenRequest,
) -> Result<GrantedToken, GrantError> {
    if !application.scopes.allow(TokenScope::ActAsUser) {
        let scope = TokenScope::ActAsUser;
        return Err(GrantError::UnauthorizedClient(format!("token exchange needs the scope {scope}")));
    }
    let kind = match request.subject_token_type.as_deref() {
        Some(LOGIN_ID_TYPE) => SubjectKind::LoginId,
        Some(USER_ID_TYPE) => SubjectKind::UserId,
        Some(_) => {
            let expected = format!("subject_token_type must be {LOGIN_ID_TYPE} or {USER_ID_TYPE}");
            return Err(GrantError::InvalidRequest(expected));
        }
        None => return Err(missing("subject_token_type")),
    };
    if request.requested_token_type.as_deref().is_some_and(|wanted| wanted != ACCESS_TOKEN_TYPE) {
        return Err(GrantError::InvalidRequest(format!("requested_token_type must be {ACCESS_TOKEN_TYPE}")));
    }
    let subject = request.subject_token.as_deref().ok_or_else(|| missing("subject_token"))?;
    let scopes = granted_scopes(request, &application.scopes.for_user())?;
    let person =
        directory.find_person(store.reader(), application.tenant_id, kind, subject).await?.ok_or_else(
            || GrantError::InvalidRequest("subject_token names no user who may sign in".to_owned()),
        )?;
    let subject =
        subject_of(store, directory, application, person, request.device_id.as_deref(), scopes).await?;
    Ok(GrantedToken { subject, issued_token_type: Some(ACCESS_TOKEN_TYPE), jti: new_jti() })
}
