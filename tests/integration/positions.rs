//! Pages by time of an external source go on where earlier searches saw the time, and lose nothing where that was wrong
//! (decisions 5.3).

use crate::util::{
    answer::Answer,
    app::{Application, TestApp},
    external::{ExternalSystem, Mood},
    items::{NEW_YEAR, item, many},
    paging::walk_by_time,
};

const ALL: [(&str, &str); 2] = [("keyword", "harbour"), ("moduleId", "all")];
/// Items of the system, which sends ten in a page, each of a time of its own.
const ITEMS: usize = 95;
const PAGES: usize = 10;

/// A tenant that searches the system in the module `all`; positions are kept, and no answer is used again.
async fn start(system: &ExternalSystem, source_pages: usize) -> (TestApp, Application) {
    let app = TestApp::start_with(|config| {
        config.cache.stale_ms = 3_600_000;
        config.search.source_pages = source_pages;
    })
    .await;
    let acme = app.tenant("acme").await;
    app.show(&acme, system.registration("x"), "all", &["x"]).await;
    (app, acme)
}

/// A page of ten items below a time.
async fn before(acme: &Application, time: &str) -> Answer {
    acme.caller.search(&[ALL[0], ALL[1], ("limit", "10"), ("cursor", time)]).await.ok()
}

fn last_time(page: &Answer) -> String {
    page.items().last().unwrap()["displayTime"].to_string()
}

fn all_ids() -> Vec<String> {
    many("x", "harbour", ITEMS, 1).iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect()
}

/// The pages before a time would be more than one search reads.
#[tokio::test]
async fn a_walk_by_time_reads_each_page_a_few_times_and_reaches_the_end() {
    let system = ExternalSystem::start(many("x", "harbour", ITEMS, 1)).await;
    let (_app, acme) = start(&system, 3).await;
    walk_by_time(&acme.caller, &ALL, 10).await.met(all_ids());
    let asked = system.asked().len();
    assert!(asked <= 4 * PAGES, "{asked} calls for {PAGES} pages");
    // Another walk begins each page where the first one saw it.
    walk_by_time(&acme.caller, &ALL, 10).await.met(all_ids());
    assert!(system.asked().len() - asked <= 4 * PAGES, "{} calls", system.asked().len() - asked);
}

#[tokio::test]
async fn without_a_position_the_pages_are_read_from_the_beginning_and_the_bound_is_told() {
    let system = ExternalSystem::start(many("x", "harbour", ITEMS, 1)).await;
    let (_app, acme) = start(&system, 3).await;
    let page = before(&acme, &(NEW_YEAR - 60).to_string()).await;
    assert_eq!((page.ids().len(), &page.body["partial"]), (0, &true.into()), "{}", page.text);
}

/// Cursors of this system count: what is removed or added before a page shifts it.
#[tokio::test]
async fn items_that_come_and_go_between_two_pages_make_it_lose_nothing() {
    let system = ExternalSystem::start(many("x", "harbour", ITEMS, 1)).await;
    let (_app, acme) = start(&system, 50).await;
    let expected = all_ids();
    let mut page = before(&acme, &(NEW_YEAR + 1).to_string()).await;
    let mut met = page.ids().iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
    for turn in 0.. {
        // Now ten items fewer are before the next page, now seven more.
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
async fn a_position_whose_cursor_leads_nowhere_by_now_is_no_failure() {
    let system = ExternalSystem::start(many("x", "harbour", ITEMS, 1)).await;
    let (_app, acme) = start(&system, 50).await;
    let first = before(&acme, &(NEW_YEAR + 1).to_string()).await;
    let second = before(&acme, &last_time(&first)).await;
    let time = last_time(&second);
    let expected = before(&acme, &time).await;
    before(&acme, &time).await;
    // A position was used: the last search began with no first page.
    let asked = system.asked();
    let began = asked.iter().rposition(|asked| asked.cursor.is_empty()).unwrap();
    assert!(began < asked.len() - 3, "{asked:?}");
    for mood in [Mood::Status(400), Mood::Status(500), Mood::Body("no page".to_owned())] {
        system.set_mood_at_next_cursor(mood.clone());
        let again = before(&acme, &time).await;
        assert_eq!(again.ids(), expected.ids(), "{mood:?}: {}", again.text);
        assert_eq!(again.source("x")["status"], "ok", "{mood:?}");
        // The walk from the beginning has seen it anew.
        before(&acme, &time).await;
    }
}

/// What a guess met says nothing of the source.
#[tokio::test]
async fn positions_whose_cursors_fail_suspend_no_source() {
    let system = ExternalSystem::start(many("x", "harbour", ITEMS, 1)).await;
    let (_app, acme) = start(&system, 50).await;
    let mut page = before(&acme, &(NEW_YEAR + 1).to_string()).await;
    for _ in 0..6 {
        page = before(&acme, &last_time(&page)).await;
        system.set_mood_at_next_cursor(Mood::Status(500));
    }
    assert_eq!(page.source("x")["status"], "ok", "{}", page.text);
    assert_eq!(page.ids().len(), 10);
}
