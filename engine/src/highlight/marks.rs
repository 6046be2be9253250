/// Range in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) matched: MatchBits,
}

/// Matched terms and phrases, one bit each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct MatchBits {
    pub(super) terms: u128,
    pub(super) phrases: u64,
}

impl MatchBits {
    pub(super) fn and(self, other: Self) -> Self {
        Self { terms: self.terms | other.terms, phrases: self.phrases | other.phrases }
    }

    pub(super) fn numbers(self) -> impl Iterator<Item = usize> {
        let phrases = bits(u128::from(self.phrases)).map(|phrase| phrase + u128::BITS);
        bits(self.terms).chain(phrases).map(|bit| bit as usize)
    }

    pub(super) const COUNT: usize = (u128::BITS + u64::BITS) as usize;
}

fn bits(mut word: u128) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let bit = word.trailing_zeros();
        word &= word.checked_sub(1)?;
        Some(bit)
    })
}

/// Merges overlapping and touching marks.
pub(super) fn merge(marks: impl Iterator<Item = Mark>) -> Vec<Mark> {
    let mut marks: Vec<Mark> = marks.collect();
    marks.sort_unstable_by_key(|mark| mark.start);
    marks.dedup_by(|next, merged| {
        let together = next.start <= merged.end;
        if together {
            merged.end = merged.end.max(next.end);
            merged.matched = merged.matched.and(next.matched);
        }
        together
    });
    marks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(start: usize, end: usize, terms: u128) -> Mark {
        Mark { start, end, matched: MatchBits { terms, phrases: 0 } }
    }

    #[test]
    fn touching_marks_are_merged() {
        let marks = [mark(7, 9, 1), mark(0, 2, 2), mark(2, 3, 4), mark(4, 8, 8), mark(5, 6, 16)];
        assert_eq!(merge(marks.into_iter()), [mark(0, 3, 6), mark(4, 9, 25)]);
    }

    #[test]
    fn match_bits_are_listed_by_number() {
        let matched = MatchBits { terms: 1 << 127 | 5, phrases: 1 << 63 | 1 };
        assert!(matched.numbers().eq([0, 2, 127, 128, MatchBits::COUNT - 1]));
        assert_eq!(MatchBits::default().numbers().count(), 0);
    }
}
