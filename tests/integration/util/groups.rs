use reqwest::Method;
use serde_json::{Value, json};

use super::{
    answer::Answer,
    app::{Application, TestApp},
    caller::{Caller, send},
    database::{read, write},
    items::user,
};

/// Creates people without a department; logins equal ids.
impl TestApp {
    /// With people of `acme`.
    pub(crate) async fn start_with_people<const N: usize>(
        ids: [&str; N],
    ) -> (Self, Application, [Caller; N]) {
        let (app, acme) = Self::start_with_acme().await;
        let people = people(&app, &acme, ids).await;
        (app, acme, people)
    }
}

pub(crate) async fn people<const N: usize>(
    app: &TestApp,
    tenant: &Application,
    ids: [&str; N],
) -> [Caller; N] {
    let rows: Vec<Value> = ids.iter().map(|id| user(id, "")).collect();
    app.sync(&tenant.caller, "users", &Value::from(rows)).await;
    let mut callers = Vec::new();
    for id in ids {
        callers.push(app.user(tenant, id).await);
    }
    callers.try_into().unwrap()
}

pub(crate) async fn group(owner: &Caller, name: &str, users: &[&str]) -> String {
    group_of(owner, json!({"name": name, "users": users})).await
}

pub(crate) async fn group_of(owner: &Caller, form: Value) -> String {
    let answer = owner.post("/v1/groups", &form).await.ok();
    answer.data().as_str().unwrap().to_owned()
}

/// Adds or removes members, by POST or DELETE.
///
/// The ids are `userIds`, or `loginIds` of outer members.
pub(crate) async fn members(caller: &Caller, method: Method, group: &str, ids: &[&str]) -> Answer {
    let path = format!("/v1/groups/{group}/members");
    send(caller.request(method, &path).query(&[("userIds", ids.join(","))])).await
}

pub(crate) async fn outer(caller: &Caller, method: Method, group: &str, logins: &[&str]) -> Answer {
    let path = format!("/v1/groups/{group}/members/outer");
    send(caller.request(method, &path).query(&[("loginIds", logins.join(","))])).await
}

pub(crate) async fn set_role(caller: &Caller, group: &str, user_id: &str, role: i64) -> Answer {
    caller.put(&format!("/v1/groups/{group}/members/{user_id}/role"), &json!({"role": role})).await
}

pub(crate) async fn info(caller: &Caller, group: &str) -> Answer {
    caller.get(&format!("/v1/groups/{group}/info")).await
}

/// `None` if the group is invisible to the caller.
pub(crate) async fn role(caller: &Caller, group: &str) -> Option<i64> {
    let answer = info(caller, group).await;
    if answer.status == 404 {
        answer.fails(404, "groupId");
        return None;
    }
    answer.ok().data()["memberRole"].as_i64()
}

pub(crate) async fn member_ids(caller: &Caller, group: &str) -> Vec<String> {
    let answer = caller.get(&format!("/v1/groups/{group}/members")).await.ok();
    let ids: Vec<String> =
        answer.items().iter().map(|member| member["userId"].as_str().unwrap().to_owned()).collect();
    let count = info(caller, group).await.ok().data()["memberCount"].clone();
    assert_eq!(count, ids.len().to_string(), "the count differs from the list");
    ids
}

pub(crate) async fn join_code(caller: &Caller, group: &str, is_override: bool) -> String {
    let path = format!("/v1/groups/joincode?groupId={group}&isOverride={is_override}");
    let answer = caller.post_empty(&path).await.ok();
    answer.data()["code"].as_str().unwrap().to_owned()
}

/// Messages `{prefix}0…`.
pub(crate) async fn put_messages(
    app: &TestApp,
    tenant: &Application,
    group: &str,
    prefix: &str,
    text: &str,
    count: usize,
) {
    let store = &app.app.store;
    let tenants: Vec<(i64,)> =
        read(store, "SELECT tenant_id FROM group_tenants WHERE group_id = ?", vec![group.into()]).await;
    let insert = "INSERT INTO messages (id, tenant_id, group_id, group_name, robot_id, robot_name, msg_type, content, created_at) \
         VALUES (?, ?, ?, 'Group', 'r', 'Robot', 'text', ?, 1 + (SELECT COALESCE(MAX(created_at), 0) FROM messages))";
    let content = json!({"text": text}).to_string();
    let (mut statements, mut changes) = (Vec::new(), Vec::new());
    for id in (0..count).map(|number| format!("{prefix}{number}")) {
        let values = vec![id.as_str().into(), tenant.tenant_id.into(), group.into(), content.as_str().into()];
        statements.push((insert.to_owned(), values));
        changes.extend(tenants.iter().map(|(tenant_id,)| (*tenant_id, "message", id.clone())));
    }
    write(store, statements, changes).await;
    app.wait_for_index().await;
}
