//! Whose a subject's folders are when people, departments and groups come and go (decisions 10.1).

use serde_json::json;

use crate::util::{
    app::TestApp,
    folders::{ask, list},
    items::{department, user},
};

/// Deleting a department makes nobody below it the owner of the enterprise's folders.
#[tokio::test]
async fn a_department_below_a_deleted_one_is_no_top_one() {
    let app = TestApp::start().await;
    let acme = app.tenant("acme").await;
    let mut top = department("sales", "");
    top["principal"] = json!("lin");
    let mut below = department("north", "sales");
    below["principal"] = json!("omar");
    app.sync(&acme.caller, "organizations", &json!([top, below])).await;
    app.sync(&acme.caller, "users", &json!([user("lin", ""), user("omar", "")])).await;
    let [lin, omar] = [app.user(&acme, "lin").await, app.user(&acme, "omar").await];
    let form = |name: &str, principal: &str| json!({"name": name, "principalId": principal});
    ask(&lin, "create", form("Of acme", "acme")).await.ok_timed();
    app.sync(&acme.caller, "organizations", &json!([{"orgId": "sales", "isDeleted": true}])).await;
    for caller in [&lin, &omar] {
        ask(caller, "create", form("Mine", "acme")).await.refuses(430_011, "principalId");
        assert_eq!(list(caller, "").await.ok_timed().total(), 0);
    }
    // Moved to the top he is.
    app.sync(&acme.caller, "organizations", &json!([{"orgId": "north", "parentId": ""}])).await;
    assert_eq!(list(&omar, "").await.ok_timed().names(), ["Of acme"]);
}
