//! Logins, which are compared without case (Unicode 3.13, default caseless matching).

use std::sync::LazyLock;

use icu_casemap::{CaseMapper, CaseMapperBorrowed};

/// Folds a login: two that differ in case alone become equal.
pub fn fold(login: &str) -> String {
    static CASES: LazyLock<CaseMapperBorrowed<'static>> = LazyLock::new(CaseMapper::new);
    CASES.fold_string(login).into_owned()
}

#[cfg(test)]
mod tests {
    use super::fold;

    #[test]
    fn logins_that_differ_in_case_alone_fold_equally() {
        for (one, other) in [
            ("mei.chen@acme.example", "Mei.CHEN@Acme.Example"),
            ("ünal", "ÜNAL"),
            ("σίσυφος", "ΣΊΣΥΦΟΣ"),
            ("straße", "STRASSE"),
            ("иван", "ИВАН"),
            ("5550142", "5550142"),
        ] {
            assert_eq!(fold(one), fold(other));
        }
        // The letters without and with a dot are two, in Turkish too.
        for (one, other) in [("ılgaz", "ilgaz"), ("mei", "méi"), ("mei", "mei "), ("李", "季")] {
            assert_ne!(fold(one), fold(other));
        }
    }
}
