//! Folding that keeps source positions.

use unicode_normalization::char::{canonical_combining_class, decompose_compatible};
use unicode_normalization::{IsNormalized, is_nfc_quick};

use super::folding::{fold_alone, fold_together};
use super::letters::{combining, is_ignored};
use super::traditional::SimplifiedTable;

#[derive(Debug)]
pub(crate) struct Folded {
    /// Equals [`fold`](super::fold).
    pub(crate) text: String,
    parts: Vec<FoldedPart>,
    source_len: usize,
}

#[derive(Debug, Clone, Copy)]
struct FoldedPart {
    folded: usize,
    source: usize,
    /// Otherwise it maps as a whole.
    is_same_length: bool,
}

impl Folded {
    pub(crate) fn new(source: &str) -> Self {
        let mut folded =
            Self { text: String::with_capacity(source.len()), parts: Vec::new(), source_len: source.len() };
        if source.is_ascii() {
            folded.add_part(0, true);
            folded.text.push_str(source);
            folded.text.make_ascii_lowercase();
            return folded;
        }
        let table = SimplifiedTable::table();
        let mut start = 0;
        while let Some(character) = source[start..].chars().next() {
            let rest = &source[start..];
            let stays = |character| fold_alone(character, table) == Some(character);
            let same = rest.find(|character| !stays(character)).unwrap_or(rest.len());
            if same > 0 {
                folded.add_part(start, true);
                folded.text.push_str(&rest[..same]);
                start += same;
            } else if let Some(alone) = fold_alone(character, table) {
                folded.add_part(start, alone.len_utf8() == character.len_utf8());
                folded.text.push(alone);
                start += character.len_utf8();
            } else {
                let end = end_of_cluster(source, start, table);
                folded.add_part(start, false);
                folded.text.extend(fold_together(&source[start..end], table));
                start = end;
            }
        }
        folded
    }

    fn add_part(&mut self, source: usize, is_same_length: bool) {
        if !(is_same_length && self.parts.last().is_some_and(|part| part.is_same_length)) {
            self.parts.push(FoldedPart { folded: self.text.len(), source, is_same_length });
        }
    }

    /// Source start of the character at this byte.
    pub(crate) fn source_start(&self, folded: usize) -> usize {
        let Some(part) = self.part_of(folded) else { return 0 };
        if part.is_same_length { part.source + (folded - part.folded) } else { part.source }
    }

    /// Source end of the character before this byte.
    pub(crate) fn source_end(&self, folded: usize) -> usize {
        let Some(last) = folded.checked_sub(1) else { return 0 };
        let next_part = self.parts.partition_point(|part| part.folded <= last);
        match next_part.checked_sub(1).and_then(|place| self.parts.get(place)) {
            Some(part) if part.is_same_length => part.source + (folded - part.folded),
            _ => self.parts.get(next_part).map_or(self.source_len, |next| next.source),
        }
    }

    fn part_of(&self, folded: usize) -> Option<&FoldedPart> {
        let next_part = self.parts.partition_point(|part| part.folded <= folded);
        next_part.checked_sub(1).and_then(|place| self.parts.get(place))
    }
}

/// End of the combining sequence at `start`.
fn end_of_cluster(text: &str, start: usize, table: &SimplifiedTable) -> usize {
    let rest = text[start..].char_indices().skip(1);
    let next = rest.map(|(place, character)| (start + place, character));
    let mut ends =
        next.filter(|(_, character)| fold_alone(*character, table).is_some() || begins_anew(*character));
    ends.next().map_or(text.len(), |(end, _)| end)
}

/// It never combines with its predecessor.
fn begins_anew(character: char) -> bool {
    // The neighbours of an ignored character may combine.
    if is_ignored(character) {
        return false;
    }
    let mut first = None;
    decompose_compatible(combining(character), |part| first = first.or(Some(part)));
    let first = first.unwrap_or(character);
    canonical_combining_class(first) == 0 && is_nfc_quick(std::iter::once(first)) == IsNormalized::Yes
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::fold;
    use crate::text::folding::tests::odd_text;

    #[test]
    fn folded_parts_map_to_their_source() {
        let source = "xe\u{301}\u{323}ﬁ각ｶﾞ國y";
        let folded = Folded::new(source);
        assert_eq!(folded.text, "xefi각ガ国y");
        let source_of = |part: &str| {
            let start = folded.text.find(part).unwrap();
            &source[folded.source_start(start)..folded.source_end(start + part.len())]
        };
        let parts = [("x", "x"), ("f", "ﬁ"), ("i", "ﬁ"), ("각", "각"), ("ガ", "ｶﾞ"), ("国y", "國y")];
        for (part, expected) in parts {
            assert_eq!(source_of(part), expected, "{part}");
        }
        assert_eq!((folded.source_end(0), folded.source_start(folded.text.len())), (0, source.len()));
    }

    proptest! {
        #![proptest_config(trawl_seeds::cases(512))]

        #[test]
        fn every_folded_character_maps_to_its_source(text in odd_text()) {
            let folded = Folded::new(&text);
            let whole = fold(&text);
            prop_assert_eq!(&*folded.text, &*whole);
            let mut before = (0, 0);
            for (start, character) in whole.char_indices() {
                let source = (folded.source_start(start), folded.source_end(start + character.len_utf8()));
                prop_assert!(text.is_char_boundary(source.0) && text.is_char_boundary(source.1));
                prop_assert!(source.0 < source.1 && source.0 >= before.0 && source.1 >= before.1);
                prop_assert!(fold(&text[source.0..source.1]).contains(character));
                before = source;
            }
        }
    }
}
