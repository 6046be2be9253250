//! Many feeds with faults, read by a server that is killed in between.
//!
//! `KILL_SEED` repeats the choice of kills.

use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    time::{Duration, Instant},
};

use fastrand::Rng;
use futures::{StreamExt, stream};
use serde_json::{Value, json};

use crate::util::{
    caller::Caller,
    eventually,
    feed_server::{FeedReply, FeedRequest, FeedServer, ServedFeed},
    paging::page_after,
    program::{Server, create_operator, create_with_scopes, own_address},
    sizes::size,
    subscriptions::{SUBSCRIPTIONS, feed},
};

const HOSTS: usize = 25;
/// The limit `subscriptions.at_once`.
const AT_ONCE: usize = 8;
const PAUSE: Duration = Duration::from_secs(1);
/// A pause answered this close to a kill may not have been written.
///
/// The killed server may have sent its request before, and the answer came after.
const UNWRITTEN: Duration = Duration::from_secs(1);
/// Clocks count milliseconds.
const TICK: Duration = Duration::from_millis(2);

fn host(number: usize) -> String {
    format!("127.0.0.{}", 2 + number % HOSTS)
}

fn path(number: usize) -> String {
    format!("/feeds/{number}")
}

fn entry(feed: usize, place: usize) -> (String, String) {
    (format!("{feed}-{place}"), format!("harbour {feed} at {place}"))
}

fn served(server: &FeedServer, number: usize) -> ServedFeed {
    let faults = match number % 10 {
        1 => vec![FeedReply::Status(500)],
        // Few, since a host rests for all its feeds.
        2 if number % 20 == 2 => vec![FeedReply::Pause(503, PAUSE.as_secs().to_string())],
        3 => vec![FeedReply::Slow(Duration::from_millis(50))],
        4 => vec![FeedReply::Truncated],
        5 => vec![FeedReply::Redirect(server.url(&host(number + 7), &path(number)))],
        6 => vec![FeedReply::Gzip, FeedReply::Status(404)],
        _ => Vec::new(),
    };
    let mut entries: Vec<_> = (0..3).map(|place| entry(number, place)).collect();
    if number % 10 == 7 {
        entries.push(entry(number, 0));
    }
    ServedFeed { entries, faults: faults.into(), has_times: number.is_multiple_of(2) }
}

/// A changed feed lost its oldest entry, has a new one, and another order.
fn is_changed(number: usize) -> bool {
    number.is_multiple_of(3)
}

/// A server that is killed and started again at its address.
struct Killed<'a> {
    data: &'a Path,
    address: String,
    server: Option<Server>,
    kills: Vec<Instant>,
}

impl Killed<'_> {
    async fn kill(&mut self) {
        self.kills.push(Instant::now());
        self.server.take().unwrap().kill();
        self.server = Some(Server::start_at(self.data, &self.address, &[]).await);
    }
}

async fn list(operator: &Caller) -> Vec<Value> {
    operator.get(SUBSCRIPTIONS).await.ok().items().to_vec()
}

async fn run_each(operator: &Caller, ids: impl IntoIterator<Item = String>) {
    let run = async |id: String| {
        operator.post_empty(&format!("{SUBSCRIPTIONS}/{id}/run")).await.ok();
    };
    stream::iter(ids).for_each_concurrent(16, run).await;
}

/// Waits until a random number of feeds is asked again.
async fn wait_for_some(feeds: &FeedServer, operator: &Caller, random: &mut Rng, least: impl Fn(&str) -> u64) {
    let requests = feeds.requests().len() + random.usize(1..number_of_feeds() / 10);
    eventually("some feeds to be asked", async || {
        let has_run = |shown: &Value| shown["runs"].as_u64().unwrap() >= least(shown["id"].as_str().unwrap());
        (feeds.requests().len() >= requests || list(operator).await.iter().all(has_run)).then_some(())
    })
    .await;
}

/// Runs failed subscriptions until each has as many runs as `least` says and none has failed.
async fn run_until_read(operator: &Caller, least: impl Fn(&str) -> u64) {
    let mut asked = BTreeSet::new();
    eventually("every feed to be read", async || {
        let (mut failed, mut is_over) = (Vec::new(), true);
        for shown in list(operator).await {
            let (id, runs) = (shown["id"].as_str().unwrap().to_owned(), shown["runs"].as_u64().unwrap());
            let has_failed = shown["lastRun"]["outcome"] == "failed";
            is_over &= !has_failed && runs >= least(&id);
            // Once for each failed run.
            if has_failed && asked.insert((id.clone(), runs)) {
                failed.push(id);
            }
        }
        run_each(operator, failed).await;
        is_over.then_some(())
    })
    .await;
}

async fn titles(caller: &Caller) -> Vec<String> {
    let (mut titles, mut cursor) = (Vec::new(), None::<String>);
    loop {
        let parameters = [("keyword", "harbour"), ("moduleId", "article")];
        let page = page_after(caller, &parameters, 1_000, cursor.as_deref()).await;
        titles.extend(page.items().iter().map(|item| item["title"].as_str().unwrap().to_owned()));
        cursor = page.cursor();
        if cursor.is_none() {
            titles.sort();
            return titles;
        }
    }
}

fn number_of_feeds() -> usize {
    size(80, 1_000)
}

fn assert_polite(requests: &[FeedRequest], kills: &[Instant]) {
    for (number, request) in requests.iter().enumerate() {
        let Some(seconds) = request.retry_after else { continue };
        let is_unwritten = kills.iter().any(|kill| request.at.max(*kill) - request.at.min(*kill) < UNWRITTEN);
        let next = requests[number + 1..].iter().find(|next| next.host == request.host);
        assert!(
            is_unwritten
                || next.is_none_or(|next| next.at + TICK >= request.at + Duration::from_secs(seconds)),
            "{request:?} is followed by {next:?}"
        );
    }
    let (mut read, mut unconditional) = (BTreeSet::new(), 0);
    for request in requests {
        let place = (&request.host, &request.path);
        unconditional += usize::from(read.contains(&place) && !request.is_conditional);
        if request.status == 200 && !request.is_faulty {
            read.insert(place);
        }
    }
    // A run that was cut off left no validators.
    let most = kills.len() * AT_ONCE;
    assert!(unconditional <= most, "{unconditional} requests without a condition, {most} are expected");
    assert!(requests.iter().filter(|request| request.status == 304).count() >= number_of_feeds() / 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn faulty_feeds_are_read_once_each_despite_kills() {
    let seed = std::env::var("KILL_SEED").map_or_else(|_| fastrand::u64(..), |seed| seed.parse().unwrap());
    eprintln!("KILL_SEED={seed}");
    let mut random = Rng::with_seed(seed);
    let feeds = FeedServer::start().await;
    for number in 0..number_of_feeds() {
        feeds.set(&path(number), served(&feeds, number));
    }
    let directory = tempfile::tempdir().unwrap();
    let hosts: Vec<String> = (0..HOSTS).map(host).collect();
    let settings = format!("[connectors]\nallow_http_hosts = {}\n", json!(hosts));
    fs::write(directory.path().join("trawl.toml"), settings).unwrap();
    let address = own_address();
    let server = Server::start_at(directory.path(), &address, &[]).await;
    let mut killed = Killed { data: directory.path(), address, server: Some(server), kills: Vec::new() };
    let reader = create_with_scopes(directory.path(), "acme", &["contents:read"]).await;
    let operator = create_operator(directory.path(), "operations").await;
    let server = killed.server.as_ref().unwrap();
    let reader = server.caller(&reader).await;
    let operator = server.caller(&operator).await.on("acme");

    let subscribe = async |number: usize| {
        let form = feed(&format!("s{number}"), &feeds.url(&host(number), &path(number)));
        operator.post(SUBSCRIPTIONS, &form).await.ok();
    };
    stream::iter(0..number_of_feeds()).for_each_concurrent(16, subscribe).await;
    for _ in 0..2 {
        wait_for_some(&feeds, &operator, &mut random, |_| 1).await;
        killed.kill().await;
    }
    run_until_read(&operator, |_| 1).await;

    for number in (0..number_of_feeds()).filter(|number| is_changed(*number)) {
        feeds.change(&path(number), |feed| {
            feed.entries.dedup();
            feed.entries.remove(0);
            feed.entries.insert(0, entry(number, 3));
            feed.entries.reverse();
        });
    }
    let before = list(&operator).await;
    let before: std::collections::HashMap<String, u64> = before
        .iter()
        .map(|shown| (shown["id"].as_str().unwrap().to_owned(), shown["runs"].as_u64().unwrap()))
        .collect();
    run_each(&operator, before.keys().cloned()).await;
    wait_for_some(&feeds, &operator, &mut random, |id| before[id] + 1).await;
    killed.kill().await;
    run_until_read(&operator, |id| before[id] + 1).await;

    killed.server.as_ref().unwrap().wait_for_index().await;
    let mut expected: Vec<String> = (0..number_of_feeds())
        .flat_map(|number| {
            (0..if is_changed(number) { 4 } else { 3 }).map(move |place| entry(number, place).1)
        })
        .collect();
    expected.sort();
    let found = titles(&reader).await;
    assert_eq!(found.len(), expected.len());
    assert_eq!(found, expected);
    let items: u64 = list(&operator).await.iter().map(|shown| shown["items"].as_u64().unwrap()).sum();
    assert_eq!(items, expected.len() as u64);
    assert_eq!(feeds.most_open(), 1, "requests to one host at a time");
    assert_polite(&feeds.requests(), &killed.kills);
}
