use serde_json::{Value, json};

use crate::util::{
    app::TestApp,
    groups::group,
    raw::{Connection, RawAnswer},
    robots::{Robot, RobotGroup, text},
};

async fn post(app: &TestApp, token: &str, content_type: &str, body: &[u8]) -> RawAnswer {
    let mut connection = Connection::open(&app.base).await;
    let head = format!(
        "POST /notificationapi/hook/send?token={token} HTTP/1.1\r\nHost: x\r\n{content_type}Content-Length: {}\r\n\r\n",
        body.len()
    );
    connection.write(head.as_bytes()).await;
    connection.write(body).await;
    connection.read().await
}

#[tokio::test]
async fn every_message_type_is_returned_as_stored() {
    let here = RobotGroup::start().await;
    let messages = [
        text("高潮 high tide 🌊\nat noon"),
        json!({"msgType": "links", "content": {"text": "see", "url": "https://tide.example/?a=b&c=ü"}}),
        json!({"msgType": "rich", "content": {
            "text": "see", "url": "http://tide.example", "title": "Tide", "image": "https://tide.example/a.png",
        }}),
    ];
    let mut sent = Vec::new();
    for message in &messages {
        let mut more = message.clone();
        more["extra"] = json!(1);
        more["content"]["extra"] = json!("left out");
        let answer = here.robot.send(&here.app, &more).await.ok();
        let expected = json!({
            "id": answer.data()["id"], "robotId": here.robot.id, "robotName": "Tide gauge",
            "msgType": message["msgType"], "content": message["content"], "createdDate": answer.data()["createdDate"],
        });
        assert_eq!(answer.data(), &expected);
        sent.insert(0, expected);
    }
    let listed = here.member.get(&here.path("messages")).await.ok();
    assert_eq!(listed.items(), sent);
    assert_eq!(listed.body["count"], 3);
}

#[tokio::test]
async fn hostile_text_is_stored_unchanged() {
    let here = RobotGroup::start().await;
    here.robot.say(&here.app, "no\u{0}where").await.fails(400, "content.text");
    for hostile in
        ["'); DROP TABLE messages; --", "<script>alert(1)</script>", "{{7*7}}\u{202e}\u{1}\u{7f}", "\\\"}"]
    {
        let line = hostile.replace(char::is_control, "");
        let rich = json!({
            "text": hostile, "url": "https://a.example/'\"<>", "title": line, "image": "https://a.example/%00",
        });
        for message in [text(hostile), json!({"msgType": "rich", "content": rich})] {
            let said = here.robot.send(&here.app, &message).await.ok();
            assert_eq!(said.data()["content"], message["content"]);
            let listed = here.member.get(&here.path("messages?limit=1")).await.ok();
            assert_eq!(&listed.items()[0], said.data());
        }
    }
    here.app.wait_for_index().await;
    assert_eq!(here.member.find("message", "alert").await.len(), 2);
}

#[tokio::test]
async fn invalid_message_fields_are_refused_by_name() {
    let here = RobotGroup::start().await;
    let rich = json!({"text": "a", "url": "https://a.example", "title": "t", "image": "https://a.example/i"});
    let with = |field: &str, value: Value| {
        let mut content = rich.clone();
        content[field] = value;
        json!({"msgType": "rich", "content": content})
    };
    let cases = [
        (json!({}), "msgType: is required"),
        (json!([]), "must be an object"),
        (json!({"msgType": "video", "content": {}}), "text, links, rich or card_template"),
        (json!({"msgType": "text"}), "content: is required"),
        (json!({"msgType": "text", "content": "a"}), "body: content: must be an object"),
        (json!({"msgType": 1, "content": {}}), "body: msgType: "),
        (json!({"content": {"text": "a"}}), "msgType: is required"),
        (json!({"msgType": "text", "content": {}}), "content.text: is required"),
        (json!({"msgType": "text", "content": {"text": " \n"}}), "content.text: must not be empty"),
        (json!({"msgType": "links", "content": {"text": "a"}}), "content.url: is required"),
        (with("url", json!("javascript:alert(1)")), "content.url: must be an http"),
        (with("image", json!("data:image/png;base64,AAAA")), "content.image: must be an http"),
        (with("title", json!(7)), "content.title: must be a text"),
        (with("title", json!("x".repeat(1_025))), "content.title: must be at most 1,024 bytes"),
        (with("text", json!("x".repeat((16 << 10) + 1))), "content.text: must be at most 16,384 bytes"),
    ];
    for (message, named) in cases {
        here.robot.send(&here.app, &message).await.fails(400, named);
    }
    here.robot.send(&here.app, &text(&"x".repeat(64 << 10))).await.fails(413, "65536 bytes");
    assert_eq!(here.member.get(&here.path("messages")).await.ok().items().len(), 0);
}

#[tokio::test]
async fn other_encodings_than_utf_8_are_refused() {
    let here = RobotGroup::start().await;
    let (app, token) = (&here.app, here.robot.token.as_str());
    let body = text("涨潮了 🌊").to_string();
    for taken in [
        "Content-Type: application/json\r\n",
        "Content-Type: application/json; charset=utf-8\r\n",
        "Content-Type: Application/JSON;Charset=\"UTF-8\"\r\n",
    ] {
        post(app, token, taken, body.as_bytes()).await.says(200, "涨潮了 🌊");
    }
    for refused in [
        "",
        "Content-Type: application/json; charset=gbk\r\n",
        "Content-Type: application/json; charset=utf-16\r\n",
        "Content-Type: application/json; charset=iso-8859-1\r\n",
        "Content-Type: text/plain; charset=utf-8\r\n",
        "Content-Type: application/x-www-form-urlencoded\r\n",
    ] {
        post(app, token, refused, body.as_bytes()).await.says(415, "Content-Type: must be application/json");
    }
    let json = "Content-Type: application/json\r\n";
    // 涨潮 in GBK, in a read and in an ignored field; é in Latin 1; UTF-16 with a byte order mark.
    let gbk = b"{\"msgType\":\"text\",\"content\":{\"text\":\"\xd5\xc7\xb3\xb1\"}}";
    let ignored = b"{\"msgType\":\"text\",\"content\":{\"text\":\"a\"},\"extra\":\"\xd5\xc7\"}";
    let latin = b"{\"msgType\":\"text\",\"content\":{\"text\":\"\xe9t\xe9\"}}";
    let mut utf_16 = vec![0xff, 0xfe];
    utf_16.extend(body.encode_utf16().flat_map(u16::to_le_bytes));
    for bytes in [&gbk[..], &ignored[..], &latin[..], &utf_16[..]] {
        post(app, token, json, bytes).await.says(415, "body: must be UTF-8");
    }
    let lone = br#"{"msgType":"text","content":{"text":"\ud800"}}"#;
    post(app, token, json, lone).await.says(400, "body: ");
    let escaped = br#"{"msgType":"text","content":{"text":"\u6da8\u6f6e \ud83c\udf0a"}}"#;
    post(app, token, json, escaped).await.says(200, "涨潮 🌊");
    post(app, token, json, b"").await.says(400, "body: ");
    post(app, token, json, b"{").await.says(400, "body: malformed JSON");
}

#[tokio::test]
async fn unknown_token_is_401_before_the_body() {
    let here = RobotGroup::start().await;
    let unknown = "A".repeat(43);
    for query in [
        "",
        "?token=",
        "?token=x",
        "?token=%00",
        &format!("?token={unknown}"),
        &format!("?token={}x", here.robot.token),
    ] {
        let mut connection = Connection::open(&here.app.base).await;
        let head = format!(
            "POST /notificationapi/hook/send{query} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n"
        );
        connection.write(head.as_bytes()).await;
        let answer = connection.read().await;
        answer.says(401, "token: must be the current token");
        assert!(answer.head.contains("www-authenticate: bearer"), "{answer:?}");
    }
    let request = here.owner.request(reqwest::Method::POST, "/notificationapi/hook/send");
    crate::util::caller::send(request.json(&text("x"))).await.fails(401, "token");
}

#[tokio::test]
async fn frozen_tenant_is_403_and_removed_robot_401() {
    let here = RobotGroup::start().await;
    let operator = here.app.operator().await.caller;
    operator.post_empty("/v1/enterprises/freeze?eCode=acme").await.ok();
    here.robot.say(&here.app, "frozen").await.fails(403, "tenant is frozen");
    operator.post_empty("/v1/enterprises/unfreeze?eCode=acme").await.ok();
    here.robot.say(&here.app, "thawed").await.ok();

    let other = group(&here.owner, "Ends", &[]).await;
    let robot = Robot::make(&here.owner, &other, "Ends too").await;
    robot.say(&here.app, "here").await.ok();
    here.owner.delete(&format!("/v1/groups/{other}")).await.ok();
    robot.say(&here.app, "gone").await.fails(401, "token");

    operator.post_empty("/v1/enterprises/delete?eCode=acme").await.ok();
    here.robot.say(&here.app, "gone").await.fails(401, "token");
    here.app.app.maintenance.make_round().await.unwrap();
    here.robot.say(&here.app, "gone").await.fails(401, "token");
}

#[tokio::test]
async fn token_replaced_during_the_body_writes_nothing() {
    let here = RobotGroup::start().await;
    let body = text("too late").to_string();
    let mut connection = Connection::open(&here.app.base).await;
    let head = format!(
        "POST /notificationapi/hook/send?token={} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\nExpect: 100-continue\r\n\r\n",
        here.robot.token,
        body.len()
    );
    connection.write(head.as_bytes()).await;
    // The server asks for the body, so the token was accepted.
    assert_eq!(connection.read().await.status, 100);
    here.owner.post_empty(&here.path(&format!("robots/{}/token", here.robot.id))).await.ok();
    connection.write(body.as_bytes()).await;
    connection.read().await.says(401, "token: must be the current token");
    assert_eq!(here.member.get(&here.path("messages")).await.ok().items().len(), 0);
}

#[tokio::test]
async fn messages_of_a_robot_are_limited_by_minute() {
    let here = RobotGroup::start_with(|config| config.limits.robot_messages_per_minute = 2).await;
    let other = Robot::make(&here.owner, &here.group, "Weather").await;
    for _ in 0..3 {
        here.robot.send(&here.app, &json!({"msgType": "video", "content": {}})).await.fails(400, "msgType");
    }
    let card = json!({"brief": "b", "templateId": "none", "data": {}});
    here.robot
        .send(&here.app, &json!({"msgType": "card_template", "content": card}))
        .await
        .fails(400, "content.templateId");
    for _ in 0..2 {
        here.robot.say(&here.app, "tide").await.ok();
    }
    let refused = here.robot.say(&here.app, "tide").await.fails(429, "more than 2 messages");
    let wait: u64 = refused.header("retry-after").parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
    // A new token does not reset the limit; other robots are unaffected.
    let token = here.path(&format!("robots/{}/token", here.robot.id));
    let renewed = Robot::of(&here.owner.post_empty(&token).await.ok());
    renewed.say(&here.app, "tide").await.fails(429, "more than 2 messages");
    other.say(&here.app, "rain").await.ok();
    assert_eq!(here.member.get(&here.path("messages")).await.ok().items().len(), 3);
}

/// New robots do not raise the limit.
#[tokio::test]
async fn messages_of_a_group_are_limited_over_all_robots() {
    let here = RobotGroup::start_with(|config| config.limits.robot_messages_per_minute = 1).await;
    let mut robot = here.robot.clone();
    for _ in 0..20 {
        robot.say(&here.app, "tide").await.ok();
        here.owner.delete(&here.path(&format!("robots/{}", robot.id))).await.ok();
        robot = Robot::make(&here.owner, &here.group, "Another").await;
    }
    robot.say(&here.app, "tide").await.fails(429, "more than 20 messages of all robots of the group");
    let elsewhere = group(&here.owner, "Elsewhere", &[]).await;
    Robot::make(&here.owner, &elsewhere, "Another").await.say(&here.app, "tide").await.ok();
}

/// Repeated failures stop the server from reading.
#[tokio::test]
async fn failures_of_a_robot_are_limited_by_minute() {
    let here = RobotGroup::start_with(|config| config.limits.robot_messages_per_minute = 1).await;
    let mut read = 0;
    let refused = loop {
        let answer = here.robot.send(&here.app, &json!({})).await;
        if answer.status == 429 {
            break answer.fails(429, "more than 10 calls");
        }
        answer.fails(400, "msgType");
        read += 1;
        // Even a busy machine sends ten within a minute.
        assert!(read < 100, "the server keeps reading");
    };
    assert!(read >= 10, "{read}");
    let wait: u64 = refused.header("retry-after").parse().unwrap();
    assert!((1..=6).contains(&wait), "{wait}");
}
