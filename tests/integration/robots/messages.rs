//! Messages of a group.

use futures::future::join_all;
use proptest::{collection::vec, prelude::*, strategy::ValueTree, test_runner::TestRunner};
use reqwest::Method;
use serde_json::{Value, json};

use crate::util::{
    caller::Caller,
    database::SqlValue,
    groups::{group, members, outer},
    items::user,
    robots::{Robot, RobotGroup},
};

const CASES: u32 = 6;

fn date(message: &Value) -> i64 {
    message["createdDate"].as_i64().unwrap()
}

async fn walk(caller: &Caller, group: &str, limits: &[usize]) -> Vec<Value> {
    let (mut all, mut cursor) = (Vec::<Value>::new(), String::new());
    for limit in limits.iter().cycle() {
        let page = caller.get(&format!("/v1/groups/{group}/messages?limit={limit}{cursor}")).await.ok();
        assert!(page.items().len() <= *limit);
        assert_eq!(page.body["count"], page.items().len());
        all.extend_from_slice(page.items());
        match &page.body["cursor"] {
            Value::Null => break,
            next => assert_eq!(next, date(page.items().last().unwrap())),
        }
        cursor = format!("&cursor={}", date(all.last().unwrap()));
    }
    assert!(all.is_sorted_by(|newer, older| date(newer) > date(older)), "{all:?}");
    all
}

fn ids(messages: &[Value]) -> Vec<&str> {
    let mut ids: Vec<&str> = messages.iter().map(|message| message["id"].as_str().unwrap()).collect();
    ids.sort_unstable();
    ids
}

#[tokio::test(flavor = "multi_thread")]
async fn cursor_is_exact_under_concurrent_messages() {
    let here = RobotGroup::start().await;
    let mut runner = TestRunner::new(trawl_seeds::cases(CASES));
    let drawn = (vec(0_usize..8, 1..6), vec(prop_oneof![1_usize..4, 1_usize..40], 1..4));
    for _ in 0..trawl_seeds::count(CASES) {
        let (counts, limits) = drawn.new_tree(&mut runner).unwrap().current();
        let group = group(&here.owner, "Case", &[]).await;
        let mut robots = Vec::new();
        for _ in &counts {
            robots.push(Robot::make(&here.owner, &group, "Robot").await);
        }
        // Concurrent messages share a commit.
        let app = &here.app;
        let speaking = robots.iter().zip(&counts).flat_map(|(robot, count)| {
            (0..*count).map(move |number| async move {
                robot.say(app, &number.to_string()).await.ok().data().clone()
            })
        });
        let (said, meanwhile) = futures::join!(join_all(speaking), walk(&here.owner, &group, &limits));
        let all = walk(&here.owner, &group, &limits).await;
        assert_eq!(ids(&all), ids(&said), "{counts:?} {limits:?}");
        let seen = ids(&all);
        assert!(ids(&meanwhile).iter().all(|id| seen.contains(id)));
        assert!(ids(&meanwhile).windows(2).all(|pair| pair[0] != pair[1]), "a message was repeated");
    }
}

#[tokio::test]
async fn list_accepts_a_limit_and_a_time() {
    let here = RobotGroup::start().await;
    let mut said = Vec::new();
    for number in 0..5 {
        said.insert(0, here.robot.say(&here.app, &number.to_string()).await.ok().data().clone());
    }
    assert_eq!(walk(&here.member, &here.group, &[2, 1]).await, said);
    let of = async |query: &str| here.member.get(&here.path(&format!("messages{query}"))).await;
    assert_eq!(of("").await.ok().items(), said);
    assert_eq!(of(&format!("?cursor={}", date(&said[2]))).await.ok().items(), &said[3..]);
    assert_eq!(of(&format!("?cursor={}&limit=1", date(&said[2]) + 1)).await.ok().items(), &said[2..3]);
    assert_eq!(of("?limit=5").await.ok().body["cursor"], Value::Null);
    assert_eq!(of("?limit=4").await.ok().body["cursor"], date(&said[3]));
    let none = of("?cursor=-1").await.ok();
    assert_eq!((none.items().len(), &none.body["cursor"]), (0, &Value::Null));
    for (query, named) in
        [("limit=0", "limit"), ("limit=1001", "limit"), ("limit=x", "limit"), ("cursor=x", "cursor")]
    {
        of(&format!("?{query}")).await.fails(400, named);
    }
}

#[tokio::test]
async fn page_bytes_are_limited_and_the_cursor_continues() {
    let here = RobotGroup::start().await;
    here.robot.say(&here.app, "first of all").await.ok();
    let content = |length| SqlValue::from(json!({"text": "x".repeat(length)}).to_string());
    here.app
        .execute_with(
            "WITH RECURSIVE numbers (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < 200) \
             INSERT INTO messages (id, tenant_id, group_id, robot_id, robot_name, group_name, msg_type, content, created_at) \
             SELECT 'm' || number, tenant_id, group_id, robot_id, robot_name, group_name, msg_type, \
               CASE number WHEN 100 THEN ? ELSE ? END, created_at + number FROM messages, numbers",
            vec![content(3_000_000), content(32_000)],
        )
        .await;
    let content = |message: &Value| message["content"].to_string().len();
    let (mut sizes, mut all, mut cursor) = (Vec::new(), Vec::new(), String::new());
    loop {
        let page = here.member.get(&here.path(&format!("messages?limit=1000{cursor}"))).await.ok();
        let bytes: usize = page.items().iter().map(content).sum();
        assert!(bytes <= 2 << 20 || page.items().len() == 1, "{} of {bytes}", page.items().len());
        sizes.push(page.items().len());
        all.extend_from_slice(page.items());
        let Some(next) = page.body["cursor"].as_i64() else { break };
        cursor = format!("&cursor={next}");
    }
    // 2 MiB hold 65 messages of 32,011 bytes, and never the long one.
    assert_eq!(sizes, [65, 35, 1, 65, 35]);
    assert!(all.is_sorted_by(|newer, older| date(newer) == date(older) + 1));
    assert_eq!(walk(&here.member, &here.group, &[40, 7]).await, all);
}

#[tokio::test]
async fn message_times_increase_when_the_clock_goes_back() {
    let here = RobotGroup::start().await;
    here.robot.say(&here.app, "from the future").await.ok();
    here.app.execute("UPDATE messages SET created_at = 4102444800000").await;
    for number in 1..4 {
        let said = here.robot.say(&here.app, "later").await.ok();
        assert_eq!(date(said.data()), 4_102_444_800_000 + number);
    }
    let other = group(&here.owner, "Other", &[]).await;
    let robot = Robot::make(&here.owner, &other, "Robot").await;
    assert!(date(robot.say(&here.app, "now").await.ok().data()) < 4_102_444_800_000);
}

#[tokio::test]
async fn messages_are_found_by_members_only() {
    let here = RobotGroup::start().await;
    here.robot.say(&here.app, "涨潮 lanternfish at noon").await.ok();
    here.app.wait_for_index().await;
    let finds = async |caller: &Caller, keyword: &str| caller.find("message", keyword).await.len();
    for caller in [&here.owner, &here.administrator, &here.member] {
        assert_eq!(finds(caller, "lanternfish").await, 1);
        assert_eq!(finds(caller, "涨潮").await, 1);
        assert_eq!(finds(caller, "author:gauge").await, 1);
    }
    // Outsiders and applications find nothing; the group's name is not searched.
    assert_eq!(finds(&here.stranger, "lanternfish").await, 0);
    assert_eq!(finds(&here.acme.caller, "lanternfish").await, 0);
    assert_eq!(finds(&here.member, "watch").await, 0);
    // Messages of a public group stay private to members.
    here.change(json!({"isPublic": true})).await;
    here.app.wait_for_index().await;
    assert_eq!(finds(&here.stranger, "lanternfish").await, 0);

    // Membership changes need no re-indexing.
    members(&here.owner, Method::POST, &here.group, &["eve"]).await.ok();
    assert_eq!(finds(&here.stranger, "lanternfish").await, 1);
    assert_eq!(here.stranger.get(&here.path("messages")).await.ok().items().len(), 1);
    members(&here.member, Method::DELETE, &here.group, &["lin"]).await.ok();
    assert_eq!(finds(&here.member, "lanternfish").await, 0);
    here.member.get(&here.path("messages")).await.fails(403, "member");
    here.change(json!({"isPublic": false})).await;
    here.member.get(&here.path("messages")).await.fails(404, "groupId");
}

/// Book: reference/groups.md.
#[tokio::test]
async fn outer_member_reads_and_finds_the_messages() {
    let here = RobotGroup::start().await;
    let umbrella = here.app.tenant("umbrella").await;
    here.app.sync(&umbrella.caller, "users", &json!([user("lin", ""), user("pat", "")])).await;
    let operator = here.app.operator().await.caller;
    operator.put("/admin/v1/tenants/umbrella", &json!({"allowOuterMembers": true})).await.ok();
    outer(&here.owner, Method::POST, &here.group, &["pat@umbrella"]).await.ok();
    let (pat, namesake) = (here.app.user(&umbrella, "pat").await, here.app.user(&umbrella, "lin").await);
    let hidden = group(&here.owner, "Hidden", &[]).await;
    let elsewhere = Robot::make(&here.owner, &hidden, "Elsewhere").await;
    here.robot.say(&here.app, "lanternfish").await.ok();
    elsewhere.say(&here.app, "lanternfish").await.ok();
    here.app.wait_for_index().await;
    let messages = pat.get(&here.path("messages")).await.ok();
    let id = messages.items()[0]["id"].as_str().unwrap();
    assert_eq!(pat.find("message", "lanternfish").await, [id]);
    assert_eq!(here.owner.find("message", "lanternfish").await.len(), 2);
    pat.get(&format!("/v1/groups/{hidden}/messages")).await.fails(404, "groupId");
    namesake.get(&here.path("messages")).await.fails(404, "groupId");
    assert_eq!(namesake.find("message", "lanternfish").await.len(), 0);
    pat.post(&here.path("robots"), &json!({"name": "x"})).await.fails(403, "administrator");
}

#[tokio::test]
async fn hit_shows_sender_and_group_and_opens_its_url() {
    let here = RobotGroup::start().await;
    let long = format!("Lanternfish come up. {}\nsecond line: plankton", "They are many. ".repeat(20));
    here.robot.say(&here.app, &long).await.ok();
    let url = "https://tide.example/zooplankton?a=b";
    let rich = json!({"text": "See squid", "url": url, "title": "Cuttlefish", "image": "https://tide.example/i.png"});
    here.robot.send(&here.app, &json!({"msgType": "rich", "content": rich})).await.ok();
    here.change(json!({"name": "Renamed"})).await;
    here.app.wait_for_index().await;
    let hit = async |keyword: &str| {
        let answer = here.member.search(&[("moduleId", "message"), ("keyword", keyword)]).await.ok();
        assert_eq!(answer.total(), 1, "{keyword}: {}", answer.text);
        answer.items()[0].clone()
    };
    let text = hit("plankton").await;
    assert_eq!((&text["author"], &text["subTitle"]), (&json!("Tide gauge"), &json!("Harbour watch")));
    assert_eq!(text["brief"], long.as_str());
    let title = text["title"].as_str().unwrap();
    assert!(
        title.ends_with('…') && title.chars().count() <= 101 && long.starts_with(title.trim_end_matches('…'))
    );
    // A hit shows the text's beginning and matches its end.
    let longer = format!("Barnacles. {}copepods", "They stay. ".repeat(1_000));
    here.robot.say(&here.app, &longer).await.ok();
    here.app.wait_for_index().await;
    let brief = hit("copepods").await["brief"].as_str().unwrap().to_owned();
    assert!(brief.len() <= 2_048 && longer.starts_with(brief.strip_suffix('…').unwrap()), "{brief}");
    let rich = hit("cuttlefish").await;
    assert_eq!((&rich["brief"], &rich["image"]), (&json!("See squid"), &json!("https://tide.example/i.png")));
    let action: Value = serde_json::from_str(rich["action"].as_str().unwrap()).unwrap();
    for client in ["android", "ios", "pc", "web"] {
        assert_eq!(action[client], format!("[OpenUrl]\nurl={url}"));
    }
    assert_eq!(here.member.find("message", "zooplankton").await.len(), 0);
}
