//! Every field of users and departments (book: reference/directory.md).

use serde_json::{Map, Value, json};

use crate::util::{
    app::{Application, TestApp},
    directory::{read_all, read_one},
    items::{department, user},
};

struct Field {
    written: &'static str,
    read: &'static str,
    value: Value,
    cleared: Value,
    wrong: Vec<Value>,
}

/// A nullable text of at most `most_bytes` bytes.
fn text(name: &'static str, most_bytes: usize) -> Field {
    Field {
        written: name,
        read: name,
        value: format!("{name} 海").into(),
        cleared: Value::Null,
        wrong: vec!["x".repeat(most_bytes + 1).into(), json!(5), json!(["x"]), json!({}), json!(true)],
    }
}

fn number(name: &'static str, value: i64, default: Value, wrong: &[i64]) -> Field {
    let types = [json!("1"), json!("x"), json!(1.5), json!(true), json!([1]), json!({})];
    let wrong = wrong.iter().copied().map(Value::from).chain(types).collect();
    Field { written: name, read: name, value: value.into(), cleared: default, wrong }
}

fn flag(written: &'static str, read: &'static str) -> Field {
    let wrong = vec![json!(1), json!("true"), json!([]), json!({})];
    Field { written, read, value: true.into(), cleared: false.into(), wrong }
}

fn reference(name: &'static str, value: Value, cleared: Value, wrong: &[Value]) -> Field {
    Field { written: name, read: name, value, cleared, wrong: wrong.to_vec() }
}

const OF_32_BITS: [i64; 2] = [1 << 31, -(1 << 31) - 1];
const NOT_EXACT: [i64; 2] = [1 << 53, -(1 << 53)];

fn user_fields() -> Vec<Field> {
    vec![
        text("userNum", 256),
        text("fullName", 512),
        text("mobile", 256),
        text("email", 320),
        text("telephone", 256),
        text("homeTelephone", 256),
        text("address", 2_048),
        text("birthday", 64),
        text("description", 4_096),
        text("postDescription", 1_024),
        text("extendFields", 16 << 10),
        number("type", 4, 1.into(), &OF_32_BITS),
        number("orderNo", -7, 0.into(), &NOT_EXACT),
        number("secretLevel", 1, 0.into(), &[3, -1]),
        number("status", 0, 1.into(), &[2, -1]),
        flag("isHidden", "isHidden"),
        flag("isHidden", "hidden"),
        flag("hidden", "isHidden"),
        flag("isDeleted", "isDeleted"),
        flag("isDeleted", "deleted"),
        flag("deleted", "isDeleted"),
        reference("orgId", json!("d1"), Value::Null, &[json!("nowhere"), json!(1), json!("x".repeat(513))]),
        reference(
            "deputyOrgIds",
            json!(["d2", "d1"]),
            json!([]),
            &[json!(["d1", "nowhere"]), json!("d1"), json!([1]), json!([""]), json!({})],
        ),
    ]
}

fn department_fields() -> Vec<Field> {
    vec![
        text("orgNum", 256),
        text("fullName", 512),
        text("fullPathName", 4_096),
        text("description", 4_096),
        text("telephone", 256),
        text("email", 320),
        text("principal", 512),
        text("source", 256),
        number("level", 3, Value::Null, &OF_32_BITS),
        number("orderNo", 1_000_000, 0.into(), &NOT_EXACT),
        number("enableChat", 0, 1.into(), &[2, -1]),
        number("secretLevel", 2, 0.into(), &OF_32_BITS),
        number("status", 0, 1.into(), &[2, -1]),
        flag("isForceReceive", "isForceReceive"),
        flag("isForceReceive", "forceReceive"),
        flag("forceReceive", "isForceReceive"),
        flag("isHidden", "isHidden"),
        flag("isHidden", "hidden"),
        flag("hidden", "isHidden"),
        flag("isDeleted", "isDeleted"),
        flag("isDeleted", "deleted"),
        flag("deleted", "isDeleted"),
        reference(
            "parentId",
            json!("d1"),
            Value::Null,
            &[json!("nowhere"), json!(1), json!("x".repeat(513))],
        ),
    ]
}

async fn start() -> (TestApp, Application) {
    let (app, acme) = TestApp::start_with_acme().await;
    app.sync(&acme.caller, "organizations", &json!([department("d1", ""), department("d2", "")])).await;
    (app, acme)
}

async fn walk(app: &TestApp, acme: &Application, area: &str, id: &str, field: &Field) {
    let id_field = if area == "users" { "userId" } else { "orgId" };
    let name = field.written;
    let written = |value: &Value| json!([{ id_field: id, name: value }]);
    let now = async || read_one(&acme.caller, area, id).await[field.read].clone();

    assert_eq!(now().await, field.cleared, "{area} {name}: default");
    app.sync(&acme.caller, area, &written(&field.value)).await;
    assert_eq!(now().await, field.value, "{area} {name}: written value");
    for same in [json!([{ id_field: id }]), written(&Value::Null)] {
        app.sync(&acme.caller, area, &same).await;
        assert_eq!(now().await, field.value, "{area} {name}: absent and null");
    }
    for wrong in &field.wrong {
        let answer = acme.caller.put(&format!("/v1/{area}/sync"), &written(wrong)).await.ok();
        let [failure] = answer.items() else { panic!("{area} {name}: {wrong} was taken") };
        assert_eq!(failure["id"], id);
        let message = failure["message"].as_str().unwrap();
        assert!(message.starts_with(name), "{area} {name}: {message}");
        assert!(
            message.len() < 300 || wrong.to_string().len() < 600,
            "the message echoes the value: {message}"
        );
    }
    assert_eq!(now().await, field.value, "{area} {name}: a failed row was changed");
    app.sync(&acme.caller, area, &written(&"".into())).await;
    assert_eq!(now().await, field.cleared, "{area} {name}: empty text");
}

#[tokio::test]
async fn fields_follow_the_null_and_empty_rules() {
    let (app, acme) = start().await;
    app.sync(&acme.caller, "organizations", &json!([department("a", "")])).await;
    app.sync(&acme.caller, "users", &json!([user("mei", "")])).await;
    for (area, id, fields) in [("users", "mei", user_fields()), ("organizations", "a", department_fields())] {
        for field in fields {
            walk(&app, &acme, area, id, &field).await;
        }
    }
}

/// Platform ids are immutable; name and sex are required.
#[tokio::test]
async fn non_nullable_fields_are_kept_or_required() {
    let (app, acme) = start().await;
    let platform_id = "0c6a3ad2-2f5e-4f0c-9d9e-0d5b7a3f0a11";
    let mut mei = user("mei", "");
    mei["platformUserId"] = platform_id.into();
    app.sync(&acme.caller, "users", &json!([mei])).await;
    app.sync(&acme.caller, "users", &json!([{"userId": "mei", "platformUserId": ""}])).await;
    assert_eq!(read_one(&acme.caller, "users", "mei").await["platformUserId"], platform_id);
    let before = read_one(&acme.caller, "organizations", "d1").await;
    app.sync(&acme.caller, "organizations", &json!([{"orgId": "d1", "platformOrgId": ""}])).await;
    assert_eq!(read_one(&acme.caller, "organizations", "d1").await, before);
    for (area, row, field) in [
        ("users", json!({"userId": "mei", "name": ""}), "name:"),
        ("users", json!({"userId": "mei", "sex": ""}), "sex:"),
        ("users", json!({"userId": "mei", "loginId": ""}), "loginId:"),
        ("users", json!({"userId": "mei", "platformUserId": 5}), "platformUserId:"),
        ("organizations", json!({"orgId": "d1", "name": ""}), "name:"),
        ("organizations", json!({"orgId": "d1", "platformOrgId": "5"}), "platformOrgId:"),
        ("organizations", json!({"orgId": "d1", "platformParentId": "x"}), "platformParentId:"),
    ] {
        let answer = acme.caller.put(&format!("/v1/{area}/sync"), &json!([row])).await.ok();
        let message = answer.items()[0]["message"].as_str().unwrap();
        assert!(message.starts_with(field), "{row}: {message}");
    }
}

#[tokio::test]
async fn row_read_and_sent_back_is_no_change() {
    let (app, acme) = start().await;
    let full = |fields: Vec<Field>, mut row: Value| {
        let row_fields = row.as_object_mut().unwrap();
        row_fields.extend(fields.into_iter().map(|field| (field.written.to_owned(), field.value)));
        for duplicate in ["hidden", "deleted", "forceReceive", "isDeleted", "status"] {
            row_fields.remove(duplicate);
        }
        row
    };
    app.sync(&acme.caller, "organizations", &json!([full(department_fields(), department("a", "d1"))])).await;
    app.sync(&acme.caller, "users", &json!([full(user_fields(), user("mei", "a")), user("bare", "")])).await;

    let departments = read_all(&acme.caller, "organizations").await;
    let users = read_all(&acme.caller, "users").await;
    assert_eq!(names(&users[0]), names_of(USER_FIELDS));
    assert_eq!(names(&departments[0]), names_of(DEPARTMENT_FIELDS));
    assert!(users[0]["password"].is_null());
    assert_eq!(users[0]["platformOrgId"], departments[0]["platformOrgId"], "both belong to d1");
    let a = departments.iter().find(|row| row["orgId"] == "a").unwrap();
    assert_eq!(a["platformParentId"], departments[0]["platformOrgId"]);

    for _ in 0..2 {
        app.sync(&acme.caller, "organizations", &departments.clone().into()).await;
        app.sync(&acme.caller, "users", &users.clone().into()).await;
        assert_eq!(read_all(&acme.caller, "organizations").await, departments);
        assert_eq!(read_all(&acme.caller, "users").await, users);
    }
}

const USER_FIELDS: &str = "userId platformUserId userNum loginId name fullName sex mobile email telephone homeTelephone address \
    birthday description postDescription picture type orgId platformOrgId deputyOrgIds password orderNo secretLevel status \
    workStatus isHidden isDeleted hidden deleted extendFields lastUpdatedDate";

const DEPARTMENT_FIELDS: &str = "orgId parentId platformOrgId platformParentId orgNum name fullName fullPathName description \
    telephone email principal level orderNo enableChat secretLevel isForceReceive isHidden isDeleted status source hidden deleted \
    forceReceive lastUpdatedDate";

fn names(row: &Value) -> Vec<&str> {
    let mut names: Vec<&str> = row.as_object().map(Map::keys).unwrap().map(String::as_str).collect();
    names.sort_unstable();
    names
}

fn names_of(fields: &str) -> Vec<&str> {
    let mut names: Vec<&str> = fields.split_whitespace().collect();
    names.sort_unstable();
    names
}

/// `isHidden` overrides `hidden`; `platformParentId` counts only without `parentId`.
#[tokio::test]
async fn documented_field_overrides_its_alias() {
    let (app, acme) = start().await;
    let d1 = read_one(&acme.caller, "organizations", "d1").await["platformOrgId"].clone();
    let row = json!({
        "orgId": "a", "name": "A", "isHidden": false, "hidden": true, "forceReceive": true, "platformParentId": d1,
    });
    app.sync(&acme.caller, "organizations", &json!([row])).await;
    let a = read_one(&acme.caller, "organizations", "a").await;
    assert_eq!(
        (&a["isHidden"], &a["isForceReceive"], &a["parentId"]),
        (&json!(false), &json!(true), &json!("d1"))
    );
    let both = json!([{"orgId": "a", "parentId": "d2", "platformParentId": d1}]);
    app.sync(&acme.caller, "organizations", &both).await;
    assert_eq!(read_one(&acme.caller, "organizations", "a").await["parentId"], "d2");
    for nowhere in [
        json!({"orgId": "a", "parentId": "", "platformParentId": d1}),
        json!({"orgId": "a", "platformParentId": ""}),
    ] {
        app.sync(&acme.caller, "organizations", &json!([{"orgId": "a", "parentId": "d2"}])).await;
        app.sync(&acme.caller, "organizations", &json!([nowhere])).await;
        assert_eq!(read_one(&acme.caller, "organizations", "a").await["parentId"], Value::Null);
    }
    let missing = json!([{"orgId": "a", "platformParentId": "0c6a3ad2-2f5e-4f0c-9d9e-0d5b7a3f0a11"}]);
    let answer = acme.caller.put("/v1/organizations/sync", &missing).await.ok();
    assert!(answer.items()[0]["message"].as_str().unwrap().starts_with("platformParentId:"));
}
