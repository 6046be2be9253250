use proptest::prelude::*;

use super::*;
use crate::error::ErrorKind;

fn taken(name: &str) -> Name {
    check_file(&Limits::default(), name).unwrap_or_else(|error| panic!("{name:?}: {error}"))
}

fn refused(name: &str) -> (ErrorKind, String) {
    let refusal = check_file(&Limits::default(), name).expect_err(name);
    (refusal.kind, refusal.message)
}

#[track_caller]
fn same(names: &[&str]) {
    let keys: Vec<String> = names.iter().map(|name| taken(name).key).collect();
    assert!(keys.iter().all(|key| *key == keys[0]), "{names:?} {keys:?}");
}

#[track_caller]
fn different(one: &str, other: &str) {
    assert_ne!(taken(one).key, taken(other).key, "{one:?} {other:?}");
}

#[test]
fn names_that_look_the_same_are_the_same() {
    same(&["Report.PDF", "report.pdf", "ｒｅｐｏｒｔ.pdf", "rеpоrt.pdf"]);
    same(&["Straße", "STRASSE", "strasse"]);
    same(&["café", "cafe\u{301}", "CAFÉ", "c\u{430}fé"]);
    same(&["ｶﾞ", "ガ", "カ\u{3099}"]);
    same(&["Ιnvoice", "Invoice", "іnvoice"]);
    same(&["\u{1f469}\u{200d}\u{1f4bb}", "\u{1f469}\u{1f4bb}"]);
    same(&["می\u{200c}خواهم", "میخواهم"]);
    same(&["☎\u{fe0f}", "☎"]);
}

#[test]
fn names_in_ascii_differ_by_more_than_case() {
    different("1", "l");
    different("0", "O");
    different("rn", "m");
    different("cafe", "café");
    different("合同", "合约");
    assert_eq!(taken("A-1l_0O (rn).TXT").key, "a-1l_0o (rn).txt");
}

#[test]
fn stored_name_is_in_nfc() {
    assert_eq!(taken("cafe\u{301}").shown, "café");
    assert_eq!(taken("Ｗide ①").shown, "Ｗide ①");
}

#[test]
fn invalid_name_is_refused_with_reason() {
    for (name, reason) in [
        ("", "empty"),
        (".", "`.`"),
        ("..", "`.`"),
        (" a", "space"),
        ("a ", "space"),
        ("a\u{3000}", "space"),
        ("a.", "dot"),
        ("...", "dot"),
        ("a/b", "must not hold any of"),
        ("a\\b", "must not hold any of"),
        ("c:", "must not hold any of"),
        ("*", "must not hold any of"),
        ("why?", "must not hold any of"),
        ("\"a\"", "must not hold any of"),
        ("<a>", "must not hold any of"),
        ("a|b", "must not hold any of"),
        ("a\tb", "U+0009"),
        ("a\u{0}b", "U+0000"),
        ("a\u{7f}", "U+007F"),
        ("a\u{85}b", "U+0085"),
        ("a\u{2028}b", "U+2028"),
        ("a\u{fffe}b", "U+FFFE"),
        ("a\u{e000}b", "U+E000"),
        ("a\u{fff9}b", "U+FFF9"),
        ("gpj\u{202e}exe", "U+202E"),
        ("a\u{2067}b", "U+2067"),
        ("a\u{200e}b", "U+200E"),
        ("a\u{61c}b", "U+061C"),
        ("a\u{200b}b", "U+200B"),
        ("a\u{ad}b", "U+00AD"),
        ("a\u{feff}b", "U+FEFF"),
        ("a\u{3164}b", "U+3164"),
        ("a\u{e0061}b", "U+E0061"),
        ("a\u{200d}b", "U+200D"),
        ("a\u{200c}b", "U+200C"),
        ("\u{200d}", "U+200D"),
        ("می\u{200c}", "U+200C"),
        ("a\u{fe0f}", "U+FE0F"),
        ("\u{fe0f}", "U+FE0F"),
        ("a\u{e0100}", "U+E0100"),
        ("con", "Windows"),
        ("CON", "Windows"),
        ("nul.txt", "Windows"),
        ("Com1.tar.gz", "Windows"),
        ("lpt9", "Windows"),
        ("lpt¹", "Windows"),
        ("ｃｏｎ", "Windows"),
        ("aux .txt", "Windows"),
    ] {
        let (kind, message) = refused(name);
        assert_eq!(kind, ErrorKind::Business(BusinessCode::General), "{name:?}");
        assert!(message.starts_with("name: ") && message.contains(reason), "{name:?}: {message}");
    }
}

#[test]
fn near_miss_of_invalid_name_is_accepted() {
    for name in [
        "console",
        "com",
        "com10",
        "com1a",
        "lpt.txt",
        "nullable",
        "a.con",
        "a b",
        ".gitignore",
        "a..b",
        "…",
        "合同 v2.docx",
        "#\u{fe0f}\u{20e3}",
        "👩\u{200d}👩\u{200d}👧",
        "👩🏽\u{200d}💻",
        "🏴",
        "क्\u{200d}ष",
        "葛\u{e0100}",
        "ᠠ\u{180b}",
    ] {
        taken(name);
    }
    assert!(refused("श्री\u{200d}").1.contains("U+200D"));
}

#[test]
fn length_limit_applies_to_nfc_form() {
    let limits = Limits { file_name_bytes: 6, ..Limits::default() };
    assert_eq!(check_file(&limits, "e\u{301}e\u{301}e\u{301}").unwrap().shown, "ééé");
    for long in ["1234567", "ééée", &"e\u{301}".repeat(100_000)] {
        let code = |refusal: Error| refusal.kind;
        assert_eq!(
            code(check_file(&limits, long).unwrap_err()),
            ErrorKind::Business(BusinessCode::NameTooLong)
        );
        assert_eq!(
            code(check_folder(&limits, long).unwrap_err()),
            ErrorKind::Business(BusinessCode::General)
        );
    }
}

#[test]
fn an_extension_is_behind_the_last_dot() {
    let long = format!("a.{}", "x".repeat(33));
    for (name, expected) in [
        ("report.PDF", "pdf"),
        ("a.tar.gz", "gz"),
        (".gitignore", ""),
        ("README", ""),
        ("a.Ä", "ä"),
        (&long, ""),
        (&long[..34], &long[2..34]),
    ] {
        assert_eq!(extension(name), expected, "{name}");
    }
}

fn any_text() -> impl Strategy<Value = String> {
    let character = prop_oneof![
        4 => proptest::char::range(' ', '~'),
        3 => prop::sample::select("аеорсІіΙιßſİıÅÅK①ｶﾞガ한\u{1112}\u{1161}éᾂ合同".chars().collect::<Vec<_>>()),
        1 => prop::sample::select(vec!['\u{301}', '\u{308}', '\u{200d}', '\u{fe0f}', '\u{ad}', '☎', '👩']),
        2 => any::<char>(),
    ];
    prop::collection::vec(character, 0..12).prop_map(|characters| characters.into_iter().collect())
}

proptest! {
    #![proptest_config(trawl_seeds::cases(2_000))]

    #[test]
    fn accepted_name_is_valid_and_stable(text in any_text()) {
        let Ok(name) = check_file(&Limits::default(), &text) else { return Ok(()) };
        prop_assert!(unicode_normalization::is_nfc(&name.shown));
        prop_assert_eq!(&check_file(&Limits::default(), &name.shown).unwrap(), &name);
        prop_assert!(!name.shown.contains(FORBIDDEN) && !name.shown.chars().any(char::is_control));
        prop_assert_eq!(name.shown.trim(), &name.shown);
        prop_assert!(!name.key.is_empty() && !name.key.chars().any(is_invisible));
    }

    #[test]
    fn forms_and_cases_are_the_same_name(text in any_text()) {
        // This mark becomes a letter in upper case and is reordered.
        if text.nfd().any(|character| character == '\u{345}') {
            return Ok(());
        }
        let forms: [String; 4] =
            [text.nfd().collect(), text.nfc().collect(), text.nfkc().collect(), text.nfkd().collect()];
        let folded = key(&text);
        for form in forms {
            prop_assert_eq!(&key(&form), &folded, "{:?}", form);
        }
        let cases = CaseMapper::new();
        prop_assert_eq!(key(&cases.fold_string(&text)), folded);
    }

    #[test]
    fn ascii_is_folded_by_case_alone(text in "[ -~]{0,20}") {
        prop_assert_eq!(key(&text), text.to_ascii_lowercase());
    }

    #[test]
    fn any_text_is_judged(text in "\\PC{0,40}") {
        drop(check_folder(&Limits::default(), &text));
        prop_assert!(extension(&text).len() <= EXTENSION_BYTES);
    }
}
