use trawl_engine::{Document, Query, Request, Start, TimePosition};

use super::support::{BEST, NEWEST, commit, document, index_of, news, page, put, remove, request};

#[test]
fn zero_limit_returns_the_total_only() {
    let (index, _writer) = index_of(vec![document("a", "x"), document("b", "x")]);
    for start in [NEWEST, BEST] {
        let page = page(&index.snapshot(), "x", start, 0);
        assert_eq!((page.hits.len(), page.total, page.more), (0, 2, true));
    }
}

#[test]
fn large_tie_is_ordered_by_id_and_cut_at_the_cap() {
    let ids: Vec<String> = (0..3_000).map(|number| format!("{:04}", (number * 7_919) % 3_000)).collect();
    let (index, mut writer) = index_of(ids[..1_000].iter().map(|id| document(id, "x")).collect());
    put(&mut writer, ids[1_000..].iter().map(|id| document(id, "x")).collect());
    let snapshot = index.snapshot();

    let whole = page(&snapshot, "x", Start::Time { after: None, whole_ties: Some(10_000) }, 10);
    assert_eq!((whole.hits.len(), whole.more, whole.cut), (3_000, false, false));
    assert!(whole.hits.iter().map(|hit| &hit.id).is_sorted());
    let cut = page(&snapshot, "x", Start::Time { after: None, whole_ties: Some(2_500) }, 10);
    assert_eq!((cut.hits.len(), cut.more, cut.cut), (2_500, true, true));

    let after = Some(TimePosition { display_time: 0, id: Some("2499".to_owned()) });
    let rest = page(&snapshot, "x", Start::Time { after, whole_ties: None }, 500);
    assert_eq!((rest.hits[0].id.as_str(), rest.hits.len(), rest.more), ("2500", 500, false));
    // After all ids.
    let after = Some(TimePosition { display_time: 0, id: Some("zzz".to_owned()) });
    assert_eq!(page(&snapshot, "x", Start::Time { after, whole_ties: None }, 5).hits.len(), 0);
}

#[test]
fn totals_are_exact_after_many_deletions() {
    let documents = (0..1_000).map(|number| Document {
        display_time: number,
        ..document(&number.to_string(), if number % 3 == 0 { "x y" } else { "x" })
    });
    let (index, mut writer) = index_of(documents.collect());
    let is_removed = |number: &i64| number % 7 == 0 || *number == 999 || (128..192).contains(number);
    let removals = (0..1_000).filter(is_removed).map(|number| remove(&number.to_string()));
    commit(&mut writer, removals.collect());

    let left = |from: i64, to: i64| (from..to).filter(|number| !is_removed(number));
    let (scope, query) = (news(), Query::parse("x "));
    for (from, to) in [(0, 1_000), (100, 200), (130, 190), (998, 1_000), (500, 500)] {
        let request = Request { from: Some(from), to: Some(to), ..request(&scope, &query, NEWEST, 1_000) };
        let page = index.snapshot().search(&request).unwrap();
        assert_eq!(page.total, left(from, to).count() as u64, "{from}..{to}");
        assert!(page.hits.iter().map(|hit| hit.display_time).eq(left(from, to).rev()), "{from}..{to}");
    }
    let of_both = left(0, 1_000).filter(|number| number % 3 == 0).count();
    assert_eq!(page(&index.snapshot(), "x y ", NEWEST, 1).total, of_both as u64);
    assert_eq!(page(&index.snapshot(), "x -y", NEWEST, 1).total, (left(0, 1_000).count() - of_both) as u64);
}
