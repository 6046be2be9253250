use std::time::Duration;

use serde_json::{Value, json};

use crate::util::{
    app::{Application, TestApp},
    caller::Caller,
    items::{NEW_YEAR, user},
};

const REPORT: &str = "/contents/searches";
const TENANT: &str = "/admin/v1/tenants/acme";
const WEEK: Duration = Duration::from_hours(7 * 24);

/// Eight people set at least three of the 64 bits.
const PEOPLE: usize = 8;

struct Counted {
    app: TestApp,
    acme: Application,
    operator: Caller,
    people: Vec<Caller>,
}

impl Counted {
    async fn start() -> Self {
        let (app, acme) = TestApp::start_with_acme().await;
        let names: Vec<String> = (0..PEOPLE).map(|number| format!("p{number}")).collect();
        let users: Vec<Value> = names.iter().map(|name| user(name, "")).collect();
        app.sync(&acme.caller, "users", &Value::from(users)).await;
        let mut people = Vec::new();
        for name in &names {
            people.push(app.user(&acme, name).await);
        }
        let operator = app.operator().await.caller.on("acme");
        operator.put(TENANT, &json!({"searchInsights": true})).await.ok();
        Self { app, acme, operator, people }
    }

    async fn report(&self, people: usize, search: &Value) {
        for person in &self.people[..people] {
            assert!(person.post(REPORT, search).await.ok().data().is_null());
        }
    }

    async fn insights(&self, weeks: i64) -> Value {
        self.operator.get(&format!("/admin/v1/insights?weeks={weeks}")).await.ok().data().clone()
    }
}

fn finished(keyword: &str, found: bool, opened: &Value) -> Value {
    json!({"keyword": keyword, "found": found, "opened": opened})
}

fn keywords(insights: &Value, list: &str) -> Vec<Value> {
    insights[list].as_array().unwrap().iter().map(|one| one["keyword"].clone()).collect()
}

#[tokio::test]
async fn searches_are_counted_by_normalized_keyword() {
    let all = Counted::start().await;
    let article = json!({"module": "article", "id": "a"});
    all.report(PEOPLE, &finished("Annual  leave", true, &Value::Null)).await;
    all.report(PEOPLE, &finished("ａｎｎｕａｌ LEAVE ", true, &article)).await;
    all.report(PEOPLE, &finished("harbuor", false, &Value::Null)).await;
    all.report(PEOPLE - 1, &finished("canteen", true, &Value::Null)).await;
    // An application without a person counts as a search of nobody.
    all.acme.caller.post(REPORT, &finished("canteen", true, &Value::Null)).await.ok();
    // A keyword that may name a person is left out.
    all.report(1, &finished("mei.chen@acme.example", true, &Value::Null)).await;

    let insights = all.insights(1).await;
    assert_eq!((&insights["enabled"], &insights["weeks"]), (&json!(true), &json!(1)));
    assert_eq!(keywords(&insights, "frequent"), ["annual leave", "canteen", "harbuor"]);
    let leave = &insights["frequent"][0];
    assert_eq!(
        (&leave["searches"], &leave["withoutResults"], &leave["openings"]),
        (&json!(2 * PEOPLE), &json!(0), &json!(PEOPLE))
    );
    assert!((3..=16).contains(&leave["people"].as_u64().unwrap()), "{leave}");
    assert_eq!(keywords(&insights, "withoutResults"), ["harbuor"]);
    assert_eq!(keywords(&insights, "neverOpened"), ["canteen"]);
    assert_eq!(all.app.number("SELECT COUNT(*) FROM insights").await, 3);
}

#[tokio::test]
async fn keywords_of_two_people_are_not_shown() {
    let all = Counted::start().await;
    for _ in 0..5 {
        all.report(2, &finished("mei is ill", true, &Value::Null)).await;
    }
    // The same two have other bits in other weeks.
    all.app.clock.pass(WEEK);
    all.report(2, &finished("mei is ill", true, &Value::Null)).await;
    let insights = all.insights(4).await;
    assert_eq!(insights["frequent"], json!([]), "{insights}");
}

#[tokio::test]
async fn counts_end_after_twelve_weeks_and_salts_after_one() {
    let all = Counted::start().await;
    all.report(PEOPLE, &finished("canteen", true, &Value::Null)).await;
    let salts = "SELECT COUNT(*) FROM insight_weeks WHERE salt IS NOT NULL";
    all.app.app.maintenance.make_round().await.unwrap();
    assert_eq!(all.app.number(salts).await, 1);
    all.app.clock.pass(WEEK);
    all.app.app.maintenance.make_round().await.unwrap();
    assert_eq!(all.app.number(salts).await, 0);
    assert_eq!(all.insights(1).await["frequent"], json!([]), "this week has none");
    assert_eq!(keywords(&all.insights(2).await, "frequent"), ["canteen"]);

    all.app.clock.pass(10 * WEEK);
    all.app.app.maintenance.make_round().await.unwrap();
    assert_eq!(keywords(&all.insights(12).await, "frequent"), ["canteen"]);
    all.app.clock.pass(WEEK);
    all.app.app.maintenance.make_round().await.unwrap();
    assert_eq!(all.insights(12).await["frequent"], json!([]));
    for table in ["insights", "insight_weeks"] {
        assert_eq!(all.app.count_rows(table).await, 0, "{table}");
    }
}

#[tokio::test]
async fn searches_of_a_disagreeing_tenant_are_not_kept() {
    let all = Counted::start().await;
    all.report(PEOPLE, &finished("canteen", true, &Value::Null)).await;
    all.operator.put(TENANT, &json!({"labelLimit": 3})).await.ok();
    assert_eq!(keywords(&all.insights(1).await, "frequent"), ["canteen"], "other settings keep it");

    all.operator.put(TENANT, &json!({"searchInsights": false})).await.ok();
    let insights = all.insights(1).await;
    assert_eq!((&insights["enabled"], &insights["frequent"]), (&json!(false), &json!([])));
    all.report(PEOPLE, &finished("canteen", true, &Value::Null)).await;
    for table in ["insights", "insight_weeks"] {
        assert_eq!(all.app.count_rows(table).await, 0, "{table}");
    }
    let audit = all.operator.get("/admin/v1/audit?objectKind=tenant&action=change").await.ok();
    let fields: Vec<&Value> = audit.items().iter().map(|event| &event["details"]["fields"]).collect();
    assert_eq!(fields, [&json!(["searchInsights"]), &json!(["labelLimit"]), &json!(["searchInsights"])]);

    let other = all.app.tenant("other").await;
    other.caller.post(REPORT, &finished("canteen", true, &Value::Null)).await.ok();
    assert_eq!(all.app.count_rows("insights").await, 0, "it is off by default");
}

#[tokio::test]
async fn ten_thousand_keywords_of_a_week_are_the_most() {
    let all = Counted::start().await;
    let rows = format!(
        "INSERT INTO insights (tenant_id, week, keyword, searches, without_results, openings, people) \
         WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 9999) \
         SELECT {}, {NEW_YEAR}, 'w' || n, 1, 0, 0, 1 FROM numbers",
        all.acme.tenant_id
    );
    all.app.execute(&rows).await;
    for keyword in ["last", "beyond", "w7"] {
        all.report(1, &finished(keyword, true, &Value::Null)).await;
    }
    assert_eq!(all.app.count_rows("insights").await, 10_000);
    let searches = "SELECT SUM(searches) FROM insights WHERE keyword IN ('last', 'beyond', 'w7')";
    assert_eq!(all.app.number(searches).await, 3);
}

#[tokio::test]
async fn wrong_report_is_refused_by_name() {
    let all = Counted::start().await;
    for (report, named) in [
        (json!({"found": true}), "keyword: is required"),
        (json!({"keyword": " ", "found": true}), "keyword: is required"),
        (json!({"keyword": 7, "found": true}), "keyword"),
        (json!({"keyword": "x"}), "found: is required"),
        (json!({"keyword": "x", "found": "yes"}), "found"),
        (json!({"keyword": "x", "found": true, "opened": {"module": "article"}}), "opened: must have"),
        (json!([]), "must be an object"),
    ] {
        all.people[0].post(REPORT, &report).await.fails(400, named);
    }
    for weeks in ["0", "13", "few"] {
        all.operator.get(&format!("/admin/v1/insights?weeks={weeks}")).await.fails(400, "weeks");
    }
    assert_eq!(all.app.count_rows("insights").await, 0);
}
