//! Logins, which are compared without case (Unicode 3.13, canonical caseless matching).

use std::sync::LazyLock;

use icu_casemap::{CaseMapper, CaseMapperBorrowed};
use unicode_normalization::UnicodeNormalization;

/// Folds a login: two that differ in case or composition alone become equal.
pub fn fold(login: &str) -> String {
    static CASES: LazyLock<CaseMapperBorrowed<'static>> = LazyLock::new(CaseMapper::new);
    let decomposed: String = login.nfd().collect();
    CASES.fold_string(&decomposed).nfc().collect()
}

#[cfg(test)]
mod tests {
    use super::fold;

    #[test]
    fn logins_that_differ_in_case_or_composition_alone_fold_equally() {
        for (one, other) in [
            ("mei.chen@acme.example", "Mei.CHEN@Acme.Example"),
            ("ünal", "ÜNAL"),
            ("σίσυφος", "ΣΊΣΥΦΟΣ"),
            ("straße", "STRASSE"),
            ("иван", "ИВАН"),
            ("5550142", "5550142"),
            // Composed and decomposed characters.
            ("ren\u{e9}e", "RENE\u{301}E"),
            ("\u{212b}sa", "a\u{30a}sa"),
            ("\u{ac00}", "\u{1100}\u{1161}"),
        ] {
            assert_eq!(fold(one), fold(other));
        }
        // The letters without and with a dot are two, in Turkish too.
        for (one, other) in [("ılgaz", "ilgaz"), ("mei", "méi"), ("mei", "mei "), ("李", "季")] {
            assert_ne!(fold(one), fold(other));
        }
    }
}
