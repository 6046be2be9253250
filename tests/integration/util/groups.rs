//! Groups and who is in them, as rows.

use sea_orm::{ConnectionTrait, Value};
use trawl::store::{now_millis, sql};
use uuid::Uuid;

use super::app::{Application, TestApp};

pub(crate) const MEMBER: i64 = 0;
pub(crate) const ADMINISTRATOR: i64 = 1;
pub(crate) const OWNER: i64 = 2;

/// Makes a closed group of the tenant with these people, by their ids and roles; answers its id.
pub(crate) async fn make_group(
    app: &TestApp,
    tenant: &Application,
    name: &str,
    people: &[(&str, i64)],
) -> String {
    let id = Uuid::new_v4().to_string();
    let now = now_millis();
    let values = [
        id.as_str().into(),
        tenant.tenant_id.into(),
        name.into(),
        people[0].0.into(),
        now.into(),
        now.into(),
    ];
    let insert = "INSERT INTO groups (id, tenant_id, name, type, is_public, is_third, created_by, created_at, updated_at) \
        VALUES (?, ?, ?, 1, 0, 0, ?, ?, ?)";
    change(app, tenant.tenant_id, insert, values).await;
    for (user, role) in people {
        join(app, &id, tenant, user, *role).await;
    }
    id
}

/// Puts someone into a group, who may be of another tenant than it.
pub(crate) async fn join(app: &TestApp, group: &str, tenant: &Application, user: &str, role: i64) {
    let of = tenant.tenant_id;
    let insert = "INSERT OR IGNORE INTO group_tenants (group_id, tenant_id) VALUES (?, ?)";
    change(app, of, insert, [group.into(), of.into()]).await;
    let insert =
        "INSERT INTO group_members (group_id, tenant_id, user_id, role, joined_at) VALUES (?, ?, ?, ?, ?)";
    change(app, of, insert, [group.into(), of.into(), user.into(), role.into(), now_millis().into()]).await;
}

/// Takes someone out of a group.
pub(crate) async fn leave(app: &TestApp, group: &str, tenant: &Application, user: &str) {
    let delete = "DELETE FROM group_members WHERE group_id = ? AND tenant_id = ? AND user_id = ?";
    let of = tenant.tenant_id;
    change(app, of, delete, [group.into(), of.into(), user.into()]).await;
}

/// Sets a column of a group, which everybody of the tenant is to know of.
pub(crate) async fn set(app: &TestApp, group: &str, tenant: &Application, column: &str, value: Value) {
    let update = format!("UPDATE groups SET {column} = ? WHERE id = ?");
    change(app, tenant.tenant_id, &update, [value, group.into()]).await;
}

async fn change<const N: usize>(app: &TestApp, tenant_id: i64, text: &str, values: [Value; N]) {
    let (remembering, text) = (app.app.clone(), text.to_owned());
    let job = app.app.store.write(move |transaction| {
        transaction.after_commit(move || remembering.authenticator.forget_callers(tenant_id));
        Box::pin(async move {
            transaction.execute_raw(sql(text, values)).await?;
            Ok(())
        })
    });
    job.await.unwrap();
}
