//! Cached positions of external sources by time.

use crate::util::{
    answer::Answer,
    app::{Application, TestApp},
    external::{ExternalSystem, Reply},
    items::{NEW_YEAR, item, many},
    paging::{ids_of, walk_by_time},
};

const ALL: [(&str, &str); 2] = [("keyword", "harbour"), ("moduleId", "all")];
/// Items with distinct times; the system's pages hold ten.
const ITEMS: usize = 95;
const PAGES: usize = 10;

async fn start(system: &ExternalSystem, source_pages: usize) -> (TestApp, Application) {
    let app = TestApp::start_with(|config| {
        config.cache.stale_ms = 3_600_000;
        config.search.source_pages = source_pages;
    })
    .await;
    let acme = app.tenant("acme").await;
    app.register_source(&acme, system.registration("x"), "all", &["x"]).await;
    (app, acme)
}

async fn before(acme: &Application, time: &str) -> Answer {
    acme.caller.search(&[ALL[0], ALL[1], ("limit", "10"), ("cursor", time)]).await.ok()
}

fn last_time(page: &Answer) -> String {
    page.items().last().unwrap()["displayTime"].to_string()
}

fn all_ids() -> Vec<String> {
    ids_of(&many("x", "harbour", ITEMS, 1))
}

/// One search cannot read the pages before the last times.
#[tokio::test]
async fn walk_by_time_reads_each_page_a_few_times() {
    let system = ExternalSystem::start(many("x", "harbour", ITEMS, 1)).await;
    let (_app, acme) = start(&system, 3).await;
    walk_by_time(&acme.caller, &ALL, 10).await.assert_met(all_ids());
    let asked = system.requests().len();
    assert!(asked <= 4 * PAGES, "{asked} calls for {PAGES} pages");
    walk_by_time(&acme.caller, &ALL, 10).await.assert_met(all_ids());
    assert!(system.requests().len() - asked <= 4 * PAGES, "{} calls", system.requests().len() - asked);
}

/// The system's cursors are offsets: changes before a page shift it.
#[tokio::test]
async fn items_that_come_and_go_between_pages_lose_nothing() {
    let system = ExternalSystem::start(many("x", "harbour", ITEMS, 1)).await;
    let (_app, acme) = start(&system, 50).await;
    let expected = all_ids();
    let mut page = before(&acme, &(NEW_YEAR + 1).to_string()).await;
    let mut met = page.ids().iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
    for turn in 0.. {
        // Ten items disappear or seven appear, in turn.
        match turn % 3 {
            0 => system.remove_first(10),
            1 => (0..7).for_each(|number| {
                system.put_first(item(&format!("new-{turn}-{number}"), "harbour", NEW_YEAR + 1_000));
            }),
            _ => {}
        }
        page = before(&acme, &last_time(&page)).await;
        if page.ids().is_empty() {
            break;
        }
        assert_eq!(page.body["partial"], false, "{}", page.text);
        met.extend(page.ids().iter().map(|id| (*id).to_owned()));
    }
    assert_eq!(met, expected);
}

#[tokio::test]
async fn stale_position_is_no_failure() {
    let system = ExternalSystem::start(many("x", "harbour", ITEMS, 1)).await;
    let (_app, acme) = start(&system, 50).await;
    let first = before(&acme, &(NEW_YEAR + 1).to_string()).await;
    let second = before(&acme, &last_time(&first)).await;
    let time = last_time(&second);
    let expected = before(&acme, &time).await;
    before(&acme, &time).await;
    // A cached position was used: no first page was asked for.
    let asked = system.requests();
    let began = asked.iter().rposition(|asked| asked.cursor.is_empty()).unwrap();
    assert!(began < asked.len() - 3, "{asked:?}");
    for reply in [Reply::Status(400), Reply::Status(500), Reply::Body("no page".to_owned())] {
        system.set_reply_at_next_cursor(reply.clone());
        let again = before(&acme, &time).await;
        assert_eq!(again.ids(), expected.ids(), "{reply:?}: {}", again.text);
        assert_eq!(again.source("x")["status"], "ok", "{reply:?}");
        // The walk from the beginning has cached it.
        before(&acme, &time).await;
    }
}

/// Guessed positions do not count.
#[tokio::test]
async fn failing_positions_do_not_suspend_the_source() {
    let system = ExternalSystem::start(many("x", "harbour", ITEMS, 1)).await;
    let (_app, acme) = start(&system, 50).await;
    let mut page = before(&acme, &(NEW_YEAR + 1).to_string()).await;
    for _ in 0..6 {
        page = before(&acme, &last_time(&page)).await;
        system.set_reply_at_next_cursor(Reply::Status(500));
    }
    assert_eq!(page.source("x")["status"], "ok", "{}", page.text);
    assert_eq!(page.ids().len(), 10);
}
