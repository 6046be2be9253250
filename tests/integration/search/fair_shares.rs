//! Fair shares of the work on the index.

use futures::{StreamExt, stream::FuturesUnordered};
use serde_json::json;

use crate::util::{app::TestApp, caller::Caller, items::NEW_YEAR, opensearch};

const QUEUED: usize = 60;

/// 250 ideographs, beginning with another one for each number.
fn ideographs(number: usize) -> String {
    let all = || '\u{4e00}'..;
    all().skip(number).take(250 - number).chain(all().take(number)).collect()
}

async fn search(caller: &Caller, number: usize) {
    let found = caller.search(&[("keyword", &ideographs(number)), ("moduleId", "article")]).await.ok();
    assert_eq!(found.body["partial"], false, "{}", found.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn search_overtakes_those_of_another_person_that_wait_for_the_index() {
    if opensearch::is_engine() {
        return; // Its nodes have queues of their own.
    }
    let (app, acme, [mei, omar]) = TestApp::start_with_people(["mei", "omar"]).await;
    let brief = ideographs(0).repeat(2);
    let item = |number| json!({"id": format!("i{number}"), "brief": brief, "displayTime": NEW_YEAR + number});
    app.put_contents(&acme.caller, "article", &(0..1_000).map(item).collect::<Vec<_>>()).await;
    let mut queued: FuturesUnordered<_> = (1..=QUEUED).map(|number| search(&mei, number)).collect();
    // Once one of them is answered, the others wait.
    queued.next().await;
    let mut overtaking = Box::pin(search(&omar, 0));
    let mut before = 1;
    loop {
        tokio::select! {
            biased;
            () = &mut overtaking => break,
            Some(()) = queued.next() => before += 1,
        }
    }
    // Served in turn, it would be the last.
    assert!(before < QUEUED * 3 / 4, "{before}");
}
