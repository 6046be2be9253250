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

/// The role of the member who stands in `group_members` beside his group in `groups`; null where none does. Where the owner was
/// deleted or disabled in the directory, the first of those who are there is in his place: administrators first, then who came first.
pub const GROUP_ROLE: &str = "CASE WHEN group_members.tenant_id = groups.tenant_id AND group_members.user_id = ( \
    SELECT first.user_id FROM group_members AS first INDEXED BY members_by_rank CROSS JOIN users AS present \
    ON present.tenant_id = first.tenant_id AND present.user_id = first.user_id \
    WHERE first.group_id = groups.id AND first.tenant_id = groups.tenant_id \
      AND present.is_deleted = 0 AND present.status = 1 \
    ORDER BY first.role DESC, first.joined_at, first.user_id LIMIT 1) \
    THEN 2 ELSE MIN(group_members.role, 1) END";

/// The principals of a person, as searches need them: where he stands ([`standing`]), and the folders that he was given a right on
/// ([`folders_given`]), so that a right that is given or taken changes no document.
pub async fn principals<C: ConnectionTrait>(
    connection: &C,
    tenant_id: i64,
    person: &Person,
) -> Result<Vec<String>, DbErr> {
    let mut principals = standing(connection, tenant_id, person).await?;
    let folders = folders_given(connection, tenant_id, &person.user_id, &principals).await?;
    principals.extend(folders.iter().map(|id| directory_principal(id)));
    // In one order, so that they can be compared.
    principals.sort_unstable();
    Ok(principals)
}

/// Where a person stands: himself by id and by login, his departments, main and further ones, and every one above
/// them, the groups that he is a member of, unless their tenant is frozen or gone, and the subjects whose folders he owns, in
/// ascending order. An item that names any of them is visible to him (decisions 4.3, 4.5, 9.6), so moving a person changes no
/// document.
pub async fn standing<C: ConnectionTrait>(
    connection: &C,
    tenant_id: i64,
    person: &Person,
) -> Result<Vec<String>, DbErr> {
    let user = user_principal(&person.user_id);
    let mut principals = vec![owner_principal(&user), user, login_principal(&person.login_id)];
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
    let text = format!(
        "SELECT group_id, groups.tenant_id = ?1 AND {GROUP_ROLE} = 2 AS is_owner \
         FROM group_members JOIN groups ON groups.id = group_members.group_id \
         JOIN tenants ON tenants.id = groups.tenant_id \
         WHERE group_members.tenant_id = ?1 AND user_id = ?2 AND groups.removed_at IS NULL \
           AND tenants.removed_at IS NULL AND tenants.is_frozen = 0"
    );
    let statement = sql(text, [tenant_id.into(), person.user_id.as_str().into()]);
    for row in connection.query_all_raw(statement).await? {
        let group = group_principal(&row.try_get::<String>("", "group_id")?);
        if row.try_get("", "is_owner")? {
            principals.push(owner_principal(&group));
        }
        principals.push(group);
    }
    principals.extend(principals_in_charge(connection, tenant_id, person).await?);
    principals.sort_unstable();
    Ok(principals)
}

/// Deleted people and departments whose folders the owners of the enterprise's own meanwhile, at the most.
const MOST_ORPHANED: u64 = 1_000;

/// The subjects of the tenant whose person or department is deleted in the directory; a synchronisation may bring him back.
const ORPHANED: &str = "SELECT subject FROM directories INDEXED BY orphaned_directories \
    WHERE tenant_id = ? AND is_orphaned = 1 ORDER BY subject LIMIT ?";

/// As the owner of the folders of departments that he is in charge of (`principal` of a department names a person by his id or
/// his login), and of the enterprise's: for whom its operator named, and who is in charge of a department that was put below none.
/// Those whose department above is deleted are not, or deleting one would hand the enterprise's folders to each head below it.
///
/// Who owns the enterprise's folders owns those of deleted people and departments, too.
async fn principals_in_charge<C: ConnectionTrait>(
    connection: &C,
    tenant_id: i64,
    person: &Person,
) -> Result<Vec<String>, DbErr> {
    let mut principals = Vec::new();
    let statement = sql(
        "SELECT org_id, parent_id IS NULL AS is_top FROM organizations WHERE tenant_id = ?1 AND is_deleted = 0 AND json_extract(details, '$.principal') IN (?2, ?3)",
        [tenant_id.into(), person.user_id.as_str().into(), person.login_id.as_str().into()],
    );
    let mut is_in_charge_of_all = false;
    for row in connection.query_all_raw(statement).await? {
        let department = department_principal(&row.try_get::<String>("", "org_id")?);
        principals.push(owner_principal(&department));
        is_in_charge_of_all |= row.try_get::<bool>("", "is_top")?;
    }
    let statement = sql(
        "SELECT 1 FROM tenants WHERE id = ? AND ? IN (SELECT value FROM json_each(administrators))",
        [tenant_id.into(), person.user_id.as_str().into()],
    );
    if is_in_charge_of_all || connection.query_one_raw(statement).await?.is_some() {
        principals.push(owner_principal(ENTERPRISE));
        let statement = sql(ORPHANED, [tenant_id.into(), MOST_ORPHANED.into()]);
        for row in connection.query_all_raw(statement).await? {
            principals.push(owner_principal(&row.try_get::<String>("", "subject")?));
        }
    }
    Ok(principals)
}

/// Rights on folders that one person carries at the most: what has to name each of them stays small, whatever others give him.
pub const MOST_RIGHTS: u64 = 10_000;

/// Rights that were given to these targets, in the order of the index: those of one target and one subject follow one another,
/// oldest folders first.
const FOLDERS_GIVEN: &str = "SELECT directory_id FROM directory_grants \
    WHERE tenant_id = ? AND target IN (SELECT value FROM json_each(?)) ORDER BY target, root_id, directory_id LIMIT ?";

/// The ids of the folders of the tenant on which any of these principals of a person has a right; every right lets one read. Of
/// more than [`MOST_RIGHTS`] those count that he was given himself, then his departments', then those of his oldest groups.
pub async fn folders_given<C: ConnectionTrait>(
    connection: &C,
    tenant_id: i64,
    user_id: &str,
    principals: &[String],
) -> Result<Vec<String>, DbErr> {
    let own = user_principal(user_id);
    let others: Vec<&String> =
        principals.iter().filter(|&principal| may_be_given_rights(principal) && *principal != own).collect();
    let mut folders = Vec::new();
    for targets in [vec![&own], others] {
        let left = MOST_RIGHTS.saturating_sub(u64::try_from(folders.len()).unwrap_or(MOST_RIGHTS));
        let targets = serde_json::to_string(&targets).map_err(|error| DbErr::Custom(error.to_string()))?;
        let statement = sql(FOLDERS_GIVEN, [tenant_id.into(), targets.into(), left.into()]);
        for row in connection.query_all_raw(statement).await? {
            folders.push(row.try_get("", "directory_id")?);
        }
    }
    folders.sort_unstable();
    folders.dedup();
    Ok(folders)
}

/// Whether rights on folders are given to this principal: to people, departments and groups.
pub fn may_be_given_rights(principal: &str) -> bool {
    ["u:", "d:", "g:"].iter().any(|prefix| principal.starts_with(prefix))
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

/// The enterprise itself, as a subject of folders.
pub const ENTERPRISE: &str = "e";

/// The principal of who owns the folders of a subject: of a person, a department or a group, named by its own principal, or of
/// [`ENTERPRISE`].
pub fn owner_principal(subject: &str) -> String {
    format!("o:{subject}")
}

/// The principal of those who were given a right on a folder.
pub fn directory_principal(directory_id: &str) -> String {
    format!("f:{directory_id}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Store;

    /// What is looked up at every call costs what it finds: an index gives the rows, in order, and no more than are asked for.
    #[tokio::test]
    async fn rights_and_orphaned_folders_are_ranges_of_an_index() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path(), 1).await.unwrap();
        for (text, range) in [(FOLDERS_GIVEN, "(tenant_id=? AND target=?)"), (ORPHANED, "(tenant_id=?)")] {
            let explained =
                sql(format!("EXPLAIN QUERY PLAN {text}"), vec![1.into(); text.matches('?').count()]);
            let rows = store.reader().query_all_raw(explained).await.unwrap();
            let plan: Vec<String> = rows.iter().map(|row| row.try_get("", "detail").unwrap()).collect();
            let plan = plan.join("; ");
            assert!(plan.contains("USING COVERING INDEX") && plan.contains(range), "{plan}");
            assert!(!plan.contains("TEMP B-TREE"), "{plan}");
        }
        store.close().await.unwrap();
    }
}
