//! What the index promises, one promise a test.

#![allow(clippy::unwrap_used, reason = "tests say what they expect by unwrapping it")]

use proptest::prelude::*;
use trawl_index::{
    Audience, Change, Checkpoint, Document, Error, Index, MAX_ID_BYTES, Options, Page, Query, Request, Scope,
    Snapshot, Start, TimePosition, Writer,
};

fn news() -> Scope {
    Scope::new(7, "news")
}

fn document(id: &str, title: &str) -> Document {
    Document {
        scope: news(),
        id: id.to_owned(),
        display_time: 0,
        title: title.to_owned(),
        title_is_name: false,
        other_names: Vec::new(),
        text: None,
        sub_title: String::new(),
        brief: String::new(),
        author: String::new(),
        audience: Audience::Tenant,
        item: format!("{{\"id\":\"{id}\"}}"),
    }
}

fn checkpoint(position: i64) -> Checkpoint {
    Checkpoint { store: "store".to_owned(), position, complete: true }
}

fn put(writer: &mut Writer, documents: Vec<Document>) {
    writer.apply(documents.into_iter().map(Change::Put).collect()).unwrap();
    writer.commit(&checkpoint(1)).unwrap();
}

fn index_of(documents: Vec<Document>) -> (Index, Writer) {
    let (index, mut writer) = Index::in_memory(&Options::default()).unwrap();
    put(&mut writer, documents);
    (index, writer)
}

fn page(snapshot: &Snapshot, keyword: &str, start: Start, limit: usize) -> Page {
    let (scope, query) = (news(), Query::parse(keyword));
    let request = Request {
        scope: &scope,
        query: &query,
        principals: &[],
        from: None,
        to: None,
        author: None,
        start,
        limit,
    };
    snapshot.search(&request).unwrap()
}

const NEWEST: Start = Start::Time { after: None, whole_ties: None };

/// The ids found, in order.
fn found(index: &Index, keyword: &str) -> Vec<String> {
    page(&index.snapshot(), keyword, NEWEST, 1_000).hits.into_iter().map(|hit| hit.id).collect()
}

#[test]
fn words_match_by_stem_width_case_and_accent() {
    let (index, _writer) =
        index_of(vec![document("a", "Running dogs at the Café"), document("b", "ＲＵＮＳ　１２")]);
    assert_eq!(found(&index, "run "), ["a", "b"]);
    assert_eq!(found(&index, "RUNNING cafe "), ["a"]);
    assert_eq!(found(&index, "12"), ["b"]);
    assert_eq!(found(&index, "cat"), [""; 0]);
}

#[test]
fn the_last_word_matches_as_a_prefix_in_every_branch() {
    let mut restricted = document("c", "trawling");
    restricted.audience = Audience::Principals(vec!["u:1".to_owned()]);
    let (index, _writer) = index_of(vec![document("a", "trawlers"), document("b", "trains"), restricted]);
    assert_eq!(found(&index, "tra"), ["a", "b"]);
    assert_eq!(found(&index, "tra "), [""; 0]);
    assert_eq!(found(&index, "trawlers tra"), ["a"]);
    let (scope, query, principals) = (news(), Query::parse("tra"), ["u:1".to_owned()]);
    let request = Request {
        scope: &scope,
        query: &query,
        principals: &principals,
        from: None,
        to: None,
        author: None,
        start: NEWEST,
        limit: 10,
    };
    let page = index.snapshot().search(&request).unwrap();
    let ids: Vec<&str> = page.hits.iter().map(|hit| hit.id.as_str()).collect();
    assert_eq!((ids, page.total), (vec!["a", "b", "c"], 3));
}

#[test]
fn a_prefix_takes_the_most_frequent_words_however_the_segments_lie() {
    // Two hundred words begin with it; the seventy that stand in two documents must all be among those taken.
    let once = (0..200).map(|number| document(&format!("one{number}"), &format!("word{number:03}")));
    let again = (100..170).map(|number| document(&format!("two{number}"), &format!("word{number:03}")));
    let (index, mut writer) = index_of(once.collect());
    put(&mut writer, again.collect());
    let several = page(&index.snapshot(), "word", NEWEST, 1_000);
    let frequent = several.hits.iter().filter(|hit| hit.id.starts_with("two")).count();
    assert_eq!(frequent, 70);
    // Of the others the first in the alphabet.
    assert_eq!(several.total, 70 + 128);
    writer.merge_all().unwrap();
    let merged = page(&index.snapshot(), "word", NEWEST, 1_000);
    assert_eq!(index.snapshot().segments(), 1);
    let ids = |page: Page| page.hits.into_iter().map(|hit| hit.id).collect::<Vec<_>>();
    assert_eq!(ids(several), ids(merged));
}

#[test]
fn phrases_stand_together_within_one_text() {
    let mut split = document("b", "red");
    split.brief = "cars".to_owned();
    let (index, _writer) = index_of(vec![document("a", "two red cars"), split, document("c", "cars red")]);
    assert_eq!(found(&index, "\"red cars\""), ["a"]);
    assert_eq!(found(&index, "red cars"), ["a", "b", "c"]);
    assert_eq!(found(&index, "red -\"red cars\""), ["b", "c"]);
    assert_eq!(found(&index, "-\"red cars\""), ["b", "c"]);
}

#[test]
fn ideographs_are_found_across_the_dictionary_s_cuts() {
    let (index, _writer) =
        index_of(vec![document("a", "中华人民共和国成立70周年iPhone发布"), document("b", "人民日报")]);
    for keyword in ["人民", "华人", "和国成", "立70周", "年iPhone发", "\"共和国成立70周年\""]
    {
        assert!(found(&index, keyword).contains(&"a".to_owned()), "{keyword}");
    }
    assert_eq!(found(&index, "日报"), ["b"]);
    assert_eq!(found(&index, "\"民人\""), [""; 0]);
}

#[test]
fn traditional_and_simplified_chinese_find_each_other() {
    let (index, _writer) = index_of(vec![
        document("t", "國際經濟與臺灣的後續發展"),
        document("s", "国际经济与台湾的后续发展"),
        document("j", "日本の経済発展"),
        document("q", "乾隆皇后喝乾杯"),
    ]);
    for keyword in
        ["国际", "國際", "經濟", "后续", "後續", "\"与台湾的\"", "\"與臺灣的後續\"", "济与台", "發展 -日本"]
    {
        assert_eq!(found(&index, keyword), ["s", "t"], "{keyword}");
    }
    for keyword in ["経済", "発展", "日本の", "\"日本の経済発展\""] {
        assert!(found(&index, keyword).contains(&"j".to_owned()), "{keyword}");
    }
    for keyword in ["乾隆", "干隆", "皇後", "\"喝干杯\""] {
        assert_eq!(found(&index, keyword), ["q"], "{keyword}");
    }
}

#[test]
fn authors_match_by_every_word_of_the_name() {
    let mut documents = vec![document("a", "x"), document("b", "x"), document("c", "ann lee")];
    documents[0].author = "Ann Lee".to_owned();
    documents[1].author = "Ann Poe".to_owned();
    let (index, _writer) = index_of(documents);
    assert_eq!(found(&index, "author:ann"), ["a", "b"]);
    assert_eq!(found(&index, "author:\"lee ANN\""), ["a"]);
    assert_eq!(found(&index, "x -author:poe"), ["a"]);
    assert_eq!(found(&index, "author:ann author:poe"), ["b"]);
}

#[test]
fn nothing_but_the_viewer_s_own_is_seen_by_author_or_exclusion_alone() {
    let mut secret = document("a", "x");
    secret.author = "Ann".to_owned();
    secret.audience = Audience::Principals(vec!["u:1".to_owned()]);
    let (index, _writer) = index_of(vec![secret]);
    for keyword in ["author:ann", "-y", "-y author:ann", "x"] {
        assert_eq!(page(&index.snapshot(), keyword, NEWEST, 10).total, 0, "{keyword}");
    }
}

#[test]
fn an_empty_query_matches_nothing() {
    let (index, _writer) = index_of(vec![document("a", "x")]);
    for keyword in ["", "!?", "\"\"", "🦀"] {
        let page = page(&index.snapshot(), keyword, NEWEST, 10);
        assert_eq!((page.hits.len(), page.total), (0, 0));
    }
}

#[test]
fn a_limit_of_none_gives_the_total() {
    let (index, _writer) = index_of(vec![document("a", "x"), document("b", "x")]);
    for start in [NEWEST, Start::Relevance { skip: 0, now: 0 }] {
        let page = page(&index.snapshot(), "x", start, 0);
        assert_eq!((page.hits.len(), page.total, page.more), (0, 2, true));
    }
}

#[test]
fn a_tie_of_thousands_is_read_in_order_of_ids_and_cut_at_the_cap() {
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
    // An id that is not there, and is behind all: nothing is left.
    let after = Some(TimePosition { display_time: 0, id: Some("zzz".to_owned()) });
    assert_eq!(page(&snapshot, "x", Start::Time { after, whole_ties: None }, 5).hits.len(), 0);
}

#[test]
fn totals_are_exact_among_many_deleted_documents() {
    let documents = (0..1_000).map(|number| Document {
        display_time: number,
        ..document(&number.to_string(), if number % 3 == 0 { "x y" } else { "x" })
    });
    let (index, mut writer) = index_of(documents.collect());
    let is_removed = |number: &i64| number % 7 == 0 || *number == 999 || (128..192).contains(number);
    let remove = |number: i64| Change::Remove { scope: news(), id: number.to_string() };
    writer.apply((0..1_000).filter(is_removed).map(remove).collect()).unwrap();
    writer.commit(&checkpoint(2)).unwrap();

    let left = |from: i64, to: i64| (from..to).filter(|number| !is_removed(number));
    let (scope, query) = (news(), Query::parse("x "));
    for (from, to) in [(0, 1_000), (100, 200), (130, 190), (998, 1_000), (500, 500)] {
        let request = Request {
            scope: &scope,
            query: &query,
            principals: &[],
            from: Some(from),
            to: Some(to),
            author: None,
            start: NEWEST,
            limit: 1_000,
        };
        let page = index.snapshot().search(&request).unwrap();
        assert_eq!(page.total, left(from, to).count() as u64, "{from}..{to}");
        assert!(page.hits.iter().map(|hit| hit.display_time).eq(left(from, to).rev()), "{from}..{to}");
    }
    let of_both = left(0, 1_000).filter(|number| number % 3 == 0).count();
    assert_eq!(page(&index.snapshot(), "x y ", NEWEST, 1).total, of_both as u64);
    assert_eq!(page(&index.snapshot(), "x -y", NEWEST, 1).total, (left(0, 1_000).count() - of_both) as u64);
}

#[test]
fn relevance_prefers_the_title_and_then_the_newest() {
    let mut in_brief = document("a", "something else");
    in_brief.brief = "whales".to_owned();
    let mut newer = document("c", "whales at sea");
    newer.display_time = 5;
    let (index, _writer) =
        index_of(vec![in_brief, document("b", "whales at sea"), newer, document("d", "fish")]);
    let page = page(&index.snapshot(), "whales ", Start::Relevance { skip: 0, now: 0 }, 10);
    let ids: Vec<&str> = page.hits.iter().map(|hit| hit.id.as_str()).collect();
    assert_eq!(ids, ["c", "b", "a"]);
}

#[test]
fn a_question_finds_what_has_any_telling_word_and_ranks_what_has_more() {
    let (index, _writer) = index_of(vec![
        document("a", "how the quarterly budget of the harbour was decided"),
        document("b", "quarterly report"),
        document("c", "what is it"),
        document("d", "harbour lights"),
    ]);
    let keyword = "what was the quarterly budget of the harbour ";
    let found = page(&index.snapshot(), keyword, Start::Relevance { skip: 0, now: 0 }, 10);
    let ids: Vec<&str> = found.hits.iter().map(|hit| hit.id.as_str()).collect();
    assert_eq!(ids[0], "a");
    assert_eq!((ids.len(), found.total), (3, 3));
    // Only what asks is looked for where there is nothing else.
    assert_eq!(page(&index.snapshot(), "what is ", Start::Relevance { skip: 0, now: 0 }, 10).total, 1);
}

#[test]
fn of_equally_relevant_ones_the_fresher_comes_first_and_age_alone_does_not_win() {
    let at = |id: &str, title: &str, days: i64| Document {
        display_time: days * 86_400_000,
        ..document(id, title)
    };
    let (index, _writer) = index_of(vec![
        at("old", "budget of the harbour", 0),
        at("new", "budget of the harbour", 1_000),
        at("newest", "a harbour without anything to spend", 1_000),
    ]);
    let start = Start::Relevance { skip: 0, now: 1_000 * 86_400_000 };
    let ids: Vec<String> =
        page(&index.snapshot(), "harbour budget ", start, 10).hits.into_iter().map(|hit| hit.id).collect();
    assert_eq!(ids, ["new", "old", "newest"]);
}

#[test]
fn a_word_that_finds_nothing_is_corrected_by_one_edit() {
    let mut secret = document("s", "zeppelin");
    secret.audience = Audience::Principals(vec!["u:1".to_owned()]);
    let (index, _writer) = index_of(vec![
        document("a", "Quarterly budget meetings of the company"),
        document("b", "劳动合同 范本"),
        secret,
        Document { scope: Scope::new(8, "news"), ..document("c", "elsewhere") },
    ]);
    let correct = |keyword: &str, principals: &[&str]| {
        let principals: Vec<String> = principals.iter().map(|&principal| principal.to_owned()).collect();
        index.snapshot().correct(&news(), &principals, keyword).unwrap()
    };
    let corrected = |keyword: &str| correct(keyword, &[]);
    for (typed, meant) in [
        ("budgt", "budget"),
        ("Quartrely  budget ", "quarterly  budget "),
        ("\"quarterly bugdet\" -compny author:bob", "\"quarterly budget\" -compny author:bob"),
        ("companx", "company"),
        ("劳动合约", "劳动合同"),
        ("the-budgett!", "the-budget!"),
    ] {
        assert_eq!(corrected(typed).as_deref(), Some(meant), "{typed}");
    }
    // What is found, what only begins, what is too short, a number, two edits, another tenant's, what may not be seen.
    for typed in ["budget", "quarterl", "bud ", "20267", "bxdgxt", "elsewherr", "zeppelim", "", "-budgt"] {
        assert_eq!(corrected(typed), None, "{typed}");
    }
    assert_eq!(correct("zeppelim", &["u:1"]).as_deref(), Some("zeppelin"));
    // Nobody is told a word that stands only in what he does not see.
    assert_eq!(correct("zeppelim", &["u:2"]), None);
}

#[test]
fn another_tenant_does_not_move_the_order_of_relevance() {
    let documents = || {
        let texts = ["whale", "whale fish", "fish fish whale sea", "whale whale fish", "sea"];
        texts.iter().enumerate().map(|(number, text)| document(&number.to_string(), text)).collect::<Vec<_>>()
    };
    let order = |index: &Index| {
        let page = page(&index.snapshot(), "whale fish ", Start::Relevance { skip: 0, now: 0 }, 10);
        page.hits.into_iter().map(|hit| hit.id).collect::<Vec<_>>()
    };
    let (index, mut writer) = index_of(documents());
    let alone = order(&index);
    let foreign = |number: usize| Document {
        scope: Scope::new(8, "news"),
        ..document(&number.to_string(), &"fish ".repeat(number))
    };
    put(&mut writer, (0..50).map(foreign).collect());
    assert_eq!(order(&index), alone);
}

#[test]
fn the_last_of_several_changes_wins() {
    let remove = |id: &str| Change::Remove { scope: news(), id: id.to_owned() };
    let (index, mut writer) = Index::in_memory(&Options::default()).unwrap();
    let changes = vec![
        Change::Put(document("a", "old")),
        Change::Put(document("a", "new")),
        Change::Put(document("b", "new")),
        remove("b"),
        remove("c"),
        Change::Put(document("c", "new")),
    ];
    writer.apply(changes).unwrap();
    // Not committed yet, and replaced nonetheless.
    writer.apply(vec![Change::Put(document("c", "newer"))]).unwrap();
    assert_eq!(found(&index, "new"), [""; 0]);
    writer.commit(&checkpoint(1)).unwrap();
    assert_eq!(found(&index, "new "), ["a"]);
    assert_eq!(found(&index, "newer "), ["c"]);
    assert_eq!(index.snapshot().documents(), 2);
}

#[test]
fn clearing_takes_what_is_uncommitted_too_and_spares_what_comes_after() {
    let (index, mut writer) = index_of(vec![document("a", "x"), document("b", "x")]);
    writer.apply(vec![Change::Put(document("a", "x")), Change::Put(document("c", "x"))]).unwrap();
    writer.clear().unwrap();
    writer.apply(vec![Change::Put(document("a", "x"))]).unwrap();
    writer.commit(&checkpoint(2)).unwrap();
    assert_eq!(found(&index, "x"), ["a"]);
}

#[test]
fn what_a_principal_sees_is_removed_at_once_and_nothing_that_comes_later() {
    let (index, mut writer) = Index::in_memory(&Options::default()).unwrap();
    let seen_by = |id: &str, principals: &[&str]| {
        let principals = principals.iter().map(|&principal| principal.to_owned()).collect();
        Document { audience: Audience::Principals(principals), ..document(id, "harbour") }
    };
    let removal = || Change::RemoveSeenBy { scope: news(), principal: "f:1".to_owned() };
    let seen = |index: &Index, principals: &[&str]| {
        let principals: Vec<String> = principals.iter().map(|&principal| principal.to_owned()).collect();
        let (scope, query) = (news(), Query::parse("harbour"));
        let request = Request {
            scope: &scope,
            query: &query,
            principals: &principals,
            from: None,
            to: None,
            author: None,
            start: NEWEST,
            limit: 100,
        };
        let page = index.snapshot().search(&request).unwrap();
        assert_eq!(page.total, page.hits.len() as u64);
        page.hits.into_iter().map(|hit| hit.id).collect::<Vec<_>>()
    };
    let all = ["f:1", "f:10", "f:2"];
    let elsewhere = Document { scope: Scope::new(7, "newsletter"), ..seen_by("elsewhere", &["f:1"]) };
    put(
        &mut writer,
        vec![seen_by("a", &["f:2", "f:1"]), seen_by("b", &["f:10"]), document("open", "harbour"), elsewhere],
    );
    assert_eq!(seen(&index, &all), ["a", "b", "open"]);

    // What is in hand goes too, what comes behind it stays, again and again; others are spared.
    for _ in 0..2 {
        let changes = vec![
            Change::Put(seen_by("c", &["f:1"])),
            removal(),
            Change::Put(seen_by("d", &["f:1"])),
            Change::Put(seen_by("a", &["f:2"])),
        ];
        writer.apply(changes).unwrap();
        writer.commit(&checkpoint(2)).unwrap();
        assert_eq!(seen(&index, &all), ["a", "b", "d", "open"]);
        assert_eq!(seen(&index, &["f:1"]), ["d", "open"]);
    }
    writer.merge_all().unwrap();
    writer.apply(vec![removal()]).unwrap();
    writer.commit(&checkpoint(3)).unwrap();
    assert_eq!(seen(&index, &all), ["a", "b", "open"]);
    assert_eq!(index.snapshot().documents(), 4, "that of the other module is there");
}

#[test]
fn a_title_comes_before_any_number_of_the_same_word_in_a_text() {
    let named =
        |id: &str, title: &str, text: &str| Document { text: Some(text.into()), ..document(id, title) };
    let filling = "tide and quay and crane ".repeat(2_000);
    let (index, _writer) = index_of(vec![
        named("says it often", "minutes", &"harbour ".repeat(500)),
        named("is called so, long", "harbour report", &filling),
        named("is called so, empty", "plan of the old harbour", ""),
        named("says it once", "letter", &format!("{filling} harbour")),
    ]);
    let best = page(&index.snapshot(), "harbour", Start::Relevance { skip: 0, now: 0 }, 10);
    let ids: Vec<&str> = best.hits.iter().map(|hit| hit.id.as_str()).collect();
    assert_eq!(ids[2..], ["says it often", "says it once"], "{ids:?}");
    assert_eq!(best.total, 4);
    assert_eq!(found(&index, "\"quay and crane\"").len(), 2, "a phrase of a text");
    assert_eq!(found(&index, "\"report tide\"").len(), 0, "none that begins in the title");
}

#[test]
fn an_id_that_is_too_long_is_refused_and_nothing_is_applied() {
    let (index, mut writer) = index_of(vec![]);
    let long = "i".repeat(MAX_ID_BYTES + 1);
    let changes = vec![Change::Put(document("a", "x")), Change::Put(document(&long, "x"))];
    assert!(matches!(writer.apply(changes), Err(Error::IdTooLong(1_025))));
    put(&mut writer, vec![document(&"i".repeat(MAX_ID_BYTES), "x")]);
    assert_eq!(index.snapshot().documents(), 1);
}

#[test]
fn what_was_committed_is_there_after_reopening() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("new");
    let (index, mut writer) = Index::open(&path, &Options::default()).unwrap();
    assert_eq!(writer.checkpoint(), None);
    writer.apply(vec![Change::Put(document("a", "x"))]).unwrap();
    let committed = Checkpoint { store: "s".to_owned(), position: 42, complete: false };
    writer.commit(&committed).unwrap();
    writer.apply(vec![Change::Put(document("b", "x"))]).unwrap();
    assert!(matches!(Index::open(&path, &Options::default()), Err(Error::Locked)));
    writer.close().unwrap();
    drop(index);

    let (index, writer) = Index::open(&path, &Options::default()).unwrap();
    assert_eq!(writer.checkpoint(), Some(&committed));
    assert_eq!(found(&index, "x"), ["a"]);
}

/// The engine once took the first deletion after it was opened for one of the last commit, where a merge led by a segment that
/// the commit deleted nothing from ran before the next commit.
#[test]
fn the_first_deletion_after_reopening_survives_a_merge() {
    let remove = |id: &str| Change::Remove { scope: news(), id: id.to_owned() };
    let directory = tempfile::tempdir().unwrap();
    let (_, mut writer) = Index::open(directory.path(), &Options::default()).unwrap();
    put(&mut writer, vec![document("a", "x"), document("b", "x")]);
    // The larger segment leads.
    put(&mut writer, vec![document("c", "x"), document("d", "x"), document("e", "x")]);
    writer.apply(vec![remove("a")]).unwrap();
    writer.commit(&checkpoint(3)).unwrap();
    writer.close().unwrap();

    let (index, mut writer) = Index::open(directory.path(), &Options::default()).unwrap();
    writer.apply(vec![remove("b")]).unwrap();
    writer.merge_all().unwrap();
    writer.commit(&checkpoint(4)).unwrap();
    assert_eq!(found(&index, "x "), ["c", "d", "e"]);
}

#[test]
fn damaged_files_are_unusable_and_are_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let (_, mut writer) = Index::open(directory.path(), &Options::default()).unwrap();
    put(&mut writer, vec![document("a", "x")]);
    writer.close().unwrap();
    let files = || {
        let mut files: Vec<_> =
            std::fs::read_dir(directory.path()).unwrap().map(|file| file.unwrap().path()).collect();
        files.sort();
        files
    };
    let before = files();
    let segment_files: Vec<_> = before
        .iter()
        .filter(|file| file.extension().is_some_and(|kind| kind != "json" && kind != "lock"))
        .collect();
    assert!(segment_files.len() > 4);
    for file in segment_files.into_iter().chain([&directory.path().join("meta.json")]) {
        let content = std::fs::read(file).unwrap();
        for damaged in [&content[..content.len() / 2], b""] {
            std::fs::write(file, damaged).unwrap();
            let opened = Index::open(directory.path(), &Options::default()).map(|_| ());
            assert!(matches!(opened, Err(Error::Unusable(_))), "{file:?}: {opened:?}");
        }
        std::fs::write(file, &content).unwrap();
    }
    assert_eq!(files(), before);
    assert!(Index::open(directory.path(), &Options::default()).is_ok());
}

#[test]
fn an_index_of_another_version_is_unusable() {
    let directory = tempfile::tempdir().unwrap();
    let (_, mut writer) = Index::open(directory.path(), &Options::default()).unwrap();
    put(&mut writer, vec![document("a", "x")]);
    writer.close().unwrap();
    let meta = directory.path().join("meta.json");
    let text = std::fs::read_to_string(&meta).unwrap();
    let (text, _checksum) = text.rsplit_once("\ncrc32:").unwrap();
    let other = text.replace("\\\"version\\\":", "\\\"version\\\":99");
    assert_ne!(other, text);
    let checksum = crc32fast::hash(other.as_bytes());
    std::fs::write(&meta, format!("{other}\ncrc32:{checksum:08x}")).unwrap();
    let opened = Index::open(directory.path(), &Options::default()).map(|_| ());
    assert!(matches!(&opened, Err(Error::Unusable(reason)) if reason.contains("version 99")), "{opened:?}");
}

#[test]
fn small_commits_leave_few_segments() {
    let (index, mut writer) = Index::in_memory(&Options::default()).unwrap();
    for number in 0..200 {
        put(&mut writer, vec![document(&number.to_string(), "x")]);
    }
    writer.close().unwrap();
    assert_eq!(index.snapshot().documents(), 200);
    assert!(index.snapshot().segments() < 100, "{}", index.snapshot().segments());
}

proptest! {
    #![proptest_config(trawl_seeds::cases(256))]

    #[test]
    fn any_short_stretch_of_ideographs_finds_its_document(
        text in "[中华人民共和国成立周年上海自来水北京大学生前来报到々〇カなが]{1,40}",
        start in 0..40_usize,
        len in 1..7_usize,
        quoted in any::<bool>(),
    ) {
        let (index, _writer) = index_of(vec![document("a", &text)]);
        let characters: Vec<char> = text.chars().collect();
        let start = start % characters.len();
        let stretch: String = characters[start..(start + len).min(characters.len())].iter().collect();
        let keyword = if quoted { format!("\"{stretch}\"") } else { stretch };
        prop_assert_eq!(found(&index, &keyword), ["a"]);
    }

    #[test]
    fn any_text_and_any_keyword_are_survived(title in any::<String>(), keyword in any::<String>()) {
        let (index, _writer) = index_of(vec![document("a", &title)]);
        index.snapshot().correct(&news(), &[], &keyword).unwrap();
        for start in [NEWEST, Start::Relevance { skip: 0, now: 0 }] {
            let page = page(&index.snapshot(), &keyword, start, 10);
            prop_assert_eq!(page.hits.len() as u64, page.total);
        }
    }
}
