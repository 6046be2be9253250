use serde_json::json;

use super::*;

fn with_action(clients: &serde_json::Value) -> ResultItem {
    let json = json!({"id": "a", "title": "", "displayTime": 1, "action": clients.to_string()}).to_string();
    ResultItem { id: "a".to_owned(), json, ..ResultItem::default() }
}

fn web(lines: &str) -> ResultItem {
    with_action(&json!({ "web": lines }))
}

fn print_of(item: &ResultItem) -> Option<ItemPrint> {
    Duplicates::ByAction.print_of(item)
}

#[test]
fn items_with_the_same_target_are_duplicates() {
    let wiki = print_of(&web("[OpenUrl]\nurl=https://wiki.example/a?b=c"));
    assert!(wiki.is_some());
    for same in [
        web("\r\n [OpenUrl] \r\ntitle=x\r\n url = https://wiki.example/a?b=c \r\n"),
        web("[OpenUrl]\nurl=HTTPS://Wiki.example:443/a?b=c"),
        with_action(
            &json!({"android": "[OpenUrl]\nurl=app:1", "web": "[OpenUrl]\nurl=https://wiki.example/a?b=c"}),
        ),
        with_action(&json!({"pc": "[OpenUrl]\nurl=https://wiki.example/a?b=c", "web": "[OpenFile]"})),
    ] {
        assert_eq!(print_of(&same), wiki, "{same:?}");
    }
    let app = print_of(&web("[OpenApp]\nappCode=leave\nappUrl=/form/7"));
    assert_eq!(app, print_of(&web("[OpenApp]\nappUrl=/form/7\nappCode=leave")));
    let others = [
        web("[OpenUrl]\nurl=https://wiki.example/a?b=d"),
        web("[OpenUrl]\nurl=https://wiki.example/A?b=c"),
        web("[OpenApp]\nappCode=other\nappUrl=/form/7"),
        web("[OpenApp]\nappCode=leave\nappUrl=/form/8"),
        web("[OpenUrl]\nurl=/form/7"),
    ];
    let mut all: Vec<_> = others.iter().map(print_of).chain([wiki, app]).collect();
    assert!(all.iter().all(Option::is_some));
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 7, "different targets are no duplicates");
}

#[test]
fn item_without_target_has_no_duplicates() {
    let json = json!({"id": "a", "title": "", "displayTime": 1, "action": null}).to_string();
    let without = ResultItem { json, ..ResultItem::default() };
    let broken = ResultItem { json: json!({"action": "open"}).to_string(), ..without.clone() };
    let opens_nothing = [
        with_action(&json!({})),
        web(""),
        web("[OpenUrl]"),
        web("[OpenUrl]\nurl="),
        web("[OpenApp]\nappCode=leave\nappUrl="),
    ];
    for item in [without, broken].iter().chain(&opens_nothing) {
        assert_eq!(print_of(item), None, "{item:?}");
        assert!(Duplicates::ById.print_of(item).is_some());
        assert_eq!(Duplicates::Keep.print_of(item), None);
    }
}

#[test]
fn names_survive_a_round_trip() {
    for duplicates in Duplicates::ALL {
        assert_eq!(Duplicates::named(duplicates.name()), Some(duplicates));
        assert_eq!(serde_json::to_value(duplicates).unwrap(), duplicates.name());
    }
    assert_eq!(Duplicates::named("byid"), None);
}

#[test]
fn latest_seen_items_are_kept() {
    let source = SourceFingerprint::of("wiki");
    let print = |number: usize| ItemPrint::of_whole(&number.to_string());
    let mut seen = SeenItems::new(Duplicates::ById, Vec::new());
    for number in 0..MAX_SEEN {
        seen.add(Some(&print(number)), source, SeenAt::ThisPage(number));
    }
    let earlier = seen.into_latest();
    let mut seen = SeenItems::new(Duplicates::ById, earlier.clone());
    assert_eq!(seen.find(Some(&print(0)), source), Some(SeenAt::Earlier));
    seen.add(Some(&print(5_000)), source, SeenAt::ThisPage(0));
    seen.add(None, source, SeenAt::ThisPage(1));
    assert_eq!(seen.find(Some(&print(5_000)), source), Some(SeenAt::ThisPage(0)));
    let others = (seen.find(Some(&print(1)), source), seen.find(None, source));
    assert_eq!(others, (Some(SeenAt::Earlier), None));
    let latest = seen.into_latest();
    assert_eq!((latest.len(), &latest[..MAX_SEEN - 1]), (MAX_SEEN, &earlier[1..]));
    assert_eq!(SeenItems::new(Duplicates::Keep, earlier).into_latest(), [] as [Fingerprint; 0]);
}

#[test]
fn parts_of_a_page_are_duplicates_between_sources_only() {
    let page = |part: &str| web(&format!("[OpenUrl]\nurl=https://git.example/issues/5{part}"));
    let (git, mail) = (SourceFingerprint::of("git"), SourceFingerprint::of("mail"));
    let shown = |earlier: &[(&str, SourceFingerprint)], part: &str, source: SourceFingerprint| {
        let mut seen = SeenItems::new(Duplicates::ByAction, Vec::new());
        assert!(earlier.iter().all(|(part, source)| seen.note_above(&page(part), *source)));
        // The next page knows what the cursor carries.
        let mut later = SeenItems::new(Duplicates::ByAction, seen.into_latest());
        later.note_above(&page(part), source)
    };
    let comments: Vec<String> = (0..12).map(|number| format!("#issuecomment-{number}")).collect();
    let of_git: Vec<(&str, SourceFingerprint)> = comments.iter().map(|part| (part.as_str(), git)).collect();
    assert!(shown(&of_git, "", git), "the issue itself");
    assert!(shown(&[("", git)], "#issuecomment-1", git));
    assert!(!shown(&of_git, "#issuecomment-7", git), "the same comment");
    for part in ["", "#issuecomment-7", "#top"] {
        assert!(!shown(&of_git, part, mail), "{part}");
        assert!(!shown(&[("", git)], part, mail), "{part}");
    }
    assert!(!shown(&[("", git)], "#", git));
}

#[test]
fn item_names_its_other_sources() {
    let mut item = ResultItem { json: r#"{"id":"a"}"#.to_owned(), ..ResultItem::default() };
    note_also_in(&mut item, &["crm", "say \"x\""]);
    let read: serde_json::Value = serde_json::from_str(&item.json).unwrap();
    assert_eq!(read, json!({"id": "a", "alsoIn": ["crm", "say \"x\""]}));
}
