use serde_json::{Value, json};

use crate::util::{app::TestApp, caller::Caller, robots::RobotGroup};

async fn put(operator: &Caller, code: &str, name: &str, template: &Value) -> String {
    let form = json!({"name": name, "template": template});
    let answer = operator.put(&format!("/v1/card_templates/{code}"), &form).await.ok();
    let id = answer.data()["templateId"].as_str().unwrap().to_owned();
    assert_eq!(answer.data(), &json!({"templateId": id, "templateCode": code, "name": name}));
    id
}

fn card(content: &Value) -> Value {
    let mut content = content.clone();
    content["brief"] = json!("Tide table");
    if content.get("data").is_none() {
        content["data"] = json!({"height": "3 m"});
    }
    json!({"msgType": "card_template", "content": content})
}

#[tokio::test]
async fn changed_template_gets_a_new_id_and_an_equal_one_does_not() {
    let (app, operator) = TestApp::start_operated().await;
    let template = json!({"body": ["{{height}}", {"b": 1, "a": 2}]});
    let first = put(&operator, "tide", "Tide", &template).await;
    assert_eq!(put(&operator, "tide", "Tide", &template).await, first);
    let renamed = put(&operator, "tide", "Tides", &template).await;
    let changed = put(&operator, "tide", "Tides", &json!("<b>{{height}}</b>")).await;
    let back = put(&operator, "tide", "Tide", &template).await;
    let other = put(&operator, "ebb", "Tide", &template).await;
    let mut ids = vec![first, renamed, changed, back.clone(), other];
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 5);
    let found = operator.get("/v1/card_templates/tide").await.ok();
    let expected = json!({
        "templateId": back, "templateCode": "tide", "name": "Tide", "template": template,
        "createdDate": found.data()["createdDate"],
    });
    assert_eq!(found.data(), &expected);
    operator.get("/v1/card_templates/nothing").await.fails(404, "templateCode");
    app.tenant("umbrella").await;
    operator.on("umbrella").get("/v1/card_templates/tide").await.fails(404, "templateCode");
}

#[tokio::test]
async fn invalid_templates_are_refused_by_name() {
    let (_app, operator) = TestApp::start_operated().await;
    let refused = async |code: &str, form: Value, named: &str| {
        operator.put(&format!("/v1/card_templates/{code}"), &form).await.fails(400, named);
    };
    refused("tide", json!({"template": {"a": 1}}), "name").await;
    for name in ["", " ", "a\nb", &"x".repeat(257)] {
        refused("tide", json!({"name": name, "template": {"a": 1}}), "name").await;
    }
    refused("tide", json!({"name": "Tide"}), "template").await;
    for template in [json!(null), json!(" "), json!([1]), json!(5), json!({}), json!("x".repeat(70_000))] {
        refused("tide", json!({"name": "Tide", "template": template}), "template").await;
    }
    refused("%00", json!({"name": "Tide", "template": "x"}), "templateCode").await;
    refused(&"x".repeat(513), json!({"name": "Tide", "template": "x"}), "templateCode").await;
}

#[tokio::test]
async fn card_keeps_its_template_version() {
    let here = RobotGroup::start().await;
    let operator = here.app.operator().await.caller.on("acme");
    let old = put(&operator, "tide", "Tide", &json!("old")).await;
    let new = put(&operator, "tide", "Tide", &json!("new")).await;
    let ebb = put(&operator, "ebb", "Ebb", &json!("ebb")).await;
    // The newest of a code; any version by id; an id before a code; an empty text is absent.
    let cases = [
        (json!({"templateCode": "tide"}), &new, "tide"),
        (json!({"templateId": old}), &old, "tide"),
        (json!({"templateId": ebb, "templateCode": "tide"}), &ebb, "ebb"),
        (json!({"templateId": "", "templateCode": "ebb"}), &ebb, "ebb"),
        (json!({"templateId": null, "templateCode": "ebb"}), &ebb, "ebb"),
    ];
    let mut sent = Vec::new();
    for (content, id, code) in cases {
        let answer = here.robot.send(&here.app, &card(&content)).await.ok();
        let expected =
            json!({"brief": "Tide table", "templateId": id, "templateCode": code, "data": {"height": "3 m"}});
        assert_eq!(answer.data()["content"], expected);
        sent.insert(0, answer.data().clone());
    }
    put(&operator, "tide", "Tide", &json!("newer")).await;
    assert_eq!(here.member.get(&here.path("messages")).await.ok().items(), sent);
}

#[tokio::test]
async fn invalid_card_fields_are_refused_by_name() {
    let here = RobotGroup::start().await;
    let operator = here.app.operator().await.caller;
    here.app.tenant("umbrella").await;
    let theirs = put(&operator.on("umbrella"), "theirs", "Theirs", &json!("x")).await;
    let own = put(&operator.on("acme"), "own", "Own", &json!("x")).await;
    let cases = [
        (json!({}), "content.templateId: is required"),
        (json!({"templateId": "", "templateCode": ""}), "content.templateId: is required"),
        (json!({"templateId": 5}), "content.templateId: must be a text"),
        (json!({"templateId": "nothing"}), "content.templateId: there is no such card template"),
        // Ids of another tenant are unknown, and an invalid id is not ignored.
        (json!({"templateId": theirs}), "content.templateId: there is no such card template"),
        (json!({"templateCode": "theirs"}), "content.templateCode: there is no such card template"),
        (json!({"templateId": "nothing", "templateCode": "own"}), "content.templateId: there is no such"),
        (json!({"templateId": "own"}), "content.templateId: there is no such card template"),
        (json!({"templateCode": own}), "content.templateCode: there is no such card template"),
        (json!({"templateId": own, "data": null}), "content.data: is required"),
        (json!({"templateId": own, "data": ["a"]}), "content.data: must be an object"),
        (json!({"templateId": own, "data": {"a": "x".repeat(33_000)}}), "content.data: must be at most"),
    ];
    for (content, named) in cases {
        here.robot.send(&here.app, &card(&content)).await.fails(400, named);
    }
    let empty = json!({"brief": " ", "templateId": own, "data": {}});
    let message = json!({"msgType": "card_template", "content": empty});
    here.robot.send(&here.app, &message).await.fails(400, "content.brief");
}

#[tokio::test]
async fn card_is_found_by_its_summary_and_values() {
    let here = RobotGroup::start().await;
    let operator = here.app.operator().await.caller.on("acme");
    put(&operator, "tide", "Template", &json!({"label": "Spring"})).await;
    let data = json!({
        "place": "Lanternfish bay", "rows": [{"深": "三米"}], "link": "https://tide.example/zooplankton",
    });
    here.robot.send(&here.app, &card(&json!({"templateCode": "tide", "data": data}))).await.ok();
    here.app.wait_for_index().await;
    for keyword in ["table", "lanternfish", "三米"] {
        assert_eq!(here.member.find("message", keyword).await.len(), 1, "{keyword}");
    }
    for keyword in ["zooplankton", "spring", "place"] {
        assert_eq!(here.member.find("message", keyword).await.len(), 0, "{keyword}");
    }
}
