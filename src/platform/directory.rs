//! Principals of people, from all areas.

use async_trait::async_trait;

use super::{departments, devices, folders, groups, tenants, users};
use crate::{
    auth::directory::{Account, Person, PersonDirectory, SubjectKind},
    identity::principals::{
        ENTERPRISE, department_principal, directory_principal, group_principal, login_principal,
        owner_principal, user_principal,
    },
    store::{self, Connection, Transaction},
};

/// A person's principals: [`standing`] and [`folders::service::folders_given`]. A changed right changes no document.
async fn principals(connection: &Connection, tenant_id: i64, person: &Person) -> store::Result<Vec<String>> {
    let mut principals = standing(connection, tenant_id, person).await?;
    let folders =
        folders::service::folders_given(connection, tenant_id, &person.user_id, &principals).await?;
    principals.extend(folders.iter().map(|id| directory_principal(id)));
    principals.sort_unstable();
    Ok(principals)
}

/// A person's place, as sorted principals.
///
/// They name the person by id and login, departments with ancestors, active groups, and owned subjects.
/// An item naming any is visible. Moving a person changes no document.
pub async fn standing(
    connection: &Connection,
    tenant_id: i64,
    person: &Person,
) -> store::Result<Vec<String>> {
    let user = user_principal(&person.user_id);
    let mut principals = vec![owner_principal(&user), user, login_principal(&person.login_id)];
    let deputies = person.deputy_org_ids.as_str();
    let departments =
        departments::service::with_ancestors(connection, tenant_id, person.org_id.as_deref(), deputies)
            .await?;
    principals.extend(departments.iter().map(|id| department_principal(id)));
    for (group_id, is_owner) in groups::service::memberships(connection, tenant_id, &person.user_id).await? {
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
    let Person { user_id, login_id, .. } = person;
    let headed = departments::service::headed_by(connection, tenant_id, user_id, login_id).await?;
    let mut principals: Vec<String> =
        headed.iter().map(|(org_id, _)| owner_principal(&department_principal(org_id))).collect();
    let is_in_charge_of_all = headed.iter().any(|(_, is_top)| *is_top);
    if is_in_charge_of_all || tenants::service::is_administrator(connection, tenant_id, user_id).await? {
        principals.push(owner_principal(ENTERPRISE));
        let orphaned = folders::service::orphaned_subjects(connection, tenant_id).await?;
        principals.extend(orphaned.iter().map(|subject| owner_principal(subject)));
    }
    Ok(principals)
}

/// The areas as the directory of authentication.
#[derive(Clone, Copy, Debug)]
pub struct AreaDirectory;

#[async_trait]
impl PersonDirectory for AreaDirectory {
    async fn find_person(
        &self,
        connection: &Connection,
        tenant_id: i64,
        kind: SubjectKind,
        subject: &str,
    ) -> store::Result<Option<Person>> {
        users::lookups::find_person(connection, tenant_id, kind, subject).await
    }

    async fn find_account(
        &self,
        connection: &Connection,
        tenant_id: i64,
        login_id: &str,
    ) -> store::Result<Option<Account>> {
        users::lookups::find_account(connection, tenant_id, login_id).await
    }

    async fn raise_epoch(
        &self,
        transaction: &Transaction,
        tenant_id: i64,
        user_id: &str,
    ) -> store::Result<Option<i64>> {
        users::lookups::raise_epoch(transaction, tenant_id, user_id).await
    }

    async fn principals(
        &self,
        connection: &Connection,
        tenant_id: i64,
        person: &Person,
    ) -> store::Result<Vec<String>> {
        principals(connection, tenant_id, person).await
    }

    async fn find_binding(
        &self,
        connection: &Connection,
        tenant_id: i64,
        user_id: &str,
        device_id: &str,
    ) -> store::Result<Option<i64>> {
        devices::find_binding(connection, tenant_id, user_id, device_id).await
    }

    async fn is_bound(
        &self,
        connection: &Connection,
        tenant_id: i64,
        user_id: &str,
        binding: i64,
    ) -> store::Result<bool> {
        devices::is_bound(connection, tenant_id, user_id, binding).await
    }
}
