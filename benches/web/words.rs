//! Search words from common to rare.

use std::collections::BTreeMap;

/// Latin letters.
const LETTERS: std::ops::RangeInclusive<usize> = 4..=9;
const IDEOGRAPHS: usize = 2;
/// Fewer texts might all be invisible to the person.
const FEWEST: usize = 3;

/// Chooses pairs of words of similar frequency.
///
/// Common pairs alternate with rare ones.
pub(crate) fn spread(texts: &[String], count: usize) -> Vec<String> {
    let mut found: BTreeMap<String, usize> = BTreeMap::new();
    for text in texts {
        for word in words(text) {
            *found.entry(word).or_default() += 1;
        }
    }
    let mut words: Vec<(String, usize)> = found.into_iter().filter(|(_, texts)| *texts >= FEWEST).collect();
    words.sort_by(|(one, in_one), (other, in_other)| in_other.cmp(in_one).then_with(|| one.cmp(other)));
    assert!(words.len() >= count, "{} words are too few", words.len());
    // Geometric steps over the ranks.
    let step = (words.len() as f64).powf(1.0 / count as f64);
    let mut places: Vec<usize> = Vec::with_capacity(count);
    for number in 0..count {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place in the list")]
        let place = step.powf(number as f64) as usize;
        // The first steps would repeat a rank.
        places.push(place.max(places.last().map_or(0, |last| last + 1)));
    }
    let chosen: Vec<String> =
        places.into_iter().map(|place| words[place.min(words.len() - 1)].0.clone()).collect();
    // One word of each pair is typed, the other requested by HTTP.
    let pairs: Vec<&[String]> = chosen.chunks(2).collect();
    let (common, rare) = pairs.split_at(pairs.len().div_ceil(2));
    let mut spread: Vec<&[String]> = Vec::with_capacity(pairs.len());
    for (place, pair) in common.iter().enumerate() {
        spread.push(pair);
        spread.extend(rare.get(place));
    }
    spread.concat()
}

fn words(text: &str) -> Vec<String> {
    let latin = text
        .split(|character: char| !character.is_ascii_alphabetic())
        .filter(|word| LETTERS.contains(&word.len()))
        .map(str::to_ascii_lowercase);
    let ideographs: Vec<char> = text.chars().collect();
    let ideographs = ideographs
        .windows(IDEOGRAPHS)
        .filter(|pair| pair.iter().all(|character| ('\u{4e00}'..='\u{9fff}').contains(character)))
        .map(|pair| pair.iter().collect());
    let mut all: Vec<String> = latin.chain(ideographs).collect();
    all.sort_unstable();
    all.dedup();
    all
}
