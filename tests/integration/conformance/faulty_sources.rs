//! Every faulty source of the connectors' zoo beside a healthy one.

use std::collections::HashSet;
use std::time::Duration;

use crate::util::{
    TIMEOUT,
    answer::Answer,
    app::{Application, TestApp, disable_suspension},
    external::auth,
    zoo::{self as sources, Fault, KEYWORD, Rows, Running},
};
use futures::{StreamExt, stream};
use serde_json::{Value, json};
use trawl_connectors::{
    AddressRules, Authentication, DEFAULT_MAX_BODY_BYTES, Method, Question, SourceClient, SourceSettings,
};

/// Long enough for a busy machine.
const SOURCE_TIMEOUT: Duration = Duration::from_secs(5);
const LONGEST: Duration = Duration::from_secs(10);
const AT_ONCE: usize = 16;
/// Several source pages, so that faults between pages show.
const LIMIT: &str = "50";
/// A walk of more pages counts as endless.
const MAX_PAGES: usize = 12;
const ITEMS: usize = 57;

#[tokio::test]
async fn every_fault_is_named_and_spares_the_healthy_source() {
    let app = TestApp::start_with(|config| {
        config.search.source_pages = 20;
        // Every page's report is checked.
        disable_suspension(config);
    })
    .await;
    let acme = app.tenant("acme").await;
    let healthy = sources::start_healthy().await;
    let operator = app.operator().await.caller.on("acme");
    let beside = registration("healthy", &healthy, Method::Get, LONGEST);
    operator.register_source(&beside, "healthy", &["healthy"]).await;
    let faults = sources::faults();
    let methods = [Method::Get, Method::Post].into_iter().cycle();
    let mut zoo = Vec::with_capacity(faults.len());
    for (fault, method) in faults.iter().zip(methods) {
        let running = sources::start(fault).await;
        let registration = registration(fault.name, &running, method, SOURCE_TIMEOUT);
        operator.register_source(&registration, fault.name, &["healthy", fault.name]).await;
        zoo.push((fault, method, running));
    }
    let directly = client(&healthy);
    let meetings = zoo.iter().map(async |(fault, method, _)| {
        let met = meet(&acme, &directly, fault).await;
        met.err().map(|said| format!("{fault}, by {method:?}\n    {said}"))
    });
    let failed: Vec<String> =
        stream::iter(meetings).buffer_unordered(AT_ONCE).filter_map(std::future::ready).collect().await;
    assert!(failed.is_empty(), "{} of {}:\n{}", failed.len(), faults.len(), failed.join("\n"));

    let answer = search(&acme, "healthy", KEYWORD, None).await.ok();
    assert_eq!((answer.items().len(), answer.total()), (50, 57), "{}", answer.text);
    assert_eq!(answer.source("healthy")["status"], "ok", "{}", answer.text);
}

#[derive(Debug, Default)]
struct Walk {
    healthy: Vec<String>,
    faulty: Vec<String>,
    reports: Vec<Value>,
}

async fn meet(acme: &Application, healthy: &SourceClient, fault: &Fault) -> Result<(), String> {
    let expected = ids_of(healthy, &fault.keyword).await;
    let walk = walk(acme, fault, expected.len()).await?;
    if walk.healthy != expected {
        return Err(format!("of the healthy source's items came {:?}, not {expected:?}", walk.healthy));
    }
    check_reports(fault, &walk.reports)?;
    let shown: HashSet<&String> = walk.faulty.iter().collect();
    let is_as_it_should_be = match fault.rows {
        // A source that finds too much may show it.
        Rows::All => (expected.len().max(1)..=ITEMS).contains(&shown.len()),
        Rows::Some => (1..ITEMS).contains(&shown.len()),
        Rows::None => shown.is_empty(),
    };
    if is_as_it_should_be { Ok(()) } else { Err(format!("{} of its items were shown", shown.len())) }
}

async fn walk(acme: &Application, fault: &Fault, healthy_items: usize) -> Result<Walk, String> {
    let mut walk = Walk::default();
    let mut cursor = None;
    for _ in 0..MAX_PAGES {
        let answer = search(acme, fault.name, &fault.keyword, cursor.as_deref()).await;
        walk.reports.push(answer.source(fault.name).clone());
        if answer.status != 200 {
            return Err(format!("HTTP {}: {}", answer.status, answer.text));
        }
        let answer = answer.ok();
        if answer.source("healthy")["status"] != "ok" {
            return Err(format!("the healthy source: {}", answer.source("healthy")));
        }
        let (healthy, faulty): (Vec<&str>, Vec<&str>) =
            answer.ids().into_iter().partition(|id| id.starts_with("healthy-"));
        // A failed source always has a next page: it may recover.
        let is_all_there_is = walk.healthy.len() + healthy.len() == healthy_items && faulty.is_empty();
        walk.healthy.extend(healthy.into_iter().map(str::to_owned));
        walk.faulty.extend(faulty.into_iter().map(str::to_owned));
        cursor = answer.cursor();
        if cursor.is_none() || is_all_there_is {
            return Ok(walk);
        }
    }
    Err(format!("no end after {MAX_PAGES} pages: {:?}", walk.reports.last()))
}

fn check_reports(fault: &Fault, reports: &[Value]) -> Result<(), String> {
    let is_clean = |report: &&Value| report["status"] == "ok" && report["message"].is_null();
    let said = reports.iter().find(|report| !is_clean(report));
    let is_as_it_should_be = match (fault.message, said) {
        (None, said) => said.is_none(),
        (Some(_), None) => false,
        (Some(message), Some(said)) => {
            said["status"] == fault.status
                && said["message"].as_str().is_some_and(|said| said.contains(message))
                && reports.iter().all(|report| report["status"] == fault.status || report["status"] == "ok")
        }
    };
    if is_as_it_should_be { Ok(()) } else { Err(format!("was reported as {reports:?}")) }
}

async fn search(acme: &Application, module: &str, keyword: &str, cursor: Option<&str>) -> Answer {
    let mut parameters =
        vec![("moduleId", module), ("keyword", keyword), ("limit", LIMIT), ("paging", "cursor")];
    parameters.extend(cursor.map(|cursor| ("cursor", cursor)));
    acme.caller.search(&parameters).await
}

fn client(running: &Running) -> SourceClient {
    let settings = SourceSettings {
        url: running.url.clone(),
        method: Method::Post,
        mapping: None,
        authentication: Authentication::OAuth2Client(running.credentials()),
        identity: None,
        timeout: TIMEOUT,
        max_concurrency: AT_ONCE,
        max_body_bytes: DEFAULT_MAX_BODY_BYTES,
    };
    let rules = AddressRules::allowing([&running.url, &running.token_url]);
    SourceClient::new(settings, &rules).unwrap()
}

async fn ids_of(source: &SourceClient, keyword: &str) -> Vec<String> {
    let answer = source.search(&Question { keyword, limit: 100, cursor: None, person: None }).await.unwrap();
    assert_eq!(answer.cursor, None, "there must be several pages");
    answer.items.into_iter().map(|item| item.id).collect()
}

fn registration(id: &str, running: &Running, method: Method, timeout: Duration) -> Value {
    json!({
        "id": id, "name": id, "url": running.url, "method": method.name(), "auth": auth(&running.credentials()),
        "timeoutMs": timeout.as_millis(), "pageSize": 10,
    })
}
