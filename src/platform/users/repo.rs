//! User rows.

pub(super) mod accounts;
pub(super) mod pages;

use std::collections::HashSet;

use super::{
    batch::UserBatch,
    rules::{NamedBy, ShownPerson, StoredUser, UserChange},
};
use crate::{
    auth::directory::{Account, Person, SubjectKind},
    error::Result,
    platform::shared::directory_rows::{DirectoryRow, RowChange, ids_where},
    store::{self, Connection, Transaction, execute_in, find_in, sql},
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
    let logins: Vec<String> = logins.into_iter().filter(|login| !batch.has_login(login)).collect();
    read(batch, transaction, tenant_id, "NOT is_deleted AND login_id", &logins).await?;

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
    let column = match kind {
        SubjectKind::LoginId => "login_id",
        SubjectKind::UserId => "user_id",
    };
    sql(
        format!(
            "SELECT user_id, login_id, name, org_id, deputy_org_ids, epoch FROM users \
             WHERE tenant_id = ? AND {column} = ? AND NOT is_deleted AND status = 1"
        ),
        [tenant_id.into(), subject.into()],
    )
    .fetch_optional::<Person>(connection)
    .await
}

/// Deleted people free their login.
pub async fn find_account(
    connection: &Connection,
    tenant_id: i64,
    login_id: &str,
) -> store::Result<Option<Account>> {
    sql(
        "SELECT user_id, login_id, name, org_id, deputy_org_ids, epoch, password_hash, status = 1 AS may_sign_in \
         FROM users WHERE tenant_id = ? AND login_id = ? AND NOT is_deleted",
        [tenant_id.into(), login_id.into()],
    ).fetch_optional::<Account>(connection)
    .await
}
