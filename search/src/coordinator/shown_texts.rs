//! Folded texts of items.

use trawl_engine::{Texts, fold, text::stem};

use crate::source::ResultItem;

pub(super) struct ShownTexts(String);

impl ShownTexts {
    pub(super) fn of<'a>(items: impl IntoIterator<Item = &'a ResultItem>) -> Self {
        let mut shown = String::new();
        for item in items {
            shown.extend(Texts::read(&item.json).beginning(usize::MAX).flat_map(|text| [text, "\n"]));
        }
        Self(fold(&shown).into_owned())
    }

    pub(super) fn hold(&self, word: &str) -> bool {
        self.0.contains(&*stem(&fold(word)))
    }
}
