//! Stretches of a text that match.

/// A stretch of a text, in bytes, and what it matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) matched: Matched,
}

/// What of a query is matched.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Matched {
    /// One bit for each term.
    pub(super) terms: u128,
    /// One bit for each phrase.
    pub(super) phrases: u64,
}

impl Matched {
    /// Both together.
    pub(super) fn and(self, other: Self) -> Self {
        Self { terms: self.terms | other.terms, phrases: self.phrases | other.phrases }
    }

    /// The numbers of what is matched, each below [`Self::MOST`].
    pub(super) fn each(self) -> impl Iterator<Item = usize> {
        let phrases = bits(u128::from(self.phrases)).map(|phrase| phrase + u128::BITS);
        bits(self.terms).chain(phrases).map(|bit| bit as usize)
    }

    /// What there may be to be matched.
    pub(super) const MOST: usize = (u128::BITS + u64::BITS) as usize;
}

fn bits(mut word: u128) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let bit = word.trailing_zeros();
        // None but the bits that are left.
        word &= word.checked_sub(1)?;
        Some(bit)
    })
}

/// Makes one of all marks that overlap or touch each other.
pub(super) fn merge(marks: impl Iterator<Item = Mark>) -> Vec<Mark> {
    let mut marks: Vec<Mark> = marks.collect();
    marks.sort_unstable_by_key(|mark| mark.start);
    marks.dedup_by(|next, kept| {
        let together = next.start <= kept.end;
        if together {
            kept.end = kept.end.max(next.end);
            kept.matched = kept.matched.and(next.matched);
        }
        together
    });
    marks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(start: usize, end: usize, terms: u128) -> Mark {
        Mark { start, end, matched: Matched { terms, phrases: 0 } }
    }

    #[test]
    fn what_touches_becomes_one() {
        let marks = [mark(7, 9, 1), mark(0, 2, 2), mark(2, 3, 4), mark(4, 8, 8), mark(5, 6, 16)];
        assert_eq!(merge(marks.into_iter()), [mark(0, 3, 6), mark(4, 9, 25)]);
    }

    #[test]
    fn matches_are_numbered() {
        let matched = Matched { terms: 1 << 127 | 5, phrases: 1 << 63 | 1 };
        assert!(matched.each().eq([0, 2, 127, 128, Matched::MOST - 1]));
        assert_eq!(Matched::default().each().count(), 0);
    }
}
