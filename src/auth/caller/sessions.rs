//! From a browser's session to the caller behind it: the person, or, for what operates the server, the operator that he is.

use std::sync::Arc;

use aws_lc_rs::digest::{SHA256, digest};

use super::{Authenticator, Caller, Remembered, User};
use crate::{
    auth::{
        applications::{self, Application, Kind},
        directory::{self, Person, SubjectKind},
        scopes::{Scope, Scopes},
        sessions::{self, Row, SessionId, Sessions},
        tenants::{self, Tenant},
        usage::LastUse,
    },
    error::{Error, Result},
    store::Transaction,
};

/// As whom someone who is signed in calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// As the person that he is.
    Person,
    /// As an operator of the server.
    Operator,
}

/// What a caller's session was when he was looked up.
#[derive(Clone, Debug)]
pub(super) struct Session {
    id: SessionId,
    role: Role,
    /// His id on the synchronising side.
    pub(super) user_id: String,
    /// The application that he signed in by.
    pub(super) client_id: String,
    sessions: Arc<Sessions>,
    pub(super) last_use: Arc<LastUse>,
}

impl Session {
    /// Asks again whether the session still lets this caller in.
    pub(super) async fn confirm(&self, transaction: &Transaction, scopes: &Scopes) -> Result<()> {
        let row = sessions::find(&**transaction, self.id).await?.ok_or_else(ended)?;
        let found = Found::look_up(&**transaction, &self.sessions, self.id, &row).await?;
        let Found { application, .. } = &found;
        let has_lost_a_scope =
            self.role == Role::Person && scopes.first_outside(&application.scopes).is_some();
        if has_lost_a_scope {
            return Err(ended());
        }
        if application.is_frozen { Err(Error::forbidden("tenant is frozen")) } else { Ok(()) }
    }
}

/// What a session that is good speaks of.
struct Found {
    application: Application,
    person: Person,
    expires_at: u64,
}

impl Found {
    /// # Errors
    /// 401 where the session is over, or what it speaks of is not as it was when it began.
    async fn look_up<C: sea_orm::ConnectionTrait>(
        connection: &C,
        sessions: &Sessions,
        id: SessionId,
        row: &Row,
    ) -> Result<Self> {
        let expires_at = sessions.expiry(id, row).ok_or_else(ended)?;
        let application = applications::find(connection, &row.client_id).await?;
        let application = application.filter(|application| {
            application.tenant_id == row.tenant_id
                && application.epoch == row.client_epoch
                && !application.is_disabled
        });
        let person =
            directory::find_person(connection, row.tenant_id, SubjectKind::UserId, &row.user_id).await?;
        // Who has another login account is, for `console.operators` and for the audit, someone else.
        let person =
            person.filter(|person| person.epoch == row.user_epoch && person.login_id == row.login_id);
        let (application, person) = application.zip(person).ok_or_else(ended)?;
        Ok(Self { application, person, expires_at })
    }
}

impl Authenticator {
    /// What is known of sessions besides their rows.
    pub fn sessions(&self) -> &Arc<Sessions> {
        &self.sessions
    }

    /// The caller of a session in this role, acting on the tenant that `indicated` (the header `indicated-e-code`) names where he
    /// is an operator.
    ///
    /// # Errors
    /// 401 where the session is over; 403 where its person is no operator, or for a tenant that is not his to act on.
    pub async fn authenticate_session(
        &self,
        id: SessionId,
        role: Role,
        indicated: Option<&str>,
    ) -> Result<Arc<Caller>> {
        let caller = self.identify_session(id, role).await?;
        self.acting_on(caller, indicated).await
    }

    async fn identify_session(&self, id: SessionId, role: Role) -> Result<Arc<Caller>> {
        let key = key(id, role);
        if let Some(remembered) = self.remembered.get(&key).filter(Remembered::holds) {
            remembered.caller.note_use();
            return Ok(remembered.caller);
        }
        let reader = self.store.reader();
        let tenant_id = sessions::find(reader, id).await?.ok_or_else(ended)?.tenant_id;
        let (generation, generations) = self.generation(tenant_id);
        // Read after the generation, as everything that is remembered under it.
        let row = sessions::find(reader, id).await?.ok_or_else(ended)?;
        let caller = Arc::new(self.look_up_session(id, role, &row).await?);
        caller.note_use();
        let remembered = Remembered { caller: Arc::clone(&caller), generation, generations };
        self.remembered.insert(key, remembered);
        Ok(caller)
    }

    async fn look_up_session(&self, id: SessionId, role: Role, row: &Row) -> Result<Caller> {
        let reader = self.store.reader();
        let found = Found::look_up(reader, &self.sessions, id, row).await?;
        let Found { application, person, expires_at } = found;
        let home = Arc::new(tenants::find_by_id(reader, row.tenant_id).await?.ok_or_else(ended)?);
        let trusted = self.trusted(row, &home)?;
        let last_use = self.usage.of(&application.client_id);
        let session = Session {
            id,
            role,
            user_id: person.user_id.clone(),
            client_id: application.client_id.clone(),
            sessions: Arc::clone(&self.sessions),
            last_use: self.sessions.last_use(id),
        };
        let (kind, client_id, scopes, user) = match role {
            Role::Person => {
                let principals = directory::principals(reader, home.id, &person).await?.into();
                let user = Some(Arc::new(User { person, principals }));
                let scopes = application.scopes.for_user();
                let scopes = trusted.map_or_else(|| scopes.clone(), |trusted| scopes.intersection(trusted));
                (Kind::Application, application.client_id, scopes, user)
            }
            Role::Operator if self.sessions.is_operator(&person.login_id, &home) => {
                // What he does is told as his.
                let client_id = format!("operator:{}@{}", person.login_id, home.code);
                (Kind::Admin, client_id, [Scope::Admin, Scope::Tenants].into_iter().collect(), None)
            }
            Role::Operator => {
                let refusal = "this operation is for operators: console.operators names them";
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

    /// What the issuer that someone signed in by is trusted for; none where it was the login page.
    ///
    /// # Errors
    /// 401 where people of the tenant do not sign in by it any more.
    fn trusted(&self, row: &Row, home: &Tenant) -> Result<Option<&Scopes>> {
        let Some(id) = &row.issuer else { return Ok(None) };
        let issuer = self.issuers.sign_in(id).filter(|issuer| issuer.tenant() == home.code);
        issuer.map(|issuer| Some(issuer.scopes())).ok_or_else(ended)
    }
}

/// What a session's caller is remembered by: nothing that can stand in a header begins so, so that it is no token's.
fn key(id: SessionId, role: Role) -> [u8; 32] {
    let role = match role {
        Role::Person => 0,
        Role::Operator => 1,
    };
    let text = [&[0, role], id.bytes()].concat();
    let mut key = [0; 32];
    key.copy_from_slice(digest(&SHA256, &text).as_ref());
    key
}

/// 401.
fn ended() -> Error {
    Error::unauthorized("the session has ended; sign in again")
}
