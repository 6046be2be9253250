//! People of the directory, and the principals that decide visibility.

use crate::store::{self, Connection, FromRow, Value, sql};

/// How a token names its subject (decisions 3.4 a).
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

/// The person of the tenant named by `subject`, if they may sign in.
pub async fn find_person(
    connection: &Connection,
    tenant_id: i64,
    kind: SubjectKind,
    subject: &str,
) -> store::Result<Option<Person>> {
    let column = match kind {
        SubjectKind::LoginId => "login_id",
        SubjectKind::UserId => "user_id",
    };
    sql(
        format!(
            "SELECT user_id, login_id, name, org_id, deputy_org_ids, epoch FROM users \
             WHERE tenant_id = ? AND {column} = ? AND is_deleted = 0 AND status = 1"
        ),
        [tenant_id.into(), subject.into()],
    )
    .fetch_optional::<Person>(connection)
    .await
}

/// The number of a device's binding to a person (decisions 9.7).
pub async fn find_binding(
    connection: &Connection,
    tenant_id: i64,
    user_id: &str,
    device_id: &str,
) -> store::Result<Option<i64>> {
    let statement = sql(
        "SELECT binding FROM devices WHERE tenant_id = ? AND user_id = ? AND device_id = ?",
        [tenant_id.into(), user_id.into(), device_id.into()],
    );
    statement.fetch_optional_value(connection).await
}

/// Whether this binding still exists for the person.
pub async fn is_bound(
    connection: &Connection,
    tenant_id: i64,
    user_id: &str,
    binding: i64,
) -> store::Result<bool> {
    let statement = sql(
        "SELECT 1 FROM devices WHERE tenant_id = ? AND user_id = ? AND binding = ?",
        [tenant_id.into(), user_id.into(), binding.into()],
    );
    statement.exists(connection).await
}

/// SQL of a member's role in their group, or null.
///
/// A deleted or disabled owner is replaced: administrators first, then by seniority.
pub const GROUP_ROLE: &str = "CASE WHEN group_members.tenant_id = groups.tenant_id AND group_members.user_id = ( \
    SELECT first.user_id FROM group_members AS first INDEXED BY members_by_rank CROSS JOIN users AS present \
    ON present.tenant_id = first.tenant_id AND present.user_id = first.user_id \
    WHERE first.group_id = groups.id AND first.tenant_id = groups.tenant_id \
      AND present.is_deleted = 0 AND present.status = 1 \
    ORDER BY first.role DESC, first.joined_at, first.user_id LIMIT 1) \
    THEN 2 ELSE MIN(group_members.role, 1) END";

/// A person's principals: [`standing`] and [`folders_given`]. A changed right changes no document.
pub async fn principals(
    connection: &Connection,
    tenant_id: i64,
    person: &Person,
) -> store::Result<Vec<String>> {
    let mut principals = standing(connection, tenant_id, person).await?;
    let folders = folders_given(connection, tenant_id, &person.user_id, &principals).await?;
    principals.extend(folders.iter().map(|id| directory_principal(id)));
    principals.sort_unstable();
    Ok(principals)
}

/// A person's place, as sorted principals.
///
/// They name the person by id and login, departments with ancestors, active groups, and owned subjects.
/// An item naming any is visible (decisions 4.3, 4.5, 9.6). Moving a person changes no document.
pub async fn standing(
    connection: &Connection,
    tenant_id: i64,
    person: &Person,
) -> store::Result<Vec<String>> {
    let user = user_principal(&person.user_id);
    let mut principals = vec![owner_principal(&user), user, login_principal(&person.login_id)];
    // UNION also ends cycles.
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
    for id in statement.fetch_values::<String>(connection).await? {
        principals.push(department_principal(&id));
    }
    let text = format!(
        "SELECT group_id, groups.tenant_id = ?1 AND {GROUP_ROLE} = 2 AS is_owner \
         FROM group_members JOIN groups ON groups.id = group_members.group_id \
         JOIN tenants ON tenants.id = groups.tenant_id \
         WHERE group_members.tenant_id = ?1 AND user_id = ?2 AND groups.removed_at IS NULL \
           AND tenants.removed_at IS NULL AND tenants.is_frozen = 0"
    );
    let statement = sql(text, [tenant_id.into(), person.user_id.as_str().into()]);
    for (group_id, is_owner) in statement.fetch_all::<(String, bool)>(connection).await? {
        let group = group_principal(&group_id);
        if is_owner {
            principals.push(owner_principal(&group));
        }
        principals.push(group);
    }
    principals.extend(principals_in_charge(connection, tenant_id, person).await?);
    principals.sort_unstable();
    Ok(principals)
}

/// Limit of deleted subjects that fall to the enterprise's owners.
const MOST_ORPHANED: u64 = 1_000;

/// Deleted subjects; a synchronisation may restore them.
const ORPHANED: &str = "SELECT subject FROM directories INDEXED BY orphaned_directories \
    WHERE tenant_id = ? AND is_orphaned = 1 ORDER BY subject LIMIT ?";

/// Owner principals of headed departments and of the enterprise.
///
/// `principal` names a head by id or login. The enterprise belongs to its named operator and heads of top-level
/// departments. Departments below a deleted one do not count, or deletions would hand it over.
///
/// The enterprise's owners also own deleted subjects' folders.
async fn principals_in_charge(
    connection: &Connection,
    tenant_id: i64,
    person: &Person,
) -> store::Result<Vec<String>> {
    let mut principals = Vec::new();
    let statement = sql(
        "SELECT org_id, parent_id IS NULL AS is_top FROM organizations WHERE tenant_id = ?1 AND is_deleted = 0 AND json_extract(details, '$.principal') IN (?2, ?3)",
        [tenant_id.into(), person.user_id.as_str().into(), person.login_id.as_str().into()],
    );
    let mut is_in_charge_of_all = false;
    for (org_id, is_top) in statement.fetch_all::<(String, bool)>(connection).await? {
        principals.push(owner_principal(&department_principal(&org_id)));
        is_in_charge_of_all |= is_top;
    }
    let statement = sql(
        "SELECT 1 FROM tenants WHERE id = ? AND ? IN (SELECT value FROM json_each(administrators))",
        [tenant_id.into(), person.user_id.as_str().into()],
    );
    if is_in_charge_of_all || statement.exists(connection).await? {
        principals.push(owner_principal(ENTERPRISE));
        let statement = sql(ORPHANED, [tenant_id.into(), MOST_ORPHANED.into()]);
        for id in statement.fetch_values::<String>(connection).await? {
            principals.push(owner_principal(&id));
        }
    }
    Ok(principals)
}

/// Maximum rights on folders of one person, which keeps queries small.
pub const MOST_RIGHTS: u64 = 10_000;

/// In index order: by target and subject, oldest folders first.
const FOLDERS_GIVEN: &str = "SELECT directory_id FROM directory_grants \
    WHERE tenant_id = ? AND target IN (SELECT value FROM json_each(?)) ORDER BY target, root_id, directory_id LIMIT ?";

/// Ids of the folders that these principals may read.
///
/// Beyond [`MOST_RIGHTS`]: personal rights, departments', then the oldest groups'.
pub async fn folders_given(
    connection: &Connection,
    tenant_id: i64,
    user_id: &str,
    principals: &[String],
) -> store::Result<Vec<String>> {
    let own = user_principal(user_id);
    let others: Vec<&String> =
        principals.iter().filter(|&principal| may_be_given_rights(principal) && *principal != own).collect();
    let mut folders = Vec::new();
    for targets in [vec![&own], others] {
        let left = MOST_RIGHTS.saturating_sub(u64::try_from(folders.len()).unwrap_or(MOST_RIGHTS));
        let statement = sql(FOLDERS_GIVEN, [tenant_id.into(), Value::json(&targets)?, left.into()]);
        folders.extend(statement.fetch_values::<String>(connection).await?);
    }
    folders.sort_unstable();
    folders.dedup();
    Ok(folders)
}

/// Whether this principal may get rights: people, departments and groups.
pub fn may_be_given_rights(principal: &str) -> bool {
    ["u:", "d:", "g:"].iter().any(|prefix| principal.starts_with(prefix))
}

/// The principal of a person by synchronised id.
pub fn user_principal(user_id: &str) -> String {
    format!("u:{user_id}")
}

/// The principal of a login account, whoever holds it.
pub fn login_principal(login_id: &str) -> String {
    format!("l:{login_id}")
}

/// The principal of a department and all below it.
pub fn department_principal(org_id: &str) -> String {
    format!("d:{org_id}")
}

/// The principal of a group's members.
pub fn group_principal(group_id: &str) -> String {
    format!("g:{group_id}")
}

/// The enterprise as a subject of folders.
pub const ENTERPRISE: &str = "e";

/// The principal of a subject's owners, [`ENTERPRISE`] included.
pub fn owner_principal(subject: &str) -> String {
    format!("o:{subject}")
}

/// The principal of holders of a right on a folder.
pub fn directory_principal(directory_id: &str) -> String {
    format!("f:{directory_id}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Store, tests::query_plan};

    #[tokio::test]
    async fn rights_and_orphaned_folders_are_ranges_of_an_index() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path(), 1).await.unwrap();
        for (text, range) in [(FOLDERS_GIVEN, "(tenant_id=? AND target=?)"), (ORPHANED, "(tenant_id=?)")] {
            let values = vec![1.into(); text.matches('?').count()];
            let plan = query_plan(store.reader(), sql(text, values)).await.join("; ");
            assert!(plan.contains("USING COVERING INDEX") && plan.contains(range), "{plan}");
            assert!(!plan.contains("TEMP B-TREE"), "{plan}");
        }
        store.close().await.unwrap();
    }
}
