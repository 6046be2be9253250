//! Lines of the log (book: how-to/monitor.md).

use std::fs;

use serde_json::{Value, json};

use crate::util::{
    external::with,
    items::user,
    login::{Browser, location},
    program::{Server, create_application},
};

#[tokio::test]
async fn json_line_has_a_utc_time_and_keeps_hostile_text_in_its_field() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path();
    fs::write(data.join("trawl.toml"), "[log]\nformat = \"json\"\n").unwrap();
    let server = Server::start(data).await;
    let acme = server.caller(&create_application(data, "acme").await).await;
    let hostile = "mei\"}, \"level\": \"ERROR\u{2028}";
    acme.put("/v1/users/sync", &json!([with(user("mei", ""), "userId", hostile)])).await.ok();
    let mut browser = Browser::new(&server.base);
    let page = location(&browser.follow(&format!("{}/session/start?to=/", server.base)).await);
    let page = browser.follow(page.as_str()).await;
    assert_eq!(browser.submit(&page, "mei", "wrong").await.status, 403);
    let log = server.log();
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for line in &lines {
        let time = line["timestamp"].as_str().unwrap();
        assert!(time.ends_with('Z') && time.parse::<jiff::Timestamp>().is_ok(), "{line}");
    }
    let failed = lines.iter().find(|line| line["fields"]["message"] == "a login failed").unwrap();
    assert_eq!([&failed["fields"]["user_id"], &failed["level"]], [&json!(hostile), &json!("WARN")]);
}
