//! Groups of people, made over HTTP.

use reqwest::Method;
use sea_orm::ConnectionTrait;
use serde_json::{Value, json};
use trawl::store::sql;

use super::{
    answer::Answer,
    app::{Application, TestApp},
    caller::{Caller, send},
    items::user,
};

/// Makes people without a department, whose logins are their ids.
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

/// A closed group of the caller's; answers its id.
pub(crate) async fn group(owner: &Caller, name: &str, users: &[&str]) -> String {
    group_of(owner, json!({"name": name, "users": users})).await
}

/// A group by this form; answers its id.
pub(crate) async fn group_of(owner: &Caller, form: Value) -> String {
    let answer = owner.post("/v1/groups", &form).await.ok();
    answer.data().as_str().unwrap().to_owned()
}

/// Adds or removes members: POST or DELETE with `userIds`, or with `loginIds` for outer ones.
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

/// The caller's role in the group: `None` where he does not see it.
pub(crate) async fn role(caller: &Caller, group: &str) -> Option<i64> {
    let answer = info(caller, group).await;
    if answer.status == 404 {
        answer.fails(404, "groupId");
        return None;
    }
    answer.ok().data()["memberRole"].as_i64()
}

/// The ids of the members who are shown, in the order of the list.
pub(crate) async fn member_ids(caller: &Caller, group: &str) -> Vec<String> {
    let answer = caller.get(&format!("/v1/groups/{group}/members")).await.ok();
    let ids: Vec<String> =
        answer.items().iter().map(|member| member["userId"].as_str().unwrap().to_owned()).collect();
    let count = info(caller, group).await.ok().data()["memberCount"].clone();
    assert_eq!(count, ids.len().to_string(), "the count is that of the list");
    ids
}

/// A join code of the group.
pub(crate) async fn join_code(caller: &Caller, group: &str, is_override: bool) -> String {
    let path = format!("/v1/groups/joincode?groupId={group}&isOverride={is_override}");
    let answer = caller.post_empty(&path).await.ok();
    answer.data()["code"].as_str().unwrap().to_owned()
}

/// Puts messages `{prefix}0…` of this text into a group of the tenant, behind the server's back.
pub(crate) async fn put_messages(
    app: &TestApp,
    tenant: &Application,
    group: &str,
    prefix: &str,
    text: &str,
    count: usize,
) {
    let (tenant_id, group, prefix, text) =
        (tenant.tenant_id, group.to_owned(), prefix.to_owned(), text.to_owned());
    let job = app.app.store.write(move |transaction| {
        Box::pin(async move {
            let tenants = trawl::platform::groups::model::tenants_of(&**transaction, &group).await?;
            for number in 0..count {
                let id = format!("{prefix}{number}");
                let statement = sql(
                    "INSERT INTO messages (id, tenant_id, group_id, group_name, robot_id, robot_name, msg_type, content, created_at) \
                     VALUES (?, ?, ?, 'Group', 'r', 'Robot', 'text', ?, 1 + (SELECT COALESCE(MAX(created_at), 0) FROM messages))",
                    [
                        id.as_str().into(),
                        tenant_id.into(),
                        group.as_str().into(),
                        json!({"text": text}).to_string().into(),
                    ],
                );
                transaction.execute_raw(statement).await?;
                for tenant_id in &tenants {
                    transaction.record_change(*tenant_id, "message", &id);
                }
            }
            Ok(())
        })
    });
    job.await.unwrap();
    app.settled().await;
}

/// How many rows a table has.
pub(crate) async fn rows(app: &TestApp, table: &str) -> i64 {
    let statement = sql(format!("SELECT COUNT(*) AS count FROM {table}"), []);
    let row = app.app.store.reader().query_one_raw(statement).await.unwrap().unwrap();
    row.try_get("", "count").unwrap()
}
