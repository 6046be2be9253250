//! The application that people sign in to the pages by: one of each tenant, built in, without a secret.
//!
//! Who it sends to the login page comes back to this server with a code, which is worth nothing without the verifier that only
//! this server can read (RFC 7636). It is an ordinary row all the same: operators see it, narrow its scopes and disable it.

use std::sync::Arc;

use crate::{
    audit::{self, Actor, Deed},
    auth::{
        applications::{self, Application, Credentials, Kind, LoginClient, NewApplication},
        caller::Authenticator,
        keys::Keys,
        scopes::Scope,
        tenants::Tenant,
    },
    error::{Error, Result},
    store::now_millis,
};

/// What it is called.
const NAME: &str = "trawl";

/// What people may do by it.
const SCOPES: [Scope; 2] = [Scope::ContentsRead, Scope::Files];

/// Its client id.
pub fn client_id(tenant_id: i64) -> String {
    format!("search-page-{tenant_id}")
}

/// Whether an application is one of these.
pub fn is(application: &Application) -> bool {
    application.client_id == client_id(application.tenant_id)
}

impl Authenticator {
    /// The tenant's application of the pages, which sends people back to this address. It is made, or its address is put right,
    /// where that is not so yet.
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
                let deed = if applications::find(&**transaction, &client_id).await?.is_some() {
                    applications::set_redirect_uri(transaction, &client_id, &redirect_uri).await?;
                    Deed::new("change", "application", client_id.as_str())
                        .with("fields", vec!["redirectUris"])
                } else {
                    let new = described(&tenant, redirect_uri);
                    let credentials =
                        Credentials::without_secret(&keys, &client_id, SCOPES.into_iter().collect())?;
                    applications::insert(transaction, tenant.id, &new, &credentials).await?;
                    // One that was removed and comes again: what was good by it is not good again.
                    applications::set_epoch(transaction, &client_id, now_millis()).await?;
                    Deed::new("create", "application", client_id.as_str()).with("kind", new.kind.as_str())
                };
                let actor = Actor::application(&client_id);
                audit::record(transaction, &actor, &tenant, vec![deed]).await?;
                let application = applications::find(&**transaction, &client_id).await?;
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
