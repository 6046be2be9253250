//! User rows.

pub(super) mod accounts;
pub(super) mod pages;

use std::collections::{HashMap, HashSet};

use super::{
    batch::UserBatch,
    rules::{NamedBy, ShownPerson, StoredUser, UserChange},
};
use crate::{
    auth::directory::{Account, Person, SubjectKind},
    error::Result,
    identity::logins,
    platform::shared::directory_rows::{DirectoryRow, RowChange, ids_where},
    store::{self, Connection, Statement, Transaction, execute_in, find_in, sql},
};

/// Loads rows that changes may touch or collide with.
pub(super) async fn load(
    batch: &mut UserBatch,
    transaction: &Transaction,
    tenant_id: i64,
    changes: &[UserChange],
) -> Result<()> {
    let ids: Vec<&str> = changes.iter().map(|change| change.form.user_id.as_str()).collect();
    read(batch, transaction, tenant_id, "user_id", &ids).await?;
    let platform_ids: Vec<&str> =
        changes.iter().filter_map(|change| change.form.platform_user_id.as_deref()).collect();
    read(batch, transaction, tenant_id, "platform_user_id", &platform_ids).await?;
    let mut logins: HashSet<String> =
        changes.iter().flat_map(|change| batch.logins_of(&change.form)).collect();
    if changes.iter().any(|change| change.form.login_id.as_deref() == Some("")) {
        // Users may fall back on an earlier row's number.
        logins.extend(changes.iter().filter_map(|change| change.form.mobile.clone()));
    }
    let logins: Vec<String> = logins.into_iter().collect();
    read(batch, transaction, tenant_id, "NOT is_deleted AND login_id", &logins).await?;
    let folded: HashSet<String> = logins.iter().map(|login| logins::fold(login)).collect();
    let folded: Vec<String> = folded.into_iter().collect();
    read(batch, transaction, tenant_id, "NOT is_deleted AND login_folded", &folded).await?;

    let with_pictures: Vec<&str> = changes
        .iter()
        .filter(|change| change.picture.is_some())
        .map(|change| change.form.user_id.as_str())
        .collect();
    let text = "SELECT user_id, digest FROM pictures WHERE tenant_id = ? AND user_id";
    for (user_id, digest) in find_in(transaction, text, &[tenant_id.into()], &with_pictures).await? {
        batch.add_digest(user_id, digest);
    }
    Ok(())
}

/// Rows whose column (end of `condition`) holds one of `values`.
async fn read(
    batch: &mut UserBatch,
    transaction: &Transaction,
    tenant_id: i64,
    condition: &str,
    values: &[impl AsRef<str>],
) -> Result<()> {
    let text =
        format!("SELECT {} FROM users WHERE tenant_id = ? AND {condition}", StoredUser::COLUMNS.join(", "));
    batch.add_stored(find_in(transaction, &text, &[tenant_id.into()], values).await?);
    Ok(())
}

/// Replaces pictures of changed users.
pub(super) async fn store_pictures(
    batch: &UserBatch,
    transaction: &Transaction,
    tenant_id: i64,
    changes: &[RowChange<'_, StoredUser>],
) -> Result<()> {
    let replaced = ids_where(changes, |user, before| user.picture != before.picture);
    let text = "DELETE FROM pictures WHERE tenant_id = ? AND user_id";
    execute_in(transaction, text, &[tenant_id.into()], &replaced).await?;
    for RowChange { row: user, .. } in changes {
        let Some(picture) = batch.upload_of(user) else { continue };
        let statement = sql(
            "INSERT INTO pictures (id, tenant_id, user_id, content_type, digest, content) VALUES (?, ?, ?, ?, ?, ?)",
            [
                picture.id.as_str().into(),
                tenant_id.into(),
                user.user_id.as_str().into(),
                picture.content_type.into(),
                picture.digest.clone().into(),
                picture.content.clone().into(),
            ],
        );
        statement.execute(transaction).await?;
    }
    Ok(())
}

/// Visible people with these names.
pub async fn find_shown(
    reader: &Connection,
    tenant_id: i64,
    by: NamedBy,
    names: &[impl AsRef<str>],
) -> Result<Vec<ShownPerson>> {
    let column = by.column();
    let text = format!(
        "SELECT user_id, login_id, org_id FROM users \
         WHERE tenant_id = ? AND NOT is_deleted AND NOT is_hidden AND {column}"
    );
    Ok(find_in(reader, &text, &[tenant_id.into()], names).await?)
}

/// User ids and names, of deleted people too.
pub async fn find_names(
    connection: &Connection,
    tenant_id: i64,
    user_ids: &[impl AsRef<str>],
) -> Result<Vec<(String, String)>> {
    let text = "SELECT user_id, name FROM users WHERE tenant_id = ? AND user_id";
    Ok(find_in(connection, text, &[tenant_id.into()], user_ids).await?)
}

/// The person of the tenant named by `subject`, if they may sign in.
pub async fn find_person(
    connection: &Connection,
    tenant_id: i64,
    kind: SubjectKind,
    subject: &str,
) -> store::Result<Option<Person>> {
    let account = match kind {
        SubjectKind::LoginId => find_account(connection, tenant_id, subject).await?,
        SubjectKind::UserId => {
            accounts_where("user_id", tenant_id, subject).fetch_optional(connection).await?
        }
    };
    Ok(account.filter(|account: &Account| account.may_sign_in).map(|account| account.person))
}

/// The account with this login, else the only one whose login differs in case.
///
/// Deleted people free their login.
pub async fn find_account(
    connection: &Connection,
    tenant_id: i64,
    login_id: &str,
) -> store::Result<Option<Account>> {
    let exact = accounts_where("login_id", tenant_id, login_id);
    if let Some(account) = exact.fetch_optional(connection).await? {
        return Ok(Some(account));
    }
    let folded = logins::fold(login_id);
    let alike = accounts_where("login_folded", tenant_id, &folded);
    let mut alike: Vec<Account> = alike.fetch_all(connection).await?;
    // A replica of an earlier version changes a login alone.
    alike.retain(|account| logins::fold(&account.person.login_id) == folded);
    Ok(alike.pop().filter(|_| alike.is_empty()))
}

/// Ids of people by logins as they are given, each found like [`find_account`].
pub async fn find_ids_by_logins(
    connection: &Connection,
    tenant_id: i64,
    logins: &[&str],
) -> Result<HashMap<String, String>> {
    let text = "SELECT login_id, user_id FROM users WHERE tenant_id = ? AND NOT is_deleted AND login_id";
    let mut found: HashMap<String, String> =
        find_in(connection, text, &[tenant_id.into()], logins).await?.into_iter().collect();
    let others: Vec<&str> = logins.iter().filter(|login| !found.contains_key(**login)).copied().collect();
    let folded: HashSet<String> = others.iter().map(|login| logins::fold(login)).collect();
    let folded: Vec<String> = folded.into_iter().collect();
    let text = "SELECT login_id, user_id FROM users WHERE tenant_id = ? AND NOT is_deleted AND login_folded";
    let mut alike: HashMap<String, Vec<String>> = HashMap::new();
    for (login, id) in find_in::<(String, String)>(connection, text, &[tenant_id.into()], &folded).await? {
        alike.entry(logins::fold(&login)).or_default().push(id);
    }
    for login in others {
        if let Some([id]) = alike.get(&logins::fold(login)).map(Vec::as_slice) {
            found.insert(login.to_owned(), id.clone());
        }
    }
    Ok(found)
}

fn accounts_where(column: &str, tenant_id: i64, value: &str) -> Statement {
    let text = format!(
        "SELECT user_id, login_id, name, org_id, deputy_org_ids, epoch, password_hash, status = 1 AS may_sign_in \
         FROM users WHERE tenant_id = ? AND {column} = ? AND NOT is_deleted"
    );
    sql(text, [tenant_id.into(), value.into()])
}

/// Lists present people, by id, whose folded login is missing or outdated.
///
/// Those with logins beyond ASCII may be folded.
pub(super) async fn unfolded_logins(
    connection: &Connection,
    behind: (i64, &str),
    limit: u64,
) -> store::Result<Vec<(i64, String, String, Option<String>)>> {
    let text = "SELECT tenant_id, user_id, login_id, login_folded FROM users WHERE (tenant_id, user_id) > (?, ?) \
                AND NOT is_deleted \
                AND (login_folded IS NULL OR login_folded <> lower(login_id) OR octet_length(login_id) <> length(login_id)) \
                ORDER BY tenant_id, user_id LIMIT ?";
    sql(text, [behind.0.into(), behind.1.into(), limit.into()]).fetch_all(connection).await
}

/// Folds a login that is still this one.
pub(super) async fn fold_login(
    transaction: &Transaction,
    tenant_id: i64,
    user_id: &str,
    login_id: &str,
) -> store::Result<u64> {
    let text = "UPDATE users SET login_folded = ? WHERE tenant_id = ? AND user_id = ? AND login_id = ?";
    let folded = logins::fold(login_id);
    sql(text, [folded.into(), tenant_id.into(), user_id.into(), login_id.into()]).execute(transaction).await
}

/// Groups of present people whose logins differ in case or composition alone, with their tenant's code.
pub(super) async fn alike_logins(
    connection: &Connection,
    limit: u64,
) -> store::Result<Vec<(String, String, i64)>> {
    let text = "SELECT tenants.code, users.login_folded, COUNT(*) FROM users JOIN tenants ON tenants.id = users.tenant_id \
                WHERE NOT users.is_deleted AND users.login_folded IS NOT NULL \
                GROUP BY tenants.code, users.login_folded HAVING COUNT(*) > 1 ORDER BY 1, 2 LIMIT ?";
    sql(text, [limit.into()]).fetch_all(connection).await
}
