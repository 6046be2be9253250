use trawl_engine::{Change, Document, Query, Request, Scope};

use super::support::{
    NEWEST, checkpoint, commit, document, found, ids, index_of, news, owned, put, remove, request,
    restricted_to,
};
use crate::engine_under_test::{Index, empty_index};

#[test]
fn last_change_to_a_document_wins() {
    let (index, mut writer) = empty_index();
    let changes = vec![
        Change::Put(document("a", "old")),
        Change::Put(document("a", "new")),
        Change::Put(document("b", "new")),
        remove("b"),
        remove("c"),
        Change::Put(document("c", "new")),
    ];
    writer.apply(changes).unwrap();
    // Replaced before its commit.
    writer.apply(vec![Change::Put(document("c", "newer"))]).unwrap();
    assert_eq!(found(&index, "new"), [""; 0]);
    writer.commit(&checkpoint(1)).unwrap();
    assert_eq!(found(&index, "new "), ["a"]);
    assert_eq!(found(&index, "newer "), ["c"]);
    assert_eq!(index.snapshot().documents(), 2);
}

#[test]
fn document_removed_before_its_commit_can_be_put_again() {
    let (index, mut writer) = empty_index();
    for removed in [remove("a"), Change::RemoveTenant { tenant: news().tenant }] {
        for _ in 0..2 {
            commit(&mut writer, vec![Change::Put(document("a", "x")), removed.clone()]);
            assert_eq!(found(&index, "x"), [""; 0]);
        }
        commit(&mut writer, vec![Change::Put(document("a", "x"))]);
        assert_eq!(found(&index, "x"), ["a"]);
        commit(&mut writer, vec![Change::Put(document("b", "x")), removed]);
    }
}

#[test]
fn clear_removes_uncommitted_documents_but_not_later_ones() {
    let (index, mut writer) = index_of(vec![document("a", "x"), document("b", "x")]);
    writer.apply(vec![Change::Put(document("a", "x")), Change::Put(document("c", "x"))]).unwrap();
    writer.clear().unwrap();
    put(&mut writer, vec![document("a", "x")]);
    assert_eq!(found(&index, "x"), ["a"]);
}

#[test]
fn remove_seen_by_spares_later_documents() {
    let (index, mut writer) = empty_index();
    let seen_by = |id: &str, principals: &[&str]| restricted_to(principals, document(id, "harbour"));
    let removal = || Change::RemoveSeenBy { scope: news(), principal: "f:1".to_owned() };
    let seen = |index: &Index, principals: &[&str]| {
        let (scope, query, principals) = (news(), Query::parse("harbour"), owned(principals));
        let request = Request { principals: principals.into(), ..request(&scope, &query, NEWEST, 100) };
        let page = index.snapshot().search(&request).unwrap();
        assert_eq!(page.total, page.hits.len() as u64);
        ids(page)
    };
    let all = ["f:1", "f:10", "f:2"];
    let elsewhere = Document { scope: Scope::new(7, "newsletter"), ..seen_by("elsewhere", &["f:1"]) };
    put(
        &mut writer,
        vec![seen_by("a", &["f:2", "f:1"]), seen_by("b", &["f:10"]), document("open", "harbour"), elsewhere],
    );
    assert_eq!(seen(&index, &all), ["a", "b", "open"]);

    // Earlier changes of the batch are removed, too; later ones stay.
    for _ in 0..2 {
        let changes = vec![
            Change::Put(seen_by("c", &["f:1"])),
            removal(),
            Change::Put(seen_by("d", &["f:1"])),
            Change::Put(seen_by("a", &["f:2"])),
        ];
        commit(&mut writer, changes);
        assert_eq!(seen(&index, &all), ["a", "b", "d", "open"]);
        assert_eq!(seen(&index, &["f:1"]), ["d", "open"]);
    }
    writer.merge_all().unwrap();
    commit(&mut writer, vec![removal()]);
    assert_eq!(seen(&index, &all), ["a", "b", "open"]);
    assert_eq!(index.snapshot().documents(), 4, "that of the other module is there");
}
