use std::collections::HashSet;

use super::{
    documents,
    model::{NamedBy, PasswordHash, ShownPerson, User, UserChange},
    people::People,
};
use crate::{
    audit::{self, Actor, Deed},
    auth::tenants::Tenant,
    error::Result,
    platform::{departments, groups, shared::patch::SyncFailure, tasks, tenants},
    store::{Connection, ROWS_PER_STATEMENT, Transaction, Value, find_in, placeholders, sql},
};

pub(super) const COLUMNS: [&str; 19] = [
    "user_id",
    "platform_user_id",
    "login_id",
    "has_own_login",
    "name",
    "sex",
    "mobile",
    "org_id",
    "deputy_org_ids",
    "type",
    "order_no",
    "secret_level",
    "status",
    "is_hidden",
    "is_deleted",
    "details",
    "password_hash",
    "picture",
    "epoch",
];

/// Applies each change alone. Returns failures and whether any row changed.
pub(super) async fn synchronise(
    transaction: &Transaction,
    actor: &Actor,
    tenant: &Tenant,
    changes: Vec<UserChange>,
) -> Result<(Vec<SyncFailure>, bool)> {
    let suffix = tenants::model::login_suffix(transaction, tenant.id).await?;
    let mut people = People::new(suffix);
    load(&mut people, transaction, tenant.id, &changes).await?;
    let departments = departments_of(transaction, tenant.id, &changes).await?;
    let mut failures = Vec::new();
    for change in changes {
        let id = change.form.user_id.clone();
        if let Err(message) = people.apply(change, &departments) {
            failures.push(SyncFailure { id, message });
        }
    }
    let is_changed = store(&people, transaction, actor, tenant).await?;
    Ok((failures, is_changed))
}

async fn departments_of(
    transaction: &Transaction,
    tenant_id: i64,
    changes: &[UserChange],
) -> Result<HashSet<String>> {
    let named: HashSet<&String> =
        changes.iter().flat_map(|change| change.form.org_id.iter().chain(change.deputy_org_ids())).collect();
    let named: Vec<&String> = named.into_iter().collect();
    departments::model::existing(transaction, tenant_id, &named).await
}

/// Rows that changes may touch or collide with.
async fn load(
    people: &mut People,
    transaction: &Transaction,
    tenant_id: i64,
    changes: &[UserChange],
) -> Result<()> {
    let ids: Vec<&str> = changes.iter().map(|change| change.form.user_id.as_str()).collect();
    read(people, transaction, tenant_id, "user_id", &ids).await?;
    let platform_ids: Vec<&str> =
        changes.iter().filter_map(|change| change.form.platform_user_id.as_deref()).collect();
    read(people, transaction, tenant_id, "platform_user_id", &platform_ids).await?;
    let mut logins: HashSet<String> =
        changes.iter().flat_map(|change| people.logins_of(&change.form)).collect();
    if changes.iter().any(|change| change.form.login_id.as_deref() == Some("")) {
        // Users may fall back on an earlier row's number.
        logins.extend(changes.iter().filter_map(|change| change.form.mobile.clone()));
    }
    let logins: Vec<String> = logins.into_iter().filter(|login| !people.has_login(login)).collect();
    read(people, transaction, tenant_id, "is_deleted = 0 AND login_id", &logins).await?;

    let with_pictures: Vec<&str> = changes
        .iter()
        .filter(|change| change.picture.is_some())
        .map(|change| change.form.user_id.as_str())
        .collect();
    let text = "SELECT user_id, digest FROM pictures WHERE tenant_id = ? AND user_id";
    for (user_id, digest) in find_pairs(transaction, text, tenant_id, &with_pictures).await? {
        people.remember_digest(user_id, digest);
    }
    Ok(())
}

async fn find_pairs(
    transaction: &Transaction,
    text: &str,
    tenant_id: i64,
    ids: &[&str],
) -> Result<Vec<(String, Vec<u8>)>> {
    #[derive(crate::store::FromRow)]
    struct Row {
        user_id: String,
        digest: Vec<u8>,
    }
    let rows: Vec<Row> = find_in(transaction, text, &[tenant_id.into()], ids).await?;
    Ok(rows.into_iter().map(|row| (row.user_id, row.digest)).collect())
}

/// Rows whose column (end of `condition`) holds one of `values`.
async fn read(
    people: &mut People,
    transaction: &Transaction,
    tenant_id: i64,
    condition: &str,
    values: &[impl AsRef<str>],
) -> Result<()> {
    let text = format!("SELECT {} FROM users WHERE tenant_id = ? AND {condition}", COLUMNS.join(", "));
    for user in find_in::<User>(transaction, &text, &[tenant_id.into()], values).await? {
        people.remember(user);
    }
    Ok(())
}

async fn store(people: &People, transaction: &Transaction, actor: &Actor, tenant: &Tenant) -> Result<bool> {
    let changed = people.changed();
    if changed.is_empty() {
        return Ok(false);
    }
    let tenant_id = tenant.id;
    // Unique values may move between rows.
    let leaving: Vec<&str> = changed
        .iter()
        .filter(|(user, before)| before.is_some_and(|before| user.leaves_something_unique(before)))
        .map(|(user, _)| user.user_id.as_str())
        .collect();
    for chunk in leaving.chunks(ROWS_PER_STATEMENT) {
        let text = format!(
            "UPDATE users SET login_id = char(0) || user_id, platform_user_id = char(0) || user_id \
             WHERE tenant_id = ? AND user_id IN ({})",
            placeholders(chunk.len())
        );
        let values = std::iter::once(Value::from(tenant_id)).chain(chunk.iter().map(|id| (*id).into()));
        sql(text, values).execute(transaction).await?;
    }
    let first = tenants::model::give_change_times(transaction, tenant_id, changed.len()).await?;
    let mut times = first..;
    for chunk in changed.chunks(ROWS_PER_STATEMENT) {
        put(transaction, tenant_id, chunk, &mut times).await?;
    }
    store_pictures(people, transaction, tenant_id, &changed).await?;
    for (user, _) in &changed {
        transaction.record_change(tenant_id, documents::PEOPLE, &user.user_id);
    }
    let state = |user: &User| (user.is_deleted, user.is_hidden, user.status);
    let come_or_gone: Vec<&str> = changed
        .iter()
        .filter(|(user, before)| before.is_some_and(|before| state(before) != state(user)))
        .map(|(user, _)| user.user_id.as_str())
        .collect();
    groups::service::record_people(transaction, tenant_id, &come_or_gone).await?;
    let deeds = changed.iter().map(|(user, before)| deed(user, *before)).collect();
    audit::record(transaction, actor, tenant, deeds).await?;
    let logins: Vec<String> =
        changed.iter().filter(|(user, _)| !user.is_deleted).map(|(user, _)| user.login_id.clone()).collect();
    tasks::service::claim(transaction, tenant_id, &logins).await?;
    Ok(true)
}

fn deed(user: &User, before: Option<&User>) -> Deed {
    let deed = Deed::new(user.deed(before), "user", user.user_id.as_str());
    match before {
        Some(before) => deed.with("fields", user.changed_fields(before)),
        None => deed,
    }
}

async fn put(
    transaction: &Transaction,
    tenant_id: i64,
    rows: &[(&User, Option<&User>)],
    times: &mut impl Iterator<Item = i64>,
) -> Result<()> {
    let updates: Vec<String> =
        COLUMNS[1..].iter().map(|column| format!("{column} = excluded.{column}")).collect();
    let row = format!("({})", placeholders(COLUMNS.len() + 3));
    let text = format!(
        "INSERT INTO users ({}, tenant_id, created_at, updated_at) VALUES {} ON CONFLICT (tenant_id, user_id) \
         DO UPDATE SET {}, updated_at = excluded.updated_at",
        COLUMNS.join(", "),
        vec![row; rows.len()].join(", "),
        updates.join(", ")
    );
    let mut values = Vec::with_capacity(rows.len() * (COLUMNS.len() + 3));
    for (user, _) in rows {
        let time = times.next();
        values.extend([
            Value::from(user.user_id.as_str()),
            user.platform_user_id.as_str().into(),
            user.login_id.as_str().into(),
            user.has_own_login.into(),
            user.name.as_str().into(),
            user.sex.into(),
            user.mobile.as_deref().into(),
            user.org_id.as_deref().into(),
            Value::json(&user.deputy_org_ids)?,
            user.kind.into(),
            user.order_no.into(),
            user.secret_level.into(),
            user.status.into(),
            user.is_hidden.into(),
            user.is_deleted.into(),
            Value::json(&user.details)?,
            user.password_hash.as_ref().map(PasswordHash::as_str).into(),
            user.picture.as_deref().into(),
            user.epoch.into(),
            tenant_id.into(),
            // The first change time is unique in the tenant.
            time.into(),
            time.into(),
        ]);
    }
    sql(text, values).execute(transaction).await?;
    Ok(())
}

async fn store_pictures(
    people: &People,
    transaction: &Transaction,
    tenant_id: i64,
    changed: &[(&User, Option<&User>)],
) -> Result<()> {
    let replaced: Vec<&str> = changed
        .iter()
        .filter(|(user, before)| before.is_some_and(|before| before.picture != user.picture))
        .map(|(user, _)| user.user_id.as_str())
        .collect();
    for chunk in replaced.chunks(ROWS_PER_STATEMENT) {
        let text = format!(
            "DELETE FROM pictures WHERE tenant_id = ? AND user_id IN ({})",
            placeholders(chunk.len())
        );
        let values = std::iter::once(Value::from(tenant_id)).chain(chunk.iter().map(|id| (*id).into()));
        sql(text, values).execute(transaction).await?;
    }
    for (user, _) in changed {
        let Some(picture) = people.upload_of(user) else { continue };
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

pub(super) async fn index_members(
    transaction: &Transaction,
    tenant_id: i64,
    org_ids: &[String],
) -> Result<()> {
    for chunk in org_ids.chunks(ROWS_PER_STATEMENT) {
        let text = format!(
            "WITH departments (org_id) AS (VALUES {}) \
             SELECT user_id FROM users WHERE tenant_id = ? AND org_id IN (SELECT org_id FROM departments) \
             UNION SELECT user_id FROM users, json_each(deputy_org_ids) WHERE tenant_id = ? AND deputy_org_ids <> '[]' \
             AND value IN (SELECT org_id FROM departments)",
            vec!["(?)"; chunk.len()].join(", ")
        );
        let values =
            chunk.iter().map(|id| Value::from(id.as_str())).chain([tenant_id.into(), tenant_id.into()]);
        for id in sql(text, values).fetch_values::<String>(transaction).await? {
            transaction.record_change(tenant_id, documents::PEOPLE, &id);
        }
    }
    Ok(())
}

pub(super) async fn find_shown(
    reader: &Connection,
    tenant_id: i64,
    by: NamedBy,
    names: &[impl AsRef<str>],
) -> Result<Vec<ShownPerson>> {
    let column = match by {
        NamedBy::UserId => "user_id",
        NamedBy::LoginId => "login_id",
    };
    let text = format!(
        "SELECT user_id, login_id, org_id FROM users \
         WHERE tenant_id = ? AND is_deleted = 0 AND is_hidden = 0 AND {column}"
    );
    Ok(find_in(reader, &text, &[tenant_id.into()], names).await?)
}
