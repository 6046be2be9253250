use tempfile::TempDir;

use super::*;
use crate::{
    auth::tenants,
    store::{Store, change_log, sql},
};

async fn store(departments: &'static [(&str, &str, &str, bool, bool)]) -> (TempDir, Store, [i64; 2]) {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), 1).await.unwrap();
    let made = store.write(move |transaction| {
        Box::pin(async move {
            let mut ids = [0; 2];
            for (id, code) in ids.iter_mut().zip(["acme", "other"]) {
                *id = tenants::create(transaction, code).await?.id;
                for (number, (org_id, parent, name, is_hidden, is_deleted)) in (1_i64..).zip(departments) {
                    let text = "INSERT INTO organizations (tenant_id, org_id, platform_org_id, parent_id, name, status, \
                                is_hidden, is_deleted, created_at, updated_at) VALUES (?, ?, ?, NULLIF(?, ''), ?, 1, ?, ?, 5, ?)";
                    let values = [
                        (*id).into(),
                        (*org_id).into(),
                        (*org_id).into(),
                        (*parent).into(),
                        format!("{name} of {code}").into(),
                        (*is_hidden).into(),
                        (*is_deleted).into(),
                        number.into(),
                    ];
                    sql(text, values).execute(transaction).await?;
                }
            }
            Ok(ids)
        })
    });
    let ids = made.await.unwrap();
    (directory, store, ids)
}

const TREE: &[(&str, &str, &str, bool, bool)] = &[
    ("top", "", "Top", false, false),
    ("secret", "top", "Secret", true, false),
    ("team", "secret", "Team", false, false),
    ("gone", "top", "Gone", false, true),
    ("left", "gone", "Left", false, false),
    ("below", "left", "Below", false, false),
    ("round", "circle", "Round", false, false),
    ("circle", "round", "Circle", false, false),
];

async fn shown(store: &Store, tenant_id: i64) -> Vec<(String, Option<String>)> {
    let ids: Vec<String> = TREE.iter().map(|(id, ..)| (*id).to_owned()).collect();
    let selection = Selection::Items { tenant_id, module: DEPARTMENT, ids: &ids };
    let mut shown: Vec<(String, Option<String>)> = read(store.reader(), selection)
        .await
        .unwrap()
        .into_iter()
        .map(|document| (document.id, serde_json::from_str::<ContentItem>(&document.item).unwrap().sub_title))
        .collect();
    shown.sort_unstable();
    shown
}

#[tokio::test]
async fn the_path_names_what_is_above_and_may_be_shown() {
    let (_directory, store, [acme, other]) = store(TREE).await;
    for (tenant_id, code) in [(acme, "acme"), (other, "other")] {
        let named = |path: &str| Some(path.replace('@', &format!("of {code}")));
        let shown = shown(&store, tenant_id).await;
        let of = |id: &str| shown.iter().find(|(known, _)| known == id).unwrap().1.clone();
        let ids: Vec<&str> = shown.iter().map(|(id, _)| id.as_str()).collect();
        assert_eq!(ids, ["below", "circle", "left", "round", "team", "top"], "neither hidden nor deleted");
        assert_eq!(of("top"), None);
        assert_eq!(of("team"), named("Top @ / Team @"));
        assert_eq!(of("left"), None);
        assert_eq!(of("below"), named("Left @ / Below @"));
        assert!(of("round").is_some_and(|path| path.len() < 2_000), "a circle is no end of names");
    }
    assert_eq!(ROWS.batch_end(store.reader(), 0, 100).await.unwrap(), Some(16));
    assert_eq!(ROWS.batch_end(store.reader(), 16, 100).await.unwrap(), None);
    let found = read(store.reader(), Selection::Sequences(0, 16)).await.unwrap();
    assert_eq!(found.len() as u64, ROWS.count(store.reader()).await.unwrap());
}

async fn below(store: &Store, tenant_id: i64, ids: &'static [&str]) -> Vec<String> {
    let before = change_log::last_position(store.reader()).await.unwrap();
    let recorded = store.write(move |transaction| Box::pin(record_below(transaction, tenant_id, ids)));
    recorded.await.unwrap();
    let entries = change_log::entries_after(store.reader(), before, 100).await.unwrap();
    let mut ids: Vec<String> = entries
        .into_iter()
        .map(|entry| {
            assert_eq!((entry.tenant_id, entry.module.as_str()), (tenant_id, DEPARTMENT));
            entry.item_id
        })
        .collect();
    ids.sort_unstable();
    ids
}

#[tokio::test]
async fn a_change_reaches_all_whose_paths_name_it() {
    let (_directory, store, [acme, _]) = store(TREE).await;
    assert_eq!(below(&store, acme, &["top"]).await, ["secret", "team"]);
    assert_eq!(below(&store, acme, &["secret", "left"]).await, ["below", "team"]);
    assert_eq!(below(&store, acme, &["gone"]).await, ["below", "left"]);
    assert_eq!(below(&store, acme, &["round"]).await, ["circle", "round"]);
    assert_eq!(below(&store, acme, &["team"]).await, [""; 0]);
    assert_eq!(below(&store, acme, &[]).await, [""; 0]);
}
