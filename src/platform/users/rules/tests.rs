use super::*;

fn form(json: serde_json::Value) -> UserChange {
    UserChange { form: serde_json::from_value(json).unwrap(), ..UserChange::default() }
}

fn apply(change: &UserChange, known: Option<&User>) -> Result<User, String> {
    change.apply(known, None, &Written::Keep)
}

fn mei() -> serde_json::Value {
    serde_json::json!({"userId": "u1", "loginId": "mei", "name": "Mei", "sex": 2})
}

fn mei_with(change: &serde_json::Value) -> UserChange {
    let mut row = mei();
    row.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
    form(row)
}

fn change(fields: &serde_json::Value) -> UserChange {
    let mut row = serde_json::json!({"userId": "u1"});
    row.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    form(row)
}

use serde_json::json;

#[test]
fn new_user_requires_name_sex_and_login() {
    let user = apply(&form(mei()), None).unwrap();
    assert_eq!((user.kind, user.order_no, user.secret_level, user.status), (1, 0, 0, 1));
    for field in ["name", "sex", "loginId"] {
        for nothing in [json!(null), json!("")] {
            let reason = apply(&mei_with(&json!({ field: nothing })), None).unwrap_err();
            assert!(reason.starts_with(&format!("{field}:")), "{reason}");
        }
    }
    let by_mobile = apply(&mei_with(&json!({"loginId": null, "mobile": "139"})), None).unwrap();
    assert_eq!((by_mobile.login_id.as_str(), by_mobile.has_own_login), ("139", false));
}

#[test]
fn absent_field_is_kept_and_empty_is_cleared() {
    let known =
        apply(&mei_with(&json!({"orgId": "d1", "orderNo": 7, "email": "mei@example.org"})), None).unwrap();
    assert_eq!(apply(&change(&json!({})), Some(&known)).unwrap(), known);
    let cleared = apply(&change(&json!({"orgId": "", "orderNo": "", "email": ""})), Some(&known)).unwrap();
    assert_eq!((cleared.org_id, cleared.order_no, cleared.details.email.clone()), (None, 0, None));
    let nameless = apply(&change(&json!({"name": ""})), Some(&known));
    assert!(nameless.unwrap_err().starts_with("name:"));
}

#[test]
fn only_default_login_follows_mobile_number() {
    let by_number = apply(&mei_with(&json!({"loginId": null, "mobile": "139"})), None).unwrap();
    let own = apply(&mei_with(&json!({"loginId": "139", "mobile": "139"})), None).unwrap();
    let moves = change(&json!({"mobile": "138"}));
    assert_eq!(apply(&moves, Some(&by_number)).unwrap().login_id, "138");
    assert_eq!(apply(&moves, Some(&own)).unwrap().login_id, "139");
}

#[test]
fn suffix_is_added_once_and_not_to_numbers() {
    for (login, suffix, expected) in [
        ("mei", Some("acme"), "mei@acme"),
        ("mei", Some("@acme"), "mei@acme"),
        ("mei@acme", Some("acme"), "mei@acme"),
        ("mei@other", Some("acme"), "mei@other@acme"),
        ("meiacme", Some("acme"), "meiacme@acme"),
        ("@acme", Some("acme"), "@acme@acme"),
        ("mei", Some(""), "mei"),
        ("mei", None, "mei"),
    ] {
        assert_eq!(with_suffix(login, suffix), expected);
    }
    let number = mei_with(&json!({"loginId": null, "mobile": "139"}));
    assert_eq!(number.apply(None, Some("acme"), &Written::Keep).unwrap().login_id, "139");
    let long = mei_with(&json!({"loginId": "x".repeat(255)}));
    assert!(long.apply(None, Some("acme"), &Written::Keep).unwrap_err().starts_with("loginId:"));
}

#[test]
fn documented_field_wins_over_its_alias() {
    let hidden = |fields: serde_json::Value| apply(&mei_with(&fields), None).unwrap().is_hidden;
    assert!(hidden(json!({"hidden": true})));
    assert!(!hidden(json!({"hidden": true, "isHidden": false})));
    assert!(hidden(json!({"hidden": true, "isHidden": null})));
    assert!(!hidden(json!({"hidden": true, "isHidden": ""})));
}

#[test]
fn deputy_departments_are_distinct_and_at_most_100() {
    let user = apply(&mei_with(&json!({"deputyOrgIds": ["a", "b", "a"]})), None).unwrap();
    assert_eq!(*user.deputy_org_ids, ["a", "b"]);
    let ids: Vec<String> = (0..101).map(|id| id.to_string()).collect();
    let twice = [&ids[1..], &ids[1..]].concat();
    assert_eq!(mei_with(&json!({ "deputyOrgIds": twice })).form.check(), Ok(()));
    let reason = mei_with(&json!({ "deputyOrgIds": ids })).form.check().unwrap_err();
    assert!(reason.starts_with("deputyOrgIds:"), "{reason}");
}

#[test]
fn tokens_end_on_password_change_disable_and_delete() {
    let hash = |text: &str| Written::Set(PasswordHash::new(text.to_owned()));
    let with = |password_hash| UserChange { password_hash, ..change(&json!({})) };
    let known = apply(&UserChange { password_hash: hash("a"), ..form(mei()) }, None).unwrap();
    let epoch = |change: &UserChange| apply(change, Some(&known)).unwrap().epoch - known.epoch;
    assert_eq!(epoch(&with(hash("a"))), 0);
    assert_eq!(epoch(&with(hash("b"))), 1);
    assert_eq!(epoch(&with(Written::Clear)), 1);
    assert_eq!(epoch(&change(&json!({"isDeleted": true}))), 1);
    assert_eq!(epoch(&change(&json!({"status": 0}))), 1);
    assert_eq!(epoch(&change(&json!({"name": "M", "isHidden": true}))), 0);
    let disabled = apply(&change(&json!({"status": 0})), Some(&known)).unwrap();
    let enabled = apply(&change(&json!({"status": 1})), Some(&disabled)).unwrap();
    assert_eq!(enabled.epoch, disabled.epoch);
}

#[test]
fn password_is_never_shown() {
    let sent = change(&json!({"password": "X03MO1qnZdYdgyfeuILPmQ=="}));
    assert!(!format!("{sent:?}").contains("X03MO1"));
}
