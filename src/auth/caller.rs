//! From a bearer token, or a browser's session, to the caller behind it: which tenant, which application, which person, what
//! they may.

mod issuers;
mod sessions;

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use aws_lc_rs::digest::{SHA256, digest};
use moka::sync::Cache;

use super::{
    applications::{self, Kind},
    directory::{self, Person, SubjectKind},
    issuers::Issuers,
    revocations,
    scopes::{Scope, Scopes},
    sessions::Sessions,
    tenants::{self, Tenant},
    tokens::{self, Claims, Tokens},
    usage::{LastUse, Usage},
};
use crate::{
    error::{Error, Result},
    store::{Store, Transaction},
};

pub use self::sessions::Role;
use self::sessions::Session;

/// Tokens whose caller is remembered; fewer of those who carry much.
const REMEMBERED_TOKENS: u64 = 100_000;

/// Bytes of principals that count as much as a token.
const PRINCIPALS_OF_A_TOKEN: usize = 1_024;

/// A caller is looked up anew after this time even when nothing was seen to change, for what another process
/// (`trawl app create`) may have changed in the database.
const REMEMBERED_FOR: Duration = Duration::from_secs(30);

/// Who makes a call.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The tenant that the call acts on.
    pub tenant: Arc<Tenant>,
    /// The tenant that the application belongs to.
    pub home: Arc<Tenant>,
    /// The application's client id; of someone who operates the server in a browser, `operator:` and who he is.
    pub client_id: Arc<str>,
    /// What the application is.
    pub kind: Kind,
    /// Tenants that a domain application may act on besides its own.
    bound: Arc<[String]>,
    /// The person, when the token is a user token.
    pub user: Option<Arc<User>>,
    /// What the token allows.
    pub scopes: Scopes,
    /// The application's epoch; none of an external issuer, which is no application, and of a session, which has it.
    epoch: Option<i64>,
    /// The id of the token; none of an external issuer's.
    token_id: Option<Arc<str>>,
    /// The session of a browser, where that is what let him in.
    session: Option<Arc<Session>>,
    expires_at: u64,
    last_use: Arc<LastUse>,
}

/// The person behind a user token.
#[derive(Clone, Debug)]
pub struct User {
    /// Who he is.
    pub person: Person,
    /// What an item must name for him to see it, besides what the whole tenant sees.
    pub principals: Arc<[String]>,
}

impl Caller {
    /// What an item must name for this caller to see it; an application sees only what the whole tenant sees
    /// (decisions 3.5).
    pub fn principals(&self) -> Arc<[String]> {
        self.user.as_ref().map(|user| Arc::clone(&user.principals)).unwrap_or_default()
    }

    /// The person behind a user token.
    pub fn person(&self) -> Option<&Person> {
        self.user.as_ref().map(|user| &user.person)
    }

    /// The id of whoever is behind a user token or a session, one of the caller's own tenant; an operator's session too.
    pub fn user_id(&self) -> Option<&str> {
        let signed_in = || self.session.as_ref().map(|session| session.user_id.as_str());
        self.person().map(|person| person.user_id.as_str()).or_else(signed_in)
    }

    /// Whether the call would not be let in without this application: it calls, or someone is signed in by it.
    pub fn is_by(&self, client_id: &str) -> bool {
        *self.client_id == *client_id
            || self.session.as_ref().is_some_and(|session| session.client_id == client_id)
    }

    /// Whether somebody calls who is signed in to this tenant.
    pub fn is_signed_in_to(&self, tenant: &Tenant) -> bool {
        self.session.is_some() && self.home.id == tenant.id
    }

    /// The person, for an operation of people.
    ///
    /// # Errors
    /// 403 for an application token (decisions 3.5).
    pub fn require_user(&self) -> Result<&User> {
        self.user.as_deref().ok_or_else(|| Error::forbidden("this operation needs a user token"))
    }

    /// Asks again inside a write that began long after he was let in, whether his token, his application and the tenant still
    /// let him do that.
    ///
    /// # Errors
    /// 401 or 403, as at the door.
    pub async fn confirm(&self, transaction: &Transaction) -> Result<()> {
        if let Some(epoch) = self.epoch {
            let application = applications::find(&**transaction, &self.client_id).await?.ok_or_else(gone)?;
            let has_lost_a_scope = self.scopes.first_outside(&application.scopes).is_some();
            if application.epoch != epoch || application.is_disabled || has_lost_a_scope {
                return Err(revoked());
            }
            if application.is_frozen {
                return Err(Error::forbidden("tenant is frozen"));
            }
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
            && revocations::is_revoked(&**transaction, token_id).await?
        {
            return Err(revoked());
        }
        let tenant = tenants::find_by_id(&**transaction, self.tenant.id).await?.ok_or_else(gone)?;
        if tenant.is_frozen { Err(Error::forbidden("tenant is frozen")) } else { Ok(()) }
    }

    /// Notes that he calls.
    fn note_use(&self) {
        self.last_use.note();
        if let Some(session) = &self.session {
            session.last_use.note();
        }
    }

    /// Whether it is frozen whose call this is or whom it acts on (decisions 3.6).
    pub fn is_frozen(&self) -> bool {
        self.home.is_frozen || self.tenant.is_frozen
    }

    /// Whether a tenant of this code is the application's to know of (decisions 3.2); it need not exist.
    pub fn knows(&self, code: &str) -> bool {
        let is_bound = || self.bound.iter().any(|bound| bound == code);
        match self.kind {
            Kind::Application => self.home.code == code,
            Kind::Domain => self.home.code == code || is_bound(),
            Kind::Admin => true,
        }
    }

    /// Whether a tenant that the application knows lets it manage it (`isAllowManage`, decisions 3.6).
    pub fn may_manage(&self, tenant: &Tenant) -> bool {
        self.kind != Kind::Domain
            || tenant.allow_manage
            || tenant.registered_by.as_deref() == Some(&*self.client_id)
    }

    /// # Errors
    /// 403 that says which scope is missing (decisions 3.3).
    pub fn require(&self, scope: Scope) -> Result<()> {
        if self.scopes.allow(scope) {
            Ok(())
        } else {
            Err(Error::forbidden(format!(
                "this operation needs the scope {scope}, which the token does not carry"
            )))
        }
    }
}

/// Turns tokens and sessions into callers, and remembers them until they expire or anything about their tenant's identities changes.
pub struct Authenticator {
    pub(super) store: Store,
    tokens: Arc<Tokens>,
    usage: Arc<Usage>,
    issuers: Issuers,
    sessions: Arc<Sessions>,
    /// By the token's hash, or the session's id.
    remembered: Cache<[u8; 32], Remembered>,
    /// How often the identities of each tenant have changed.
    generations: Mutex<HashMap<i64, Arc<AtomicU64>>>,
}

/// A caller, as he was when the identities of his tenant had changed so often.
#[derive(Clone)]
struct Remembered {
    caller: Arc<Caller>,
    generation: u64,
    generations: Arc<AtomicU64>,
}

impl Remembered {
    /// What it takes of [`REMEMBERED_TOKENS`].
    fn weight(&self) -> u32 {
        let principals = self.caller.user.as_ref().map_or(&[][..], |user| &user.principals);
        let bytes: usize = principals.iter().map(|principal| size_of::<String>() + principal.len()).sum();
        u32::try_from(1 + bytes / PRINCIPALS_OF_A_TOKEN).unwrap_or(u32::MAX)
    }

    fn holds(&self) -> bool {
        self.generations.load(Ordering::Acquire) == self.generation
            && self.caller.expires_at > tokens::epoch_seconds()
    }
}

impl Authenticator {
    /// An authenticator over this store.
    pub fn new(store: Store, tokens: Arc<Tokens>, sessions: Arc<Sessions>) -> Self {
        let remembered = Cache::builder()
            .max_capacity(REMEMBERED_TOKENS)
            .weigher(|_, remembered: &Remembered| remembered.weight())
            .time_to_live(REMEMBERED_FOR)
            .build();
        Self {
            store,
            tokens,
            usage: Arc::new(Usage::of_applications()),
            issuers: Issuers::default(),
            sessions,
            remembered,
            generations: Mutex::default(),
        }
    }

    /// The same, which takes the tokens of these issuers for user tokens besides its own (decisions 3.4 c).
    #[must_use]
    pub fn trusting(self, issuers: Issuers) -> Self {
        Self { issuers, ..self }
    }

    /// Who else says who people are.
    pub fn issuers(&self) -> &Issuers {
        &self.issuers
    }

    /// What signs and verifies tokens.
    pub fn tokens(&self) -> &Arc<Tokens> {
        &self.tokens
    }

    /// When applications were last used.
    pub fn usage(&self) -> &Arc<Usage> {
        &self.usage
    }

    /// Forgets every remembered caller whose application is of this tenant, because its people, departments, applications or
    /// itself changed.
    pub fn forget_callers(&self, tenant_id: i64) {
        // A look-up that began before the change files its caller under the old generation, which no longer holds.
        self.generations(tenant_id).fetch_add(1, Ordering::AcqRel);
    }

    /// What forgets them once a change is durable.
    pub(super) fn forgetting_callers(&self, tenant_id: i64) -> impl FnOnce() + Send + 'static {
        let generations = self.generations(tenant_id);
        move || {
            generations.fetch_add(1, Ordering::AcqRel);
        }
    }

    fn generation(&self, tenant_id: i64) -> (u64, Arc<AtomicU64>) {
        let generations = self.generations(tenant_id);
        (generations.load(Ordering::Acquire), generations)
    }

    fn generations(&self, tenant_id: i64) -> Arc<AtomicU64> {
        let mut generations = self.generations.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(generations.entry(tenant_id).or_default())
    }

    /// The caller behind a bearer token, acting on the tenant that `indicated` (the header `indicated-e-code`)
    /// names where his kind allows it.
    ///
    /// # Errors
    /// 401 for a token that is not valid (any more), 403 for a tenant that is not his to act on (decisions 3.2).
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
        let hash = hash(token);
        if let Some(remembered) = self.remembered.get(&hash).filter(Remembered::holds) {
            remembered.caller.note_use();
            return Ok(remembered.caller);
        }
        let (caller, generation, generations) = if let Some(issuer) = self.issuers.of(token) {
            let identity = issuer.verify(token).await?;
            let reader = self.store.reader();
            let tenant = tenants::find_by_code(reader, &identity.trust.tenant).await?;
            let tenant_id = tenant.ok_or_else(issuers::nobody)?.id;
            let (generation, generations) = self.generation(tenant_id);
            (self.look_up_person(tenant_id, &identity).await?, generation, generations)
        } else {
            let claims = self.tokens.verify(token)?;
            let (generation, generations) = self.generation(claims.tenant);
            (self.look_up(claims).await?, generation, generations)
        };
        let caller = Arc::new(caller);
        caller.note_use();
        let remembered = Remembered { caller: Arc::clone(&caller), generation, generations };
        self.remembered.insert(hash, remembered);
        Ok(caller)
    }

    /// Finds what the claims speak of; what is gone makes the token worthless.
    async fn look_up(&self, claims: Claims) -> Result<Caller> {
        let reader = self.store.reader();
        let application = applications::find(reader, &claims.client_id).await?;
        let application =
            application.filter(|application| application.tenant_id == claims.tenant).ok_or_else(gone)?;
        let tenant = tenants::find_by_id(reader, claims.tenant).await?.ok_or_else(gone)?;
        let is_revoked = revocations::is_revoked(reader, &claims.jti).await?;
        if is_revoked || application.epoch != claims.epoch || application.is_disabled {
            return Err(revoked());
        }
        let user = if let Some(user) = claims.user {
            let person = directory::find_person(reader, tenant.id, SubjectKind::UserId, &claims.sub)
                .await?
                .ok_or_else(gone)?;
            let is_bound = match user.device {
                Some(binding) => directory::is_bound(reader, tenant.id, &person.user_id, binding).await?,
                None => true,
            };
            if person.epoch != user.epoch || !is_bound {
                return Err(revoked());
            }
            let principals = directory::principals(reader, tenant.id, &person).await?.into();
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
            // What was taken from the application since is taken from its tokens.
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

/// What a token is remembered by.
fn hash(token: &str) -> [u8; 32] {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest(&SHA256, token.as_bytes()).as_ref());
    hash
}

/// 403: whether that tenant exists is not told.
fn not_his() -> Error {
    Error::forbidden("indicated-e-code: this application may not act on that tenant")
}

/// 401: what the token speaks of is not there.
fn gone() -> Error {
    Error::unauthorized("the token's application, tenant or user no longer exists")
}

/// 401: the token was taken back.
fn revoked() -> Error {
    Error::unauthorized("the token was revoked; ask for a new one")
}
