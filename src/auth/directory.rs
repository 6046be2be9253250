//! People as tokens and visibility need them: who a login is, and what he may see by where he stands.

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
    /// Further departments: a JSON list of ids on the synchronising side.
    pub deputy_org_ids: String,
    /// Tokens that were issued in an earlier epoch are worthless.
    pub epoch: i64,
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
            "SELECT user_id, login_id, name, org_id, deputy_org_ids, epoch FROM users \
             WHERE tenant_id = ? AND {column} = ? AND is_deleted = 0 AND status = 1"
        ),
        [tenant_id.into(), subject.into()],
    ))
    .one(connection)
    .await
}

/// The number of the binding of a person's device, if it is bound (decisions 9.7).
pub async fn find_binding<C: ConnectionTrait>(
    connection: &C,
    tenant_id: i64,
    user_id: &str,
    device_id: &str,
) -> Result<Option<i64>, DbErr> {
    let statement = sql(
        "SELECT binding FROM devices WHERE tenant_id = ? AND user_id = ? AND device_id = ?",
        [tenant_id.into(), user_id.into(), device_id.into()],
    );
    connection.query_one_raw(statement).await?.map(|row| row.try_get("", "binding")).transpose()
}

/// Whether the binding with this number still is the person's.
pub async fn is_bound<C: ConnectionTrait>(
    connection: &C,
    tenant_id: i64,
    user_id: &str,
    binding: i64,
) -> Result<bool, DbErr> {
    let statement = sql(
        "SELECT 1 FROM devices WHERE tenant_id = ? AND user_id = ? AND binding = ?",
        [tenant_id.into(), user_id.into(), binding.into()],
    );
    Ok(connection.query_one_raw(statement).await?.is_some())
}

/// The principals of a person: himself by id and by login, his departments, main and further ones, and every one above
/// them, and the groups that he is a member of, unless their tenant is frozen or gone. An item that names any of them is visible to him (decisions 4.3, 4.5, 9.6), so moving a person changes no document.
pub async fn principals<C: ConnectionTrait>(
    connection: &C,
    tenant_id: i64,
    person: &Person,
) -> Result<Vec<String>, DbErr> {
    let mut principals = vec![user_principal(&person.user_id), login_principal(&person.login_id)];
    // UNION takes each department once, which ends the walk even if a cycle ever got in.
    let statement = sql(
        "WITH RECURSIVE mine (org_id, parent_id) AS ( \
           SELECT org_id, parent_id FROM organizations WHERE tenant_id = ?1 AND is_deleted = 0 \
             AND (org_id = ?2 OR org_id IN (SELECT value FROM json_each(?3))) \
           UNION \
           SELECT above.org_id, above.parent_id FROM organizations AS above JOIN mine ON above.org_id = mine.parent_id \
             WHERE above.tenant_id = ?1 AND above.is_deleted = 0) \
         SELECT DISTINCT org_id FROM mine",
        [tenant_id.into(), person.org_id.as_deref().into(), person.deputy_org_ids.as_str().into()],
    );
    for row in connection.query_all_raw(statement).await? {
        principals.push(department_principal(&row.try_get::<String>("", "org_id")?));
    }
    let statement = sql(
        "SELECT group_id FROM group_members JOIN groups ON groups.id = group_members.group_id \
         JOIN tenants ON tenants.id = groups.tenant_id \
         WHERE group_members.tenant_id = ? AND user_id = ? AND groups.removed_at IS NULL \
           AND tenants.removed_at IS NULL AND tenants.is_frozen = 0",
        [tenant_id.into(), person.user_id.as_str().into()],
    );
    for row in connection.query_all_raw(statement).await? {
        principals.push(group_principal(&row.try_get::<String>("", "group_id")?));
    }
    // In one order, so that they can be compared.
    principals.sort_unstable();
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
