//! Begins and ends browser sessions, and resolves them to their callers.

use std::sync::Arc;

use aws_lc_rs::digest::{SHA256, digest};
use secrecy::{ExposeSecret, SecretString};

use super::{Authenticator, CachedCaller, Caller, User};
use crate::{
    auth::{
        applications::{self, Application, Kind},
        directory::{Person, PersonDirectory, SubjectKind},
        second_factor::{self, FactorOwner},
        secrets,
        sessions::{self, SessionId, SessionOrigin, SessionRow, Sessions, SignedIn},
        tenants::{self, Tenant},
        usage::LastUse,
    },
    error::{Error, Result},
    identity::{
        frozen::refuse_frozen,
        scopes::{Scopes, TokenScope},
    },
    store::{Cached, Connection, Transaction, now_millis},
};

/// The least recently used are removed.
const MAX_OF_ONE_PERSON: u64 = 50;

/// The role in which a signed-in person calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionRole {
    /// A person of the tenant.
    Person,
    /// An operator of the server.
    Operator,
}

#[derive(Clone, Debug)]
pub(super) struct Session {
    id: SessionId,
    role: SessionRole,
    pub(super) user_id: String,
    pub(super) client_id: String,
    sessions: Arc<Sessions>,
    directory: Arc<dyn PersonDirectory>,
    pub(super) last_use: Arc<LastUse>,
    needs_second_factor: bool,
}

impl Session {
    pub(super) fn id(&self) -> SessionId {
        self.id
    }

    pub(super) async fn confirm(&self, transaction: &Transaction, scopes: &Scopes) -> Result<()> {
        let row = sessions::find(transaction, self.id).await?.ok_or_else(ended)?;
        let found =
            FoundSession::look_up(transaction, &self.sessions, &*self.directory, self.id, &row).await?;
        let FoundSession { application, .. } = &found;
        let has_lost_a_scope =
            self.role == SessionRole::Person && scopes.first_outside(&application.scopes).is_some();
        if has_lost_a_scope {
            return Err(ended());
        }
        refuse_frozen(application.is_frozen)
    }
}

impl Caller {
    /// Whether an operator's session needs a second factor before it may operate.
    pub fn needs_second_factor(&self) -> bool {
        self.session.as_ref().is_some_and(|session| session.needs_second_factor)
    }
}

struct FoundSession {
    application: Application,
    person: Person,
    expires_at: u64,
}

impl FoundSession {
    /// # Errors
    /// 401 where the session is over or its objects have changed.
    async fn look_up(
        connection: &Connection,
        sessions: &Sessions,
        directory: &dyn PersonDirectory,
        id: SessionId,
        row: &SessionRow,
    ) -> Result<Self> {
        let expires_at = sessions.expiry(id, row).ok_or_else(ended)?;
        let application = applications::find(connection, &row.client_id).await?;
        let application = application.filter(|application| {
            application.tenant_id == row.tenant_id
                && application.epoch == row.client_epoch
                && !application.is_disabled
        });
        let person =
            directory.find_person(connection, row.tenant_id, SubjectKind::UserId, &row.user_id).await?;
        // A changed login account is another identity to `console.operators` and the audit.
        let person =
            person.filter(|person| person.epoch == row.user_epoch && person.login_id == row.login_id);
        let (application, person) = application.zip(person).ok_or_else(ended)?;
        Ok(Self { application, person, expires_at })
    }
}

impl Authenticator {
    /// The sessions' state outside their rows.
    pub fn sessions(&self) -> &Arc<Sessions> {
        &self.sessions
    }

    /// Replaces the browser's session. Returns the cookie's content.
    pub async fn begin_session(
        &self,
        signed_in: SignedIn,
        origin: SessionOrigin,
        replaced: Option<SessionId>,
    ) -> Result<SecretString> {
        let secret = secrets::generate()?;
        let id = SessionId::of(secret.expose_secret());
        let id = id.ok_or_else(|| Error::internal("a session secret has the wrong length"))?;
        if let Some(replaced) = replaced {
            self.end_session(replaced).await?;
        }
        let job = self.store.write(move |transaction| {
            Box::pin(async move {
                sessions::insert(transaction, id, &signed_in, &origin, now_millis()).await?;
                let (tenant_id, user_id) = (signed_in.tenant_id, &signed_in.user_id);
                if sessions::remove_above(transaction, tenant_id, user_id, MAX_OF_ONE_PERSON).await? {
                    transaction.invalidate(Cached::Identities(tenant_id));
                }
                Ok(())
            })
        });
        job.await?;
        Ok(secret)
    }

    /// Ends a session. Returns its tenant's number and its person's id.
    pub async fn end_session(&self, id: SessionId) -> Result<Option<(i64, String)>> {
        let Some(row) = sessions::find(self.store.reader(), id).await? else { return Ok(None) };
        let job = self.store.write(move |transaction| {
            Box::pin(async move {
                sessions::remove(transaction, id).await?;
                transaction.invalidate(Cached::Identities(row.tenant_id));
                Ok(())
            })
        });
        job.await?;
        Ok(Some((row.tenant_id, row.user_id)))
    }

    /// Signs a person out everywhere but in the session `kept`.
    ///
    /// Their other sessions, sign-ins in flight and tokens of this server end. Returns the number of sessions, if there is
    /// such a person.
    pub async fn sign_out(
        &self,
        transaction: &Transaction,
        (tenant_id, user_id): (i64, &str),
        kept: Option<SessionId>,
    ) -> Result<Option<u64>> {
        let Some(epoch) = self.directory.raise_epoch(transaction, tenant_id, user_id).await? else {
            return Ok(None);
        };
        let ended = sessions::end_all_but(transaction, tenant_id, user_id, kept).await?;
        if let Some(kept) = kept {
            sessions::renew(transaction, kept, epoch).await?;
        }
        transaction.invalidate(Cached::Identities(tenant_id));
        Ok(Some(ended))
    }

    /// Resolves a session; `indicated` is `indicated-e-code`, for operators.
    ///
    /// # Errors
    /// 401 where it is over; 403 for a non-operator or a foreign tenant.
    pub async fn authenticate_session(
        &self,
        id: SessionId,
        role: SessionRole,
        indicated: Option<&str>,
    ) -> Result<Arc<Caller>> {
        let caller = self.identify_session(id, role).await?;
        self.acting_on(caller, indicated).await
    }

    async fn identify_session(&self, id: SessionId, role: SessionRole) -> Result<Arc<Caller>> {
        self.store.refresh().await?;
        let key = key(id, role);
        if let Some(remembered) = self.remembered.get(&key).filter(CachedCaller::holds) {
            remembered.caller.note_use();
            return Ok(remembered.caller);
        }
        let reader = self.store.reader();
        let tenant_id = sessions::find(reader, id).await?.ok_or_else(ended)?.tenant_id;
        let identities = self.identities(tenant_id);
        // Read after the generation, like all cached values.
        let row = sessions::find(reader, id).await?.ok_or_else(ended)?;
        let caller = Arc::new(self.look_up_session(id, role, &row).await?);
        caller.note_use();
        self.remembered.insert(key, CachedCaller { caller: Arc::clone(&caller), identities });
        Ok(caller)
    }

    async fn look_up_session(&self, id: SessionId, role: SessionRole, row: &SessionRow) -> Result<Caller> {
        let reader = self.store.reader();
        let found = FoundSession::look_up(reader, &self.sessions, &*self.directory, id, row).await?;
        let FoundSession { application, person, expires_at } = found;
        let home = Arc::new(tenants::find_by_id(reader, row.tenant_id).await?.ok_or_else(ended)?);
        let trusted = self.trusted(row, &home)?;
        let last_use = self.usage.of(&application.client_id);
        let is_operator = self.sessions.is_operator(&person.login_id, &home);
        let needs_second_factor = is_operator && self.needs_second_factor(reader, row).await?;
        let session = Session {
            id,
            role,
            needs_second_factor,
            user_id: person.user_id.clone(),
            client_id: application.client_id.clone(),
            sessions: Arc::clone(&self.sessions),
            directory: Arc::clone(&self.directory),
            last_use: self.sessions.last_use(id),
        };
        let (kind, client_id, scopes, user) = match role {
            SessionRole::Person => {
                let principals = self.directory.principals(reader, home.id, &person).await?.into();
                let user = Some(Arc::new(User { person, principals }));
                let scopes = application.scopes.for_user();
                let scopes = trusted.map_or_else(|| scopes.clone(), |trusted| scopes.intersection(trusted));
                (Kind::Application, application.client_id, scopes, user)
            }
            SessionRole::Operator if needs_second_factor => {
                let refusal =
                    "operators need a second factor (console.require_second_factor): set it up at /account";
                return Err(Error::forbidden(refusal));
            }
            SessionRole::Operator if is_operator => {
                let client_id = format!("operator:{}@{}", person.login_id, home.code);
                (Kind::Admin, client_id, [TokenScope::Admin, TokenScope::Tenants].into_iter().collect(), None)
            }
            SessionRole::Operator => {
                let refusal = "this operation is for operators: console.operators lists them";
                return Err(Error::forbidden(refusal));
            }
        };
        Ok(Caller {
            tenant: Arc::clone(&home),
            home,
            client_id: client_id.into(),
            kind,
            bound: Arc::default(),
            user,
            scopes,
            epoch: None,
            token_id: None,
            session: Some(Arc::new(session)),
            expires_at,
            last_use,
        })
    }

    /// Whether the settings ask for a second factor that the session's person lacks.
    async fn needs_second_factor(&self, reader: &Connection, row: &SessionRow) -> Result<bool> {
        // Issuers have factors of their own.
        if !self.sessions.require_second_factor() || row.issuer.is_some() {
            return Ok(false);
        }
        let owner = FactorOwner { tenant_id: row.tenant_id, user_id: row.user_id.clone() };
        Ok(second_factor::find(reader, &owner).await?.is_none())
    }

    /// The scopes of the sign-in's issuer.
    ///
    /// # Errors
    /// 401 where it is no longer configured.
    fn trusted(&self, row: &SessionRow, home: &Tenant) -> Result<Option<&Scopes>> {
        let Some(id) = &row.issuer else { return Ok(None) };
        let issuer = self.issuers.sign_in(id).filter(|issuer| issuer.tenant() == home.code);
        issuer.map(|issuer| Some(issuer.scopes())).ok_or_else(ended)
    }
}

/// No header can hold this prefix, so the key equals no token's.
fn key(id: SessionId, role: SessionRole) -> [u8; 32] {
    let role = match role {
        SessionRole::Person => 0,
        SessionRole::Operator => 1,
    };
    let text = [&[0, role], id.bytes()].concat();
    let mut key = [0; 32];
    key.copy_from_slice(digest(&SHA256, &text).as_ref());
    key
}

fn ended() -> Error {
    Error::unauthorized("the session has ended; sign in again")
}
