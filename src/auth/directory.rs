//! The directory as authentication sees it.

use std::fmt;

use async_trait::async_trait;

use crate::store::{self, Connection, FromRow, Transaction};

/// How a token names its subject (`subject_token_type` of RFC 8693).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubjectKind {
    /// `urn:trawl:params:oauth:token-type:login-id`.
    LoginId,
    /// `urn:trawl:params:oauth:token-type:user-id`: the synchronised id.
    UserId,
}

/// A person who is neither deleted nor disabled.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct Person {
    /// Synchronised id.
    pub user_id: String,
    /// Login account.
    pub login_id: String,
    /// The person's name.
    pub name: String,
    /// Main department, by synchronised id.
    pub org_id: Option<String>,
    /// Further departments: a JSON list of synchronised ids.
    pub deputy_org_ids: String,
    /// Invalidates tokens of earlier epochs.
    pub epoch: i64,
}

/// A login account.
#[derive(Clone, Debug, FromRow)]
pub struct Account {
    /// Its person.
    #[sqlx(flatten)]
    pub person: Person,
    /// Argon2id hash of the password, if one is set.
    pub password_hash: Option<String>,
    /// Whether the person is enabled.
    pub may_sign_in: bool,
}

/// The directory; its areas answer (`platform/directory`).
#[async_trait]
pub trait PersonDirectory: fmt::Debug + Send + Sync {
    /// The person of the tenant named by `subject`, if they may sign in.
    async fn find_person(
        &self,
        connection: &Connection,
        tenant_id: i64,
        kind: SubjectKind,
        subject: &str,
    ) -> store::Result<Option<Person>>;

    /// The account with this login, unless its person is deleted.
    async fn find_account(
        &self,
        connection: &Connection,
        tenant_id: i64,
        login_id: &str,
    ) -> store::Result<Option<Account>>;

    /// Invalidates a person's tokens, sessions and sign-ins in flight.
    ///
    /// Returns the new epoch, if there is such a person.
    async fn raise_epoch(
        &self,
        transaction: &Transaction,
        tenant_id: i64,
        user_id: &str,
    ) -> store::Result<Option<i64>>;

    /// A person's principals, sorted.
    async fn principals(
        &self,
        connection: &Connection,
        tenant_id: i64,
        person: &Person,
    ) -> store::Result<Vec<String>>;

    /// The number of a device's binding to a person.
    async fn find_binding(
        &self,
        connection: &Connection,
        tenant_id: i64,
        user_id: &str,
        device_id: &str,
    ) -> store::Result<Option<i64>>;

    /// Whether this binding still exists for the person.
    async fn is_bound(
        &self,
        connection: &Connection,
        tenant_id: i64,
        user_id: &str,
        binding: i64,
    ) -> store::Result<bool>;
}
