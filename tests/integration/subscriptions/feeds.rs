//! Feeds: what becomes an item, when a feed is asked, and what becomes of its faults.

use std::{fs, io::Write, path::Path, time::Duration};

use flate2::{Compression, write::GzEncoder};
use reqwest::Method;
use serde_json::{Value, json};

use crate::util::{
    app::{Application, TestApp},
    caller::{Caller, send},
    database::write,
    external::with,
    feed_server::{FeedReply, FeedServer, ServedFeed},
    items::NEW_YEAR,
    program::write_script,
    subscriptions::{SUBSCRIPTIONS, counts, feed},
};

const DAY: Duration = Duration::from_hours(24);

/// Position of the last change.
const POSITION: &str = "SELECT position FROM change_log_end";

async fn start() -> (TestApp, Application, Caller, FeedServer) {
    let hosts = || (1..=3).map(|number| format!("127.0.0.{number}")).collect();
    let (app, acme) = TestApp::start_acme_with(|config| config.connectors.allow_http_hosts = hosts()).await;
    let operator = app.operator().await.caller.on("acme");
    (app, acme, operator, FeedServer::start().await)
}

fn error(shown: &Value) -> &str {
    assert_eq!(shown["lastRun"]["outcome"], "failed", "{shown}");
    shown["lastRun"]["error"].as_str().unwrap()
}

#[tokio::test]
async fn entries_of_each_format_become_items() {
    let (app, acme, operator, server) = start().await;
    let atom = r#"<feed xmlns="http://www.w3.org/2005/Atom"><id>f</id><title>F</title><updated>2024-01-01T00:00:00Z</updated>
        <entry><id>a</id><title>harbour atom</title><updated>2024-01-01T00:00:00Z</updated><author><name>Ann</name></author>
        <link href="https://example.org/a"/><summary>At the pier</summary></entry></feed>"#;
    let json = r#"{"version":"https://jsonfeed.org/version/1.1","title":"F","items":[{"id":"j","title":"harbour json"}]}"#;
    server.set_entries("/rss", &[("r", "harbour rss")]);
    server.reply_once("/rss", FeedReply::Gzip);
    server.reply_once("/atom", FeedReply::Body(atom.to_owned()));
    server.reply_once("/json", FeedReply::Body(json.to_owned()));
    for path in ["rss", "atom", "json"] {
        let shown = operator.subscribe(&feed(path, &server.url("127.0.0.1", &format!("/{path}")))).await;
        assert_eq!(counts(&shown), json!(["read", 1, 1, 0, 0, 0]), "{shown}");
        assert_eq!((&shown["items"], &shown["failures"]), (&json!(1), &json!(0)));
        assert_eq!(shown["nextRunAt"], json!(NEW_YEAR + 3_600_000));
    }
    assert_eq!(app.titles(&acme.caller, "harbour").await, ["harbour atom", "harbour json", "harbour rss"]);
    let item = operator.get("/admin/v1/contents/article/atom:a").await.ok();
    let item = item.data();
    assert_eq!((&item["author"], &item["brief"]), (&json!("Ann"), &json!("At the pier")));
    assert_eq!(item["displayTime"], json!(NEW_YEAR));
    assert!(item["action"].as_str().unwrap().contains("url=https://example.org/a"));
    assert!(server.requests()[0].user_agent.starts_with("trawl/"));
}

#[tokio::test]
async fn unchanged_feed_is_asked_conditionally_and_writes_no_item() {
    let (app, acme, operator, server) = start().await;
    for (path, has_times) in [("/tagged", false), ("/timed", true)] {
        server.set(path, ServedFeed { has_times, ..ServedFeed::default() });
        server.set_entries(path, &[("1", "harbour one"), ("2", "harbour two")]);
        let id = &path[1..];
        operator.subscribe(&feed(id, &server.url("127.0.0.1", path))).await;
        let position = app.number(POSITION).await;
        let again = operator.run_subscription(id).await;
        assert_eq!(counts(&again), json!(["unchanged", 0, 0, 0, 0, 0]));
        server.set_entries(path, &[("2", "harbour two"), ("3", "harbour three"), ("1", "harbour one")]);
        let more = operator.run_subscription(id).await;
        assert_eq!(counts(&more), json!(["read", 3, 1, 0, 0, 0]));
        assert_eq!(app.number(POSITION).await, position + 1, "one change");
        server.set_entries(path, &[("3", "harbour changed")]);
        let changed = operator.run_subscription(id).await;
        assert_eq!((counts(&changed), &changed["items"]), (json!(["read", 1, 0, 1, 0, 0]), &json!(3)));
    }
    let conditional: Vec<bool> = server.requests().iter().map(|request| request.is_conditional).collect();
    assert_eq!(conditional, [false, true, true, true, false, true, true, true]);
    let titles = app.titles(&acme.caller, "harbour").await;
    assert_eq!(titles.len(), 6, "{titles:?}");
}

#[tokio::test]
async fn runs_follow_the_interval_and_failures_the_backoff() {
    let (app, _, operator, server) = start().await;
    server.set_entries("/a", &[("1", "harbour")]);
    let url = server.url("127.0.0.1", "/a");
    operator.subscribe(&with(feed("a", &url), "intervalMinutes", 1)).await;
    for reply in
        [FeedReply::Status(500), FeedReply::Truncated, FeedReply::Body("<html>no feed</html>".into())]
    {
        server.reply_once("/a", reply);
    }
    let mut due = NEW_YEAR + 60_000;
    for failures in 1..=3 {
        let runs = operator.subscription("a").await["runs"].as_u64().unwrap();
        app.clock.pass(Duration::from_hours(1));
        app.app.subscriptions.wake();
        let shown = operator.wait_for_runs("a", runs + 1).await;
        assert!(!error(&shown).is_empty());
        assert_eq!(shown["failures"], json!(failures));
        let now = NEW_YEAR + failures * 3_600_000;
        due = shown["nextRunAt"].as_i64().unwrap() - now;
        let pause = 60_000 << (failures - 1);
        assert!((pause..=pause * 3 / 2).contains(&due), "{due} after {failures} failures");
    }
    assert!(due > 0);
    let shown = operator.run_subscription("a").await;
    assert_eq!((&shown["failures"], counts(&shown)), (&json!(0), json!(["unchanged", 0, 0, 0, 0, 0])));
    let metrics = operator.get("/metrics").await.text;
    for outcome in ["read", "unchanged", "failed"] {
        let counter = format!("trawl_subscription_runs_total{{outcome=\"{outcome}\"}} ");
        assert!(metrics.contains(&counter), "{metrics}");
    }
}

#[tokio::test]
async fn unchanged_entries_are_read_while_the_index_is_far_behind() {
    let (mut app, acme, operator, server) = start().await;
    // An index that is far behind delays a run with this many new entries.
    let texts: Vec<String> = (0..60).map(|number| format!("harbour {number}")).collect();
    let mut entries: Vec<(&str, &str)> = texts.iter().map(|text| (&**text, &**text)).collect();
    server.set_entries("/a", &entries);
    operator.subscribe(&feed("a", &server.url("127.0.0.1", "/a"))).await;
    app.stop_indexer().await;
    let changes = (0..21_000).map(|number| (acme.tenant_id, "article", format!("none-{number}"))).collect();
    write(&app.app.store, Vec::new(), changes).await;

    entries.reverse();
    server.set_entries("/a", &entries);
    let shown = operator.run_subscription("a").await;
    assert_eq!(counts(&shown), json!(["read", 60, 0, 0, 0, 0]), "{shown}");
    server.set_entries("/b", &entries);
    let shown = operator.subscribe(&feed("b", &server.url("127.0.0.1", "/b"))).await;
    assert!(error(&shown).contains("index is too far behind") && shown["failures"] == 1, "{shown}");
    let pause = shown["nextRunAt"].as_i64().unwrap() - NEW_YEAR;
    assert!((600_000..=900_000).contains(&pause), "{pause}");
}

#[tokio::test]
async fn host_that_asks_for_a_pause_gets_it_for_all_its_feeds() {
    let (app, _, operator, server) = start().await;
    for path in ["/a", "/b", "/c"] {
        server.set_entries(path, &[("1", "harbour")]);
    }
    server.reply_once("/a", FeedReply::Pause(503, "7200".into()));
    let shown = operator.subscribe(&feed("a", &server.url("127.0.0.2", "/a"))).await;
    assert!(error(&shown).contains("503"), "{shown}");
    assert_eq!(shown["nextRunAt"], json!(NEW_YEAR + 7_200_000));
    operator.post(SUBSCRIPTIONS, &feed("b", &server.url("127.0.0.2", "/b"))).await.ok();
    // The scheduler took both into account.
    operator.subscribe(&feed("c", &server.url("127.0.0.3", "/c"))).await;
    assert_eq!(server.requests().len(), 2);
    // Also after a start.
    let app = app.restart().await;
    let operator = app.operator().await.caller.on("acme");
    operator.run_subscription("c").await;
    assert_eq!(server.requests().len(), 3);
    assert_eq!(operator.subscription("b").await["runs"], json!(0));
    app.clock.pass(Duration::from_hours(2));
    app.app.subscriptions.wake();
    operator.wait_for_runs("b", 1).await;
    operator.wait_for_runs("a", 2).await;
}

#[tokio::test]
async fn pause_until_a_date_is_kept() {
    let (_app, _, operator, server) = start().await;
    let date = jiff::Timestamp::now() + Duration::from_hours(5);
    let date = jiff::fmt::rfc2822::DateTimePrinter::new().timestamp_to_rfc9110_string(&date).unwrap();
    server.reply_once("/a", FeedReply::Pause(429, date));
    let shown = operator.subscribe(&feed("a", &server.url("127.0.0.1", "/a"))).await;
    let pause = shown["nextRunAt"].as_i64().unwrap() - NEW_YEAR;
    assert!((4 * 3_600_000..=5 * 3_600_000).contains(&pause), "{pause}");
}

#[tokio::test]
async fn redirects_are_followed_to_permitted_addresses_only() {
    let (app, acme, operator, server) = start().await;
    server.set_entries("/target", &[("1", "harbour moved")]);
    server.set(
        "/a",
        ServedFeed {
            faults: (0..2).map(|_| FeedReply::Redirect(server.url("127.0.0.2", "/target"))).collect(),
            ..ServedFeed::default()
        },
    );
    let shown = operator.subscribe(&feed("a", &server.url("127.0.0.1", "/a"))).await;
    assert_eq!(counts(&shown), json!(["read", 1, 1, 0, 0, 0]), "{shown}");
    let again = operator.run_subscription("a").await;
    assert_eq!(counts(&again), json!(["unchanged", 0, 0, 0, 0, 0]));
    let asked: Vec<_> =
        server.requests().into_iter().map(|request| (request.path, request.is_conditional)).collect();
    let path = |path: &str, is_conditional| (path.to_owned(), is_conditional);
    assert_eq!(asked, [path("/a", false), path("/target", false), path("/a", false), path("/target", true)]);
    assert_eq!(app.titles(&acme.caller, "harbour").await, ["harbour moved"]);

    let targets = [
        "http://169.254.169.254/",
        "http://127.0.0.9/",
        "file:///etc/passwd",
        "http://[::1]/",
        "https://10.0.0.1:x/",
    ];
    for (number, target) in targets.into_iter().enumerate() {
        let (id, path) = (format!("bad{number}"), format!("/bad{number}"));
        server.reply_once(&path, FeedReply::Redirect(target.to_owned()));
        let shown = operator.subscribe(&feed(&id, &server.url("127.0.0.1", &path))).await;
        assert!(error(&shown).contains("redirect"), "{shown}");
    }
    // A permitted hop on the way lends its permission to no later one.
    server.reply_once("/first", FeedReply::Redirect(server.url("127.0.0.2", "/second")));
    server.reply_once("/second", FeedReply::Redirect("http://169.254.169.254/".to_owned()));
    let shown = operator.subscribe(&feed("chain", &server.url("127.0.0.1", "/first"))).await;
    assert!(error(&shown).contains("redirect"), "{shown}");
    let circle = FeedReply::Redirect(server.url("127.0.0.1", "/circle"));
    server.set(
        "/circle",
        ServedFeed { faults: std::iter::repeat_n(circle, 10).collect(), ..ServedFeed::default() },
    );
    let shown = operator.subscribe(&feed("circle", &server.url("127.0.0.1", "/circle"))).await;
    assert!(error(&shown).contains("more than 5 redirects"), "{shown}");
}

#[tokio::test]
async fn gone_feed_is_asked_again_by_an_operator_alone() {
    let (app, _, operator, server) = start().await;
    server.set_entries("/a", &[("1", "harbour")]);
    server.reply_once("/a", FeedReply::Status(410));
    let shown = operator.subscribe(&feed("a", &server.url("127.0.0.1", "/a"))).await;
    assert!(error(&shown).contains("410") && shown["nextRunAt"].is_null(), "{shown}");
    app.clock.pass(30 * DAY);
    let renamed = with(feed("a", &server.url("127.0.0.1", "/a")), "name", "News");
    let renamed = operator.put(&format!("{SUBSCRIPTIONS}/a"), &renamed).await.ok();
    assert!(renamed.data()["nextRunAt"].is_null(), "{}", renamed.text);
    app.app.subscriptions.wake();
    let shown = operator.run_subscription("a").await;
    assert_eq!((counts(&shown), &shown["runs"]), (json!(["read", 1, 1, 0, 0, 0]), &json!(2)));
    assert!(shown["nextRunAt"].is_i64());
}

#[tokio::test]
async fn wrong_entries_are_counted_and_named() {
    let (app, acme, operator, server) = start().await;
    let long = "quay ".repeat(1_000);
    let document = format!(
        "<rss version=\"2.0\"><channel><title>F</title><item><guid>long</guid><title>{long}</title></item>\
         <item><guid>script</guid><title>quay</title><link>javascript:x()</link></item>\
         <item><guid>empty</guid></item><item><guid>twice</guid><title>harbour old</title></item>\
         <item><guid>twice</guid><title>harbour new</title></item></channel></rss>"
    );
    server.reply_once("/a", FeedReply::Body(document));
    let shown = operator.subscribe(&feed("a", &server.url("127.0.0.1", "/a"))).await;
    assert_eq!(counts(&shown), json!(["read", 5, 3, 0, 0, 2]), "{shown}");
    let note = "parts of 1 entries are too long or unsafe, and were cut or left out";
    assert_eq!(shown["lastRun"]["notes"], json!([note]));
    let problems = shown["lastRun"]["problems"].as_array().unwrap();
    let ids: Vec<_> = problems.iter().map(|problem| problem["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["script", "empty"]);
    let reasons: Vec<_> = problems.iter().map(|problem| problem["reason"].as_str().unwrap()).collect();
    assert!(
        reasons[0].starts_with("entry 2 (line 1): action")
            && reasons[1].starts_with("entry 3 (line 1): title")
    );
    // Two entries of one id that say different things are two.
    assert_eq!(app.titles(&acme.caller, "harbour").await, ["harbour new", "harbour old"]);
}

#[tokio::test]
async fn charset_of_http_is_used_and_authors_are_whole() {
    let (app, acme, operator, server) = start().await;
    let feed_in_gbk = "<rss><channel><item><guid>1</guid><title>harbour 港口 R & D</title>\
        <author>lin@harbour.example（林）</author></item></channel></rss>";
    let gbk = encoding_rs::GBK.encode(feed_in_gbk).0.into_owned();
    server.reply_once("/a", FeedReply::Typed("text/xml; charset=GBK", gbk));
    let shown = operator.subscribe(&feed("a", &server.url("127.0.0.1", "/a"))).await;
    assert_eq!((counts(&shown), &shown["lastRun"]["notes"]), (json!(["read", 1, 1, 0, 0, 0]), &json!([])));
    let item = operator.get("/admin/v1/contents/article/a:1").await.ok();
    assert_eq!(item.data()["author"], "lin@harbour.example（林）");
    assert_eq!(app.titles(&acme.caller, "harbour").await, ["harbour 港口 R & D"]);
}

#[tokio::test]
async fn compressed_file_is_read_as_a_feed() {
    let (_app, _, operator, server) = start().await;
    let pack = |feed: &[u8]| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(feed).unwrap();
        encoder.finish().unwrap()
    };
    let feed_in_gzip =
        pack(b"<rss><channel><item><guid>1</guid><title>harbour</title></item></channel></rss>");
    server.reply_once("/a.gz", FeedReply::Typed("application/gzip", feed_in_gzip));
    let shown = operator.subscribe(&feed("a", &server.url("127.0.0.1", "/a.gz"))).await;
    assert_eq!(counts(&shown), json!(["read", 1, 1, 0, 0, 0]), "{shown}");
    server.reply_once("/a.gz", FeedReply::Typed("application/gzip", pack(&vec![b' '; (8 << 20) + 1])));
    let shown = operator.run_subscription("a").await;
    assert!(error(&shown).contains("8388608 bytes"), "{shown}");
}

#[tokio::test]
async fn entries_that_differ_in_time_alone_are_several() {
    let (app, acme, operator, server) = start().await;
    let item = |day: u32| {
        format!(
            "<item><guid>https://harbour.example/</guid><title>harbour</title><pubDate>2023-12-{day} 00:00</pubDate></item>"
        )
    };
    let serve = |days: &[u32]| {
        let items: String = days.iter().map(|day| item(*day)).collect();
        server.reply_once("/a", FeedReply::Body(format!("<rss><channel>{items}</channel></rss>")));
    };
    serve(&[12, 11, 11]);
    let shown = operator.subscribe(&feed("a", &server.url("127.0.0.1", "/a"))).await;
    assert_eq!(counts(&shown), json!(["read", 2, 2, 0, 0, 0]), "{shown}");
    assert_eq!(shown["lastRun"]["notes"], json!(["1 entries repeat others; the newest of each is kept"]));
    serve(&[13, 12, 11]);
    let shown = operator.run_subscription("a").await;
    assert_eq!(shown["items"], json!(3), "{shown}");
    let found = app.titles(&acme.caller, "harbour").await;
    assert_eq!(found.len(), 3, "{found:?}");
}

#[tokio::test]
async fn revisions_of_an_entry_in_one_feed_are_read_as_the_last() {
    let (app, acme, operator, server) = start().await;
    let entry = |day: u32, text: &str| {
        format!(
            "<entry><id>a</id><title>harbour</title><updated>2024-01-0{day}T00:00:00Z</updated>\
             <published>2024-01-01T00:00:00Z</published><summary>{text}</summary></entry>"
        )
    };
    let entries = entry(1, "at the pier") + &entry(2, "at the quay");
    let both =
        format!("<feed xmlns='http://www.w3.org/2005/Atom'><id>f</id><title>F</title>{entries}</feed>");
    server.reply_once("/a", FeedReply::Body(both.clone()));
    let shown = operator.subscribe(&feed("a", &server.url("127.0.0.1", "/a"))).await;
    assert_eq!(counts(&shown), json!(["read", 1, 1, 0, 0, 0]), "{shown}");
    assert_eq!(app.titles(&acme.caller, "quay").await, ["harbour"]);
    server.reply_once("/a", FeedReply::Body(both));
    let shown = operator.run_subscription("a").await;
    assert_eq!(counts(&shown), json!(["read", 1, 0, 0, 0, 0]), "{shown}");
}

#[tokio::test]
async fn feed_that_breaks_off_gives_its_entries_and_the_line() {
    let (app, acme, operator, server) = start().await;
    let item = |number: u32| format!("<item><guid>{number}</guid><title>harbour {number}</title></item>\n");
    let items: String = (1..=14).map(item).collect();
    server.reply_once("/a", FeedReply::Body(format!("<rss><channel>\n{items}<item><guid>15</guid><tit")));
    let shown = operator.subscribe(&feed("a", &server.url("127.0.0.1", "/a"))).await;
    assert_eq!(error(&shown), "the feed breaks off in line 16; 14 entries before that are whole");
    assert_eq!((counts(&shown), &shown["items"]), (json!(["failed", 14, 14, 0, 0, 0]), &json!(14)));
    assert_eq!(app.titles(&acme.caller, "harbour").await.len(), 14);
    let deep = format!("<rss><channel>\n<item><title>harbour</title>{}", "<media:group>".repeat(900));
    server.reply_once("/a", FeedReply::Body(deep));
    let shown = operator.run_subscription("a").await;
    assert_eq!(
        error(&shown),
        "the feed cannot be read: it must be nested at most 64 levels deep (line 2 is deeper)"
    );
}

/// An application whose contents are read by these lines of a shell, and its operator.
async fn start_with_reader(directory: &Path, lines: &str) -> (TestApp, Caller) {
    let reader = write_script(directory, "reader", lines);
    let (app, _) = TestApp::start_acme_with(|config| {
        config.connectors.allow_http_hosts = vec!["127.0.0.1".to_owned()];
        config.readers.program = Some(reader.clone());
    })
    .await;
    let operator = app.operator().await.caller.on("acme");
    (app, operator)
}

#[tokio::test]
async fn process_that_has_too_little_memory_for_a_feed_tells_so() {
    let directory = tempfile::tempdir().unwrap();
    let lines = format!("exec {} \"$1\" --memory-mib=16", env!("CARGO_BIN_EXE_trawl"));
    let (_app, operator) = start_with_reader(directory.path(), &lines).await;
    let server = FeedServer::start().await;
    let item = |number: u32| format!("<item><guid>{number}</guid><title>harbour</title></item>");
    let items: String = (0..100_000).map(item).collect();
    server.reply_once("/a", FeedReply::Body(format!("<rss><channel>{items}</channel></rss>")));
    let shown = operator.subscribe(&feed("a", &server.url("127.0.0.1", "/a"))).await;
    assert_eq!(error(&shown), "the feed cannot be read: reading it takes more memory than is allowed");
}

#[tokio::test]
async fn process_that_fails_on_a_feed_ends_its_run_alone() {
    let directory = tempfile::tempdir().unwrap();
    let off = directory.path().join("reader.off");
    let trawl = env!("CARGO_BIN_EXE_trawl");
    let lines = format!("[ -e {off:?} ] || kill -SEGV $$\nexec {trawl} \"$@\"");
    let (_app, operator) = start_with_reader(directory.path(), &lines).await;
    let server = FeedServer::start().await;
    server.set_entries("/a", &[("1", "harbour")]);
    let shown = operator.subscribe(&feed("a", &server.url("127.0.0.1", "/a"))).await;
    let reason = "its reader failed on it";
    assert_eq!(error(&shown), format!("the feed cannot be read: {reason}"));
    let request = operator.request(Method::POST, "/admin/v1/contents/article/import");
    let import =
        request.header("content-type", "application/octet-stream").body("{\"id\":1,\"title\":\"pier\"}");
    send(import).await.fails(400, reason);
    fs::write(off, "").unwrap();
    let shown = operator.run_subscription("a").await;
    assert_eq!(counts(&shown), json!(["read", 1, 1, 0, 0, 0]), "{shown}");
}

#[tokio::test]
async fn entries_of_unreadable_times_are_counted_and_are_no_news() {
    let (_app, _, operator, server) = start().await;
    let dates = ["Mo, 25 Jun 2018", "Jun 25, 2018", "2018-6-25", "25.06.2018 00:00", "in spring"];
    let items = dates.iter().enumerate().map(|(number, date)| {
        format!("<item><guid>{number}</guid><title>harbour</title><pubDate>{date}</pubDate></item>\n")
    });
    server.reply_once(
        "/a",
        FeedReply::Body(format!("<rss><channel>\n{}</channel></rss>", items.collect::<String>())),
    );
    let shown = operator.subscribe(&feed("a", &server.url("127.0.0.1", "/a"))).await;
    let run = &shown["lastRun"];
    assert_eq!((counts(&shown), &run["undated"]), (json!(["read", 5, 5, 0, 0, 0]), &json!(1)));
    let note = "entry 5 (line 6) stands as of 1970, as \"in spring\" is no time that can be read";
    assert_eq!(run["notes"], json!([note]));
    for (number, time) in [1_529_884_800_000_i64; 4].into_iter().chain([0]).enumerate() {
        let item = operator.get(&format!("/admin/v1/contents/article/a:{number}")).await.ok();
        assert_eq!(item.data()["displayTime"], json!(time), "{}", dates[number]);
    }
}

#[tokio::test]
async fn larger_answer_than_permitted_is_refused() {
    let (_app, _, operator, server) = start().await;
    server.reply_once("/a", FeedReply::Body("x".repeat((8 << 20) + 1)));
    let shown = operator.subscribe(&feed("a", &server.url("127.0.0.1", "/a"))).await;
    assert!(error(&shown).contains("8388608 bytes"), "{shown}");
}

#[tokio::test]
async fn old_items_are_removed_and_not_taken_again() {
    let (app, acme, operator, server) = start().await;
    let entry =
        |id: &str, date: &str| format!("<item><guid>{id}</guid><title>harbour {id}</title>{date}</item>");
    let dated = |date: &str| format!("<pubDate>{date}</pubDate>");
    let document = |more: &str| {
        format!(
            "<rss version=\"2.0\"><channel><title>F</title>{}{}{}{more}</channel></rss>",
            entry("old", &dated("Fri, 01 Dec 2023 00:00:00 GMT")),
            entry("new", &dated("Sun, 31 Dec 2023 00:00:00 GMT")),
            entry("undated", "")
        )
    };
    server.reply_once("/a", FeedReply::Body(document("")));
    let form = with(feed("a", &server.url("127.0.0.1", "/a")), "enabled", false);
    operator.post(SUBSCRIPTIONS, &with(form, "keepDays", 10)).await.ok();
    let shown = operator.run_subscription("a").await;
    assert_eq!((counts(&shown), &shown["items"]), (json!(["read", 3, 2, 0, 0, 0]), &json!(2)));

    app.clock.pass(11 * DAY);
    app.app.maintenance.make_round().await.unwrap();
    assert_eq!(app.titles(&acme.caller, "harbour").await, [] as [&str; 0]);
    assert_eq!(operator.subscription("a").await["items"], json!(0));
    server.reply_once("/a", FeedReply::Body(document(&entry("later", ""))));
    operator.run_subscription("a").await;
    assert_eq!(app.titles(&acme.caller, "harbour").await, ["harbour later"]);

    // Forgotten once the feed no longer holds it.
    server.set_entries("/a", &[("later", "harbour later")]);
    operator.run_subscription("a").await;
    server.set_entries("/a", &[("undated", "harbour undated")]);
    operator.run_subscription("a").await;
    assert_eq!(app.titles(&acme.caller, "harbour").await, ["harbour later", "harbour undated"]);
}

#[tokio::test]
async fn longer_time_brings_old_items_back() {
    let (app, acme, operator, server) = start().await;
    server.set_entries("/a", &[("1", "harbour")]);
    let form = with(feed("a", &server.url("127.0.0.1", "/a")), "enabled", false);
    operator.post(SUBSCRIPTIONS, &with(form.clone(), "keepDays", 10)).await.ok();
    operator.run_subscription("a").await;
    for kept in [json!(20), Value::Null] {
        app.clock.pass(15 * DAY);
        app.app.maintenance.make_round().await.unwrap();
        let shown = operator.run_subscription("a").await;
        assert_eq!((counts(&shown), &shown["items"]), (json!(["unchanged", 0, 0, 0, 0, 0]), &json!(0)));
        operator.put(&format!("{SUBSCRIPTIONS}/a"), &with(form.clone(), "keepDays", kept)).await.ok();
        let shown = operator.run_subscription("a").await;
        assert_eq!((counts(&shown), &shown["items"]), (json!(["read", 1, 1, 0, 0, 0]), &json!(1)));
    }
    assert_eq!(app.titles(&acme.caller, "harbour").await, ["harbour"]);
    let conditional: Vec<bool> = server.requests().iter().map(|request| request.is_conditional).collect();
    assert_eq!(conditional, [false, true, false, true, false]);
}
