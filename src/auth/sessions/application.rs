//! Each tenant's built-in public application for browser sign-in.
//!
//! Only this server can read its codes' verifiers (RFC 7636). Operators manage it like any other.

use std::sync::Arc;

use crate::{
    audit::{self, Actor, AuditEvent},
    auth::{
        applications::{self, Application, ApplicationCredentials, Kind, LoginClient, NewApplication},
        caller::Authenticator,
        keys::Keys,
        tenants::Tenant,
    },
    error::{Error, Result},
    identity::scopes::TokenScope,
    store::now_millis,
};

const NAME: &str = "trawl";

const SCOPES: [TokenScope; 2] = [TokenScope::ContentsRead, TokenScope::Files];

/// The client id.
pub fn client_id(tenant_id: i64) -> String {
    format!("search-page-{tenant_id}")
}

/// Whether the application is built in.
pub fn is(application: &Application) -> bool {
    application.client_id == client_id(application.tenant_id)
}

impl Authenticator {
    /// The tenant's built-in application, created or updated on demand.
    pub async fn page_application(
        &self,
        keys: &Arc<Keys>,
        tenant: &Tenant,
        redirect_uri: &str,
    ) -> Result<Application> {
        let client_id = client_id(tenant.id);
        let is_right = |known: &Application| {
            known.login.redirect_uris.iter().any(|registered| registered == redirect_uri)
        };
        if let Some(known) = applications::find(self.store.reader(), &client_id).await?.filter(is_right) {
            return Ok(known);
        }
        let (keys, tenant, redirect_uri) = (Arc::clone(keys), tenant.clone(), redirect_uri.to_owned());
        let job = self.store.write(move |transaction| {
            Box::pin(async move {
                let event = if applications::find(transaction, &client_id).await?.is_some() {
                    applications::set_redirect_uri(transaction, &client_id, &redirect_uri).await?;
                    AuditEvent::new("change", "application", client_id.as_str())
                        .with("fields", vec!["redirectUris"])
                } else {
                    let new = described(&tenant, redirect_uri);
                    let credentials = ApplicationCredentials::without_secret(
                        &keys,
                        &client_id,
                        SCOPES.into_iter().collect(),
                    )?;
                    applications::insert(transaction, tenant.id, &new, &credentials).await?;
                    // A recreated one does not revive old tokens and sessions.
                    applications::set_epoch(transaction, &client_id, now_millis()).await?;
                    AuditEvent::new("create", "application", client_id.as_str())
                        .with("kind", new.kind.as_str())
                };
                let actor = Actor::application(&client_id);
                audit::record(transaction, &actor, &tenant, vec![event]).await?;
                let application = applications::find(transaction, &client_id).await?;
                application.ok_or_else(|| Error::unauthorized("the tenant no longer exists"))
            })
        });
        job.await
    }
}

fn described(tenant: &Tenant, redirect_uri: String) -> NewApplication {
    NewApplication {
        tenant: tenant.code.clone(),
        kind: Kind::Application,
        bound: Vec::new(),
        scopes: Some(SCOPES.into_iter().collect()),
        name: NAME.to_owned(),
        login: LoginClient { redirect_uris: vec![redirect_uri], is_public: true },
    }
}
