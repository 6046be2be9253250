//! People as tokens and visibility need them: who a login is, and what he may see by where he stands.

use std::collections::HashSet;

use sea_orm::{ConnectionTrait, DbErr, FromQueryResult};

use crate::store::sql;

/// How a token names its subject (decisions 3.4 a).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubjectKind {
    /// `urn:trawl:params:oauth:token-type:login-id`.
    LoginId,
    /// `urn:trawl:params:oauth:token-type:user-id`: the id on the synchronising side.
    UserId,
}

/// A person of the directory who may sign in: neither deleted nor disabled.
#[derive(Clone, Debug, PartialEq, Eq, FromQueryResult)]
pub struct Person {
    /// The id on the synchronising side.
    pub user_id: String,
    /// The login account.
    pub login_id: String,
    /// The person's name.
    pub name: String,
    /// Main department, on the synchronising side.
    pub org_id: Option<String>,
}

/// The person of the tenant whom `subject` names, if he may sign in.
pub async fn find_person<C: ConnectionTrait>(
    connection: &C,
    tenant_id: i64,
    kind: SubjectKind,
    subject: &str,
) -> Result<Option<Person>, DbErr> {
    let column = match kind {
        SubjectKind::LoginId => "login_id",
        SubjectKind::UserId => "user_id",
    };
    Person::find_by_statement(sql(
        format!(
            "SELECT user_id, login_id, name, org_id FROM users \
             WHERE tenant_id = ? AND {column} = ? AND is_deleted = 0 AND status = 1"
        ),
        [tenant_id.into(), subject.into()],
    ))
    .one(connection)
    .await
}

/// Levels of departments that count, from a person's own upwards.
const MOST_LEVELS: usize = 128;

/// The principals of a person: himself by id and by login, his department and every one above it. An item that names
/// any of them is visible to him (decisions 4.3, 4.5), so moving a person changes no document.
pub async fn principals<C: ConnectionTrait>(
    connection: &C,
    tenant_id: i64,
    person: &Person,
) -> Result<Vec<String>, DbErr> {
    let mut principals = vec![user_principal(&person.user_id), login_principal(&person.login_id)];
    let mut seen = HashSet::new();
    let mut next = person.org_id.clone();
    // A set of seen ids ends the walk even if a cycle ever got in, and a department moved below a deep one is no reason
    // to walk on for long.
    while let Some(org_id) = next.take_if(|org_id| seen.len() < MOST_LEVELS && seen.insert(org_id.clone())) {
        let row = connection
            .query_one_raw(sql(
                "SELECT parent_id FROM organizations WHERE tenant_id = ? AND org_id = ? AND is_deleted = 0",
                [tenant_id.into(), org_id.as_str().into()],
            ))
            .await?;
        if let Some(row) = row {
            principals.push(department_principal(&org_id));
            next = row.try_get("", "parent_id")?;
        }
    }
    Ok(principals)
}

/// The principal of a person by his id on the synchronising side.
pub fn user_principal(user_id: &str) -> String {
    format!("u:{user_id}")
}

/// The principal of whoever has this login, now or later.
pub fn login_principal(login_id: &str) -> String {
    format!("l:{login_id}")
}

/// The principal of a department with everyone below it.
pub fn department_principal(org_id: &str) -> String {
    format!("d:{org_id}")
}

/// The principal of a group's members.
pub fn group_principal(group_id: &str) -> String {
    format!("g:{group_id}")
}
