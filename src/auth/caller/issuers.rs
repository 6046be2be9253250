//! Resolves an external issuer's token to a person of the directory.

use std::sync::Arc;

use super::{Authenticator, Caller, User};
use crate::{
    auth::{applications::Kind, directory::SubjectKind, issuers::Identity, tenants},
    error::{Error, Result},
};

impl Authenticator {
    pub(super) async fn look_up_person(&self, tenant_id: i64, identity: &Identity<'_>) -> Result<Caller> {
        let reader = self.store.reader();
        // Read after the generation, like all cached values.
        let tenant = tenants::find_by_id(reader, tenant_id).await?.ok_or_else(nobody)?;
        let login_id = &identity.login_id;
        let person = self.directory.find_person(reader, tenant_id, SubjectKind::LoginId, login_id).await?;
        let person = person.ok_or_else(nobody)?;
        let principals = self.directory.principals(reader, tenant_id, &person).await?.into();
        let (home, client_id) = (Arc::new(tenant), format!("issuer:{}", identity.trust.issuer));
        Ok(Caller {
            tenant: Arc::clone(&home),
            home,
            last_use: self.usage.of(&client_id),
            client_id: client_id.into(),
            kind: Kind::Application,
            bound: Arc::default(),
            user: Some(Arc::new(User { person, principals })),
            scopes: identity.trust.scopes.clone(),
            epoch: None,
            token_id: None,
            session: None,
            expires_at: identity.expires_at,
        })
    }
}

/// 401: a valid issuer's token that names nobody here.
pub(super) fn nobody() -> Error {
    Error::unauthorized("the token's person is unknown or may not sign in")
}
