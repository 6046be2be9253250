//! `facets` of searches.

use serde_json::{Value, json};

use crate::util::{
    all_modules::{PATH, search_all},
    app::{Application, TestApp},
    caller::Caller,
    events::Events,
    external::ExternalSystem,
    items::{item, many, user},
};

const DAY: i64 = 86_400_000;
/// 2024-01-01, a Monday.
const MONDAY: i64 = 1_704_067_200_000;
const ALL: &str = "module,source,author,time";

fn by(author: &str, mut item: Value) -> Value {
    item["author"] = author.into();
    item
}

fn value(value: &str, count: u64) -> Value {
    json!({"value": value, "count": count})
}

async fn acme(app: &TestApp) -> Application {
    let acme = app.tenant("acme").await;
    app.sync(&acme.caller, "users", &json!([user("ann", ""), user("bob", "")])).await;
    let secret = |mut item: Value| {
        item["visibility"] = json!({"users": ["ann"]});
        item
    };
    let articles = [
        by("Noor", item("a1", "Harbour plan", MONDAY)),
        by("Noor", item("a2", "Harbour", MONDAY + DAY)),
        by("周海龙", secret(item("a3", "Harbour secrets", MONDAY + 2 * DAY))),
        by("Ida", item("a4", "Garden", MONDAY)),
    ];
    app.put_contents(&acme.caller, "article", &articles).await;
    app.put_contents(&acme.caller, "news", &[by("Ida", item("n1", "The harbour", MONDAY + 2 * DAY))]).await;
    acme
}

async fn facets(caller: &Caller, parameters: &[(&str, &str)]) -> Value {
    let answer =
        caller.search(&[&[("moduleId", "article"), ("facets", ALL)], parameters].concat()).await.ok();
    assert!(answer.body["facetsPartial"].is_boolean());
    answer.body["facets"].clone()
}

#[tokio::test]
async fn matches_of_a_module_are_counted_for_their_viewer() {
    let app = TestApp::start().await;
    let acme = acme(&app).await;
    let [ann, bob] = [app.user(&acme, "ann").await, app.user(&acme, "bob").await];
    for sort in ["time", "relevance"] {
        let counted = facets(&bob, &[("keyword", "harbour"), ("sort", sort)]).await;
        let expected = json!({
            "module": [value("article", 2)], "source": [value("builtin:article", 2)], "author": [value("Noor", 2)],
            "time": [value("2024-01-02", 1), value("2024-01-01", 1)],
        });
        assert_eq!(counted, expected);
        let counted = facets(&ann, &[("keyword", "harbour"), ("sort", sort), ("limit", "1")]).await;
        assert_eq!(counted["author"], json!([value("Noor", 2), value("周海龙", 1)]));
        assert_eq!(counted["time"][0], value("2024-01-03", 1));
        let filters = [("from", &*(MONDAY + DAY).to_string()), ("author", "noor")];
        let counted = facets(&ann, &[&[("keyword", "harbour"), ("sort", sort)][..], &filters].concat()).await;
        assert_eq!(counted["author"], json!([value("Noor", 1)]));
    }
    let nothing = facets(&ann, &[("keyword", "elephant"), ("exact", "true")]).await;
    assert_eq!(nothing, json!({"module": [], "source": [], "author": [], "time": []}));
}

#[tokio::test]
async fn search_without_facets_has_none() {
    let app = TestApp::start().await;
    let acme = acme(&app).await;
    for facets in [&[][..], &[("facets", "")]] {
        let parameters = [&[("keyword", "harbour")], facets].concat();
        let all = search_all(&acme.caller, &parameters).await.ok();
        let one = acme.caller.search(&[&parameters[..], &[("moduleId", "news")]].concat()).await.ok();
        for answer in [all, one] {
            assert_eq!([&answer.body["facets"], &answer.body["facetsPartial"]], [&Value::Null; 2]);
        }
    }
    let only_author = [("keyword", "harbour"), ("moduleId", "news"), ("facets", " author ")];
    let answer = acme.caller.search(&only_author).await.ok();
    assert_eq!(answer.body["facets"], json!({"author": [value("Ida", 1)]}));
    assert_eq!(answer.body["facetsPartial"], false);
}

#[tokio::test]
async fn unknown_facet_is_refused_by_name() {
    let app = TestApp::start().await;
    let acme = acme(&app).await;
    for path in ["/contents/search", PATH] {
        let body = json!({"keyword": "harbour", "moduleId": "article", "facets": "author,colour"});
        let allowed = "`module`, `source`, `author` and `time`";
        acme.caller
            .post(path, &body)
            .await
            .fails(400, &format!("facets: must be of {allowed}, not \"colour\""));
    }
}

#[tokio::test]
async fn periods_are_counted_in_the_time_zone() {
    let app = TestApp::start().await;
    let acme = app.tenant("acme").await;
    let hour = DAY / 24;
    let articles = [
        item("a1", "Harbour", MONDAY - 8 * hour - 1),
        item("a2", "Harbour", MONDAY - 8 * hour),
        item("a3", "Harbour", MONDAY + 16 * hour - 1),
        item("a4", "Harbour", MONDAY + 16 * hour),
    ];
    app.put_contents(&acme.caller, "article", &articles).await;
    let expected = json!([value("2024-01-02", 1), value("2024-01-01", 2), value("2023-12-31", 1)]);
    for zone in ["Asia/Shanghai", "asia/shanghai", "+08:00", "+08", "Etc/GMT-8"] {
        for sort in ["time", "relevance"] {
            let parameters = [("keyword", "harbour"), ("timeZone", zone), ("sort", sort)];
            assert_eq!(facets(&acme.caller, &parameters).await["time"], expected, "{zone}");
        }
    }
    // The day as `from` and `to` holds as many.
    let (from, to) = ((MONDAY - 8 * hour).to_string(), (MONDAY + 16 * hour).to_string());
    let day = [("keyword", "harbour"), ("moduleId", "article"), ("from", &*from), ("to", &*to)];
    assert_eq!(acme.caller.search(&day).await.ok().body["total"], 2);
    let body = json!({"keyword": "harbour", "facets": "time", "timeZone": "-05:00"});
    let all = acme.caller.post(PATH, &body).await.ok();
    let west = json!([value("2024-01-01", 2), value("2023-12-31", 2)]);
    assert_eq!(all.body["facets"]["time"], west);
    let utc = facets(&acme.caller, &[("keyword", "harbour"), ("timeZone", "")]).await;
    assert_eq!(utc["time"], json!([value("2024-01-01", 2), value("2023-12-31", 2)]));
    let none = acme.caller.get(&format!("{PATH}?keyword=harbour&facets=time&timeZone=+08:00")).await.ok();
    assert_eq!(none.body["facets"]["time"], expected);
    for wrong in ["Mars/Olympus", "CST", "08:00", "+25:00", "EST5EDT,M3.2.0,M11.1.0", "../UTC", "8"] {
        let parameters = [("keyword", "harbour"), ("moduleId", "article"), ("timeZone", wrong)];
        acme.caller.search(&parameters).await.fails(400, "timeZone: must be an IANA name");
    }
}

#[tokio::test]
async fn matches_of_all_modules_are_counted_together() {
    let app = TestApp::start().await;
    let acme = acme(&app).await;
    let bob = app.user(&acme, "bob").await;
    let parameters = [("keyword", "harbour"), ("facets", ALL), ("sort", "relevance")];
    let whole = search_all(&bob, &parameters).await.ok();
    let expected = json!({
        "module": [value("article", 2), value("news", 1)],
        "source": [value("builtin:article", 2), value("builtin:news", 1)],
        "author": [value("Noor", 2), value("Ida", 1)],
        "time": [value("2024-01-03", 1), value("2024-01-02", 1), value("2024-01-01", 1)],
    });
    assert_eq!(whole.body["facets"], expected);
    assert_eq!(whole.body["facetsPartial"], false);
    assert!(whole.items().iter().all(|entry| entry["facets"].is_null()));
    let (_, done) = Events::open(&bob, PATH, &parameters).await.read_to_end().await;
    assert_eq!([&done["facets"], &done["facetsPartial"]], [&expected, &Value::Bool(false)]);
}

#[tokio::test]
async fn matches_of_the_corrected_keyword_are_counted() {
    let app = TestApp::start().await;
    let acme = acme(&app).await;
    let parameters = [("keyword", "harbuor"), ("facets", "author")];
    let all = search_all(&acme.caller, &parameters).await.ok();
    assert_eq!(all.body["facets"]["author"], json!([value("Noor", 2), value("Ida", 1)]));
    let one = acme.caller.search(&[&parameters[..], &[("moduleId", "news")]].concat()).await.ok();
    assert_eq!(one.body["facets"]["author"], json!([value("Ida", 1)]));
}

#[tokio::test]
async fn external_source_counts_by_its_total() {
    let app = TestApp::start().await;
    let acme = acme(&app).await;
    let system = ExternalSystem::start(many("x", "harbour", 25, 3)).await;
    app.register_source(&acme, system.registration("x"), "both", &["builtin:news", "x"]).await;
    let parameters = [("keyword", "harbour"), ("moduleId", "both"), ("facets", ALL)];
    let answer = acme.caller.search(&parameters).await.ok();
    let facets = &answer.body["facets"];
    assert_eq!(facets["module"], json!([value("both", 26)]));
    assert_eq!(facets["source"], json!([value("x", 25), value("builtin:news", 1)]));
    assert_eq!(facets["author"], json!([value("Ida", 1)]));
    assert_eq!(answer.body["facetsPartial"], true);
    let builtin = acme.caller.search(&[&parameters[..], &[("source", "builtin:news")]].concat()).await.ok();
    assert_eq!(builtin.body["facetsPartial"], false);
    // Its items are counted once, whichever modules show them.
    let all = search_all(&acme.caller, &[("keyword", "harbour"), ("facets", "author")]).await.ok();
    assert_eq!(all.body["facets"]["author"], json!([value("Noor", 2), value("Ida", 1)]));
}
