//! Resolves a token or session to its caller.

mod issuers;
mod sessions;

use std::{sync::Arc, time::Duration};

use aws_lc_rs::digest::{SHA256, digest};
use moka::sync::Cache;

use super::{
    applications::{self, Kind},
    directory::{Person, PersonDirectory, SubjectKind},
    issuers::Issuers,
    revoked_tokens,
    sessions::{SessionId, Sessions},
    tenants::{self, Tenant},
    tokens::{self, Claims, Tokens},
    usage::{LastUse, LastUses},
};
use crate::{
    audit::Actor,
    error::{Error, Result},
    identity::{
        frozen::refuse_frozen,
        scopes::{Scopes, TokenScope},
    },
    store::{Cached, Generation, Store, Transaction},
};

use self::sessions::Session;
pub use self::sessions::SessionRole;

const REMEMBERED_TOKENS: u64 = 100_000;

const PRINCIPALS_OF_A_TOKEN: usize = 1_024;

/// Another process (`trawl app create`) may change an SQLite database.
const REMEMBERED_FOR: Duration = Duration::from_secs(30);

/// The caller of an operation.
#[derive(Clone, Debug)]
pub struct Caller {
    /// Tenant acted on.
    pub tenant: Arc<Tenant>,
    /// The application's own tenant.
    pub home: Arc<Tenant>,
    /// The client id; `operator:` and the login for an operator's session.
    pub client_id: Arc<str>,
    /// The application's kind.
    pub kind: Kind,
    bound: Arc<[String]>,
    /// Person of a user token.
    pub user: Option<Arc<User>>,
    /// Allowed scopes.
    pub scopes: Scopes,
    /// The application's epoch; `None` for external issuers and sessions.
    epoch: Option<i64>,
    token_id: Option<Arc<str>>,
    session: Option<Arc<Session>>,
    expires_at: u64,
    last_use: Arc<LastUse>,
}

/// The person behind a user token.
#[derive(Clone, Debug)]
pub struct User {
    /// The person.
    pub person: Person,
    /// The principals that make an item visible to them.
    pub principals: Arc<[String]>,
}

impl Caller {
    /// The principals that make an item visible; none for applications (book: explanation/visibility.md).
    pub fn principals(&self) -> Arc<[String]> {
        self.user.as_ref().map(|user| Arc::clone(&user.principals)).unwrap_or_default()
    }

    /// The person behind a user token.
    pub fn person(&self) -> Option<&Person> {
        self.user.as_ref().map(|user| &user.person)
    }

    /// The id of the person or operator behind the call.
    pub fn user_id(&self) -> Option<&str> {
        let signed_in = || self.session.as_ref().map(|session| session.user_id.as_str());
        self.person().map(|person| person.user_id.as_str()).or_else(signed_in)
    }

    /// Whether the call depends on this application, directly or by a sign-in.
    pub fn is_by(&self, client_id: &str) -> bool {
        *self.client_id == *client_id
            || self.session.as_ref().is_some_and(|session| session.client_id == client_id)
    }

    /// The browser session that calls; none for tokens.
    pub fn session_id(&self) -> Option<SessionId> {
        self.session.as_ref().map(|session| session.id())
    }

    /// Whether the caller is signed in to this tenant.
    pub fn is_signed_in_to(&self, tenant: &Tenant) -> bool {
        self.session.is_some() && self.home.id == tenant.id
    }

    /// The person.
    ///
    /// # Errors
    /// 403 for an application token.
    pub fn require_user(&self) -> Result<&User> {
        self.user.as_deref().ok_or_else(|| Error::forbidden("this operation needs a user token"))
    }

    /// Checks the caller again inside a late write.
    ///
    /// # Errors
    /// 401 or 403, as at admission.
    pub async fn confirm(&self, transaction: &Transaction) -> Result<()> {
        if let Some(epoch) = self.epoch {
            let application = applications::find(transaction, &self.client_id).await?.ok_or_else(gone)?;
            let has_lost_a_scope = self.scopes.first_outside(&application.scopes).is_some();
            if application.epoch != epoch || application.is_disabled || has_lost_a_scope {
                return Err(revoked());
            }
            refuse_frozen(application.is_frozen)?;
            if self.kind == Kind::Domain
                && self.tenant.id != self.home.id
                && !application.bound.contains(&self.tenant.code)
            {
                return Err(not_his());
            }
        }
        if let Some(session) = &self.session {
            session.confirm(transaction, &self.scopes).await?;
        }
        if let Some(token_id) = &self.token_id
            && revoked_tokens::is_revoked(transaction, token_id).await?
        {
            return Err(revoked());
        }
        let tenant = tenants::find_by_id(transaction, self.tenant.id).await?.ok_or_else(gone)?;
        refuse_frozen(tenant.is_frozen)
    }

    fn note_use(&self) {
        self.last_use.note();
        if let Some(session) = &self.session {
            session.last_use.note();
        }
    }

    /// Whether the caller's or the target tenant is frozen.
    pub fn is_frozen(&self) -> bool {
        self.home.is_frozen || self.tenant.is_frozen
    }

    /// Whether the application may know this code, existing or not.
    pub fn knows(&self, code: &str) -> bool {
        let is_bound = || self.bound.iter().any(|bound| bound == code);
        match self.kind {
            Kind::Application => self.home.code == code,
            Kind::Domain => self.home.code == code || is_bound(),
            Kind::Admin => true,
        }
    }

    /// Whether the application may manage a tenant it knows (`isAllowManage`).
    pub fn may_manage(&self, tenant: &Tenant) -> bool {
        self.kind != Kind::Domain
            || tenant.allow_manage
            || tenant.registered_by.as_deref() == Some(&*self.client_id)
    }

    /// # Errors
    /// 403 that names the missing scope.
    pub fn require(&self, scope: TokenScope) -> Result<()> {
        if self.scopes.allow(scope) {
            Ok(())
        } else {
            Err(Error::forbidden(format!(
                "this operation needs the scope {scope}, which the token does not carry"
            )))
        }
    }
}

impl Actor {
    /// The caller of a request.
    pub fn caller(caller: &Caller) -> Self {
        Self::new(Arc::clone(&caller.client_id), caller.user_id().map(str::to_owned))
    }
}

/// Resolves and caches callers.
///
/// A caller is cached until its token expires or the tenant's identities change.
pub struct Authenticator {
    pub(super) store: Store,
    tokens: Arc<Tokens>,
    usage: Arc<LastUses>,
    issuers: Issuers,
    sessions: Arc<Sessions>,
    directory: Arc<dyn PersonDirectory>,
    remembered: Cache<[u8; 32], CachedCaller>,
}

#[derive(Clone)]
struct CachedCaller {
    caller: Arc<Caller>,
    identities: Generation,
}

impl CachedCaller {
    fn weight(&self) -> u32 {
        let principals = self.caller.user.as_ref().map_or(&[][..], |user| &user.principals);
        let bytes: usize = principals.iter().map(|principal| size_of::<String>() + principal.len()).sum();
        u32::try_from(1 + bytes / PRINCIPALS_OF_A_TOKEN).unwrap_or(u32::MAX)
    }

    fn holds(&self) -> bool {
        self.identities.is_current() && self.caller.expires_at > tokens::epoch_seconds()
    }
}

impl Authenticator {
    /// An authenticator over this store.
    pub fn new(
        store: Store,
        tokens: Arc<Tokens>,
        sessions: Arc<Sessions>,
        directory: Arc<dyn PersonDirectory>,
    ) -> Self {
        let remembered = Cache::builder()
            .max_capacity(REMEMBERED_TOKENS)
            .weigher(|_, remembered: &CachedCaller| remembered.weight())
            .time_to_live(REMEMBERED_FOR)
            .build();
        Self {
            store,
            tokens,
            usage: Arc::new(LastUses::for_applications()),
            issuers: Issuers::default(),
            sessions,
            directory,
            remembered,
        }
    }

    /// Also accepts user tokens of these issuers (book: how-to/sign-in.md).
    #[must_use]
    pub fn trusting(self, issuers: Issuers) -> Self {
        Self { issuers, ..self }
    }

    /// The external issuers.
    pub fn issuers(&self) -> &Issuers {
        &self.issuers
    }

    /// The directory.
    pub fn directory(&self) -> &dyn PersonDirectory {
        &*self.directory
    }

    /// Signs and verifies tokens.
    pub fn tokens(&self) -> &Arc<Tokens> {
        &self.tokens
    }

    /// The last uses of applications.
    pub fn usage(&self) -> &Arc<LastUses> {
        &self.usage
    }

    fn identities(&self, tenant_id: i64) -> Generation {
        self.store.generations().now(Cached::Identities(tenant_id))
    }

    /// Resolves a bearer token; `indicated` is `indicated-e-code`.
    ///
    /// Refreshes the store: later reads of the request see earlier acknowledged writes of all replicas.
    ///
    /// # Errors
    /// 401 for an invalid token, 403 for a foreign tenant.
    pub async fn authenticate(&self, token: &str, indicated: Option<&str>) -> Result<Arc<Caller>> {
        let caller = self.identify(token).await?;
        self.acting_on(caller, indicated).await
    }

    async fn acting_on(&self, caller: Arc<Caller>, indicated: Option<&str>) -> Result<Arc<Caller>> {
        match indicated {
            Some(code) if code != caller.tenant.code => self.act_on(&caller, code).await,
            _ => Ok(caller),
        }
    }

    async fn identify(&self, token: &str) -> Result<Arc<Caller>> {
        self.store.refresh().await?;
        let hash = hash(token);
        if let Some(remembered) = self.remembered.get(&hash).filter(CachedCaller::holds) {
            remembered.caller.note_use();
            return Ok(remembered.caller);
        }
        let (caller, identities) = if let Some(issuer) = self.issuers.of(token) {
            let identity = issuer.verify(token).await?;
            let reader = self.store.reader();
            let tenant = tenants::find_by_code(reader, &identity.trust.tenant).await?;
            let tenant_id = tenant.ok_or_else(issuers::nobody)?.id;
            let identities = self.identities(tenant_id);
            (self.look_up_person(tenant_id, &identity).await?, identities)
        } else {
            let claims = self.tokens.verify(token).await?;
            let identities = self.identities(claims.tenant);
            (self.look_up(claims).await?, identities)
        };
        let caller = Arc::new(caller);
        caller.note_use();
        self.remembered.insert(hash, CachedCaller { caller: Arc::clone(&caller), identities });
        Ok(caller)
    }

    async fn look_up(&self, claims: Claims) -> Result<Caller> {
        let reader = self.store.reader();
        let application = applications::find(reader, &claims.client_id).await?;
        let application =
            application.filter(|application| application.tenant_id == claims.tenant).ok_or_else(gone)?;
        let tenant = tenants::find_by_id(reader, claims.tenant).await?.ok_or_else(gone)?;
        let is_revoked = revoked_tokens::is_revoked(reader, &claims.jti).await?;
        if is_revoked || application.epoch != claims.epoch || application.is_disabled {
            return Err(revoked());
        }
        let user = if let Some(user) = claims.user {
            let person = self
                .directory
                .find_person(reader, tenant.id, SubjectKind::UserId, &claims.sub)
                .await?
                .ok_or_else(gone)?;
            let is_bound = match user.device {
                Some(binding) => self.directory.is_bound(reader, tenant.id, &person.user_id, binding).await?,
                None => true,
            };
            if person.epoch != user.epoch || !is_bound {
                return Err(revoked());
            }
            let principals = self.directory.principals(reader, tenant.id, &person).await?.into();
            Some(Arc::new(User { person, principals }))
        } else {
            None
        };
        let granted =
            Scopes::parse(&claims.scope).map_err(|_| Error::unauthorized("the token is not valid"))?;
        let home = Arc::new(tenant);
        Ok(Caller {
            tenant: Arc::clone(&home),
            home,
            last_use: self.usage.of(&application.client_id),
            client_id: application.client_id.into(),
            kind: application.kind,
            bound: application.bound.into(),
            user,
            // Scopes taken from the application are taken from its tokens.
            scopes: granted.intersection(&application.scopes),
            epoch: Some(application.epoch),
            token_id: Some(claims.jti.into()),
            session: None,
            expires_at: claims.exp,
        })
    }

    async fn act_on(&self, caller: &Caller, code: &str) -> Result<Arc<Caller>> {
        if caller.user.is_some() || !caller.knows(code) {
            return Err(not_his());
        }
        let tenant = tenants::find_by_code(self.store.reader(), code).await?;
        let tenant = tenant.filter(|tenant| caller.may_manage(tenant)).ok_or_else(not_his)?;
        Ok(Arc::new(Caller { tenant: Arc::new(tenant), ..caller.clone() }))
    }
}

fn hash(token: &str) -> [u8; 32] {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest(&SHA256, token.as_bytes()).as_ref());
    hash
}

/// 403, which does not tell whether the tenant exists.
fn not_his() -> Error {
    Error::forbidden("indicated-e-code: this application may not act on that tenant")
}

fn gone() -> Error {
    Error::unauthorized("the token's application, tenant or user no longer exists")
}

fn revoked() -> Error {
    Error::unauthorized("the token was revoked; ask for a new one")
}
