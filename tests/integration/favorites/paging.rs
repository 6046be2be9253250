use std::collections::{BTreeSet, HashSet};

use futures::{StreamExt, future::join_all, stream};
use serde_json::json;

use crate::util::{
    caller::Caller,
    favorites::{add, add_text, ids, list, remove, start},
};

async fn add_many(caller: &Caller, prefix: &str, count: usize) -> Vec<i64> {
    let names: Vec<String> = (0..count).map(|number| format!("{prefix}{number}")).collect();
    stream::iter(names)
        .map(|name| async move { add_text(caller, &name, "harbour").await })
        .buffer_unordered(16)
        .collect()
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn unchanged_favorites_are_listed_once_under_changes() {
    let (_app, _, mei, _) = start().await;
    let (stay, go) = tokio::join!(add_many(&mei, "stay", 200), add_many(&mei, "go", 100));
    let times: HashSet<i64> = stay.iter().chain(&go).copied().collect();
    assert_eq!(times.len(), 300, "a timestamp was reused");

    let (mut met, mut last) = (Vec::new(), i64::MAX);
    let (mut cursor, mut step) = (String::new(), 0);
    loop {
        let query = [("cursor", cursor.as_str()), ("limit", "7")];
        let come = format!("come{step}");
        let leaving = [format!("go{}", 2 * step), format!("go{}", 2 * step + 1)];
        let changes = async {
            let form = json!({"itemId": come, "contentType": 1});
            add(&mei, &form).await.ok();
            for answer in join_all(leaving.iter().map(|item| remove(&mei, item, &[]))).await {
                assert!([200, 404].contains(&answer.status), "{}", answer.text);
            }
        };
        let (page, ()) = tokio::join!(list(&mei, &query), changes);
        for favorite in &page {
            let time = favorite["createdDate"].as_i64().unwrap();
            assert!(time < last, "wrong order");
            last = time;
            met.push(favorite["itemId"].as_str().unwrap().to_owned());
        }
        if page.len() < 7 {
            break;
        }
        (cursor, step) = (last.to_string(), step + 1);
    }
    let once: HashSet<&String> = met.iter().collect();
    assert_eq!(once.len(), met.len(), "an item was repeated");
    let missing: Vec<String> =
        (0..200).map(|number| format!("stay{number}")).filter(|name| !once.contains(name)).collect();
    assert!(missing.is_empty(), "lost: {missing:?}");
    assert!(step > 25, "{step}");
}

#[tokio::test(flavor = "multi_thread")]
async fn timestamps_are_never_reused() {
    let (app, _, mei, omar) = start().await;
    let first = add_many(&mei, "a", 50).await;
    assert_eq!(first.iter().collect::<BTreeSet<_>>().len(), 50);
    for name in ids(&mei, &[]).await {
        remove(&mei, &name, &[]).await.ok();
    }
    // Simulates a clock that was set back.
    let ahead = first.iter().max().unwrap() + 1_000_000_000;
    app.execute(
        "UPDATE favorite_times SET last_created_at = last_created_at + 1000000000 WHERE user_id = 'mei'",
    )
    .await;
    let next = add_text(&mei, "b", "harbour").await;
    assert_eq!(next, ahead + 1);
    remove(&mei, "b", &[]).await.ok();
    assert_eq!(add_text(&mei, "b", "harbour").await, next + 1);
    assert!(add_text(&omar, "b", "harbour").await < ahead);
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_adds_of_one_item_succeed_once() {
    let (app, _, mei, _) = start().await;
    let form = json!({"itemId": "one", "content": "harbour"});
    let answers = join_all((0..16).map(|_| add(&mei, &form))).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 1);
    assert!(answers.iter().all(|answer| [200, 409].contains(&answer.status)));
    assert_eq!(ids(&mei, &[]).await, ["one"]);
    app.wait_for_index().await;
    assert_eq!(mei.find("favorite", "harbour").await, ["one"]);
}
