//! Leaves out words of a search by time that finds nothing.

use serde::{Deserialize, Serialize};
use trawl_engine::query::RelaxableKeyword;

/// Further words are left out.
const MAX_WORDS: usize = 16;

/// Rare words that are tried as the first one kept.
const STARTS: usize = 3;

/// A keyword without some of its words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Relaxation {
    pub(crate) keyword: String,
    pub(crate) left_out: Vec<String>,
}

#[async_trait::async_trait]
pub(crate) trait MatchCounter: Sync {
    /// Matches of a keyword.
    async fn count(&self, keyword: String) -> u64;
}

/// Keeps as many words as some item holds, and the rarest rather than others.
///
/// `None` if nothing is found so.
pub(crate) async fn relax(keyword: &str, matches: &impl MatchCounter) -> Option<Relaxation> {
    let mut keyword = RelaxableKeyword::read(keyword);
    let is_one_word = keyword.words().count() == 1 && !keyword.has_stop_words() && !keyword.has_fixed_text();
    if is_one_word && keyword.parted(|_| true).is_none() {
        return None;
    }
    let mut counts = counts(&keyword, matches).await;
    let parted = keyword.parted(|word| counts.get(word) == Some(&0));
    if let Some(parted) = parted {
        counts = self::counts(&parted, matches).await;
        keyword = parted;
    }
    let mut by_rarity: Vec<(u64, usize)> =
        counts.into_iter().zip(0..).filter(|(count, _)| *count > 0).collect();
    by_rarity.sort_unstable();
    let mut best: Vec<usize> = Vec::new();
    for &(_, first) in by_rarity.iter().take(STARTS) {
        let mut kept = vec![first];
        for &(_, word) in by_rarity.iter().filter(|(_, word)| *word != first) {
            let more = keyword.keeping(|number| number == word || kept.contains(&number));
            if matches.count(more).await > 0 {
                kept.push(word);
            }
        }
        if kept.len() > best.len() {
            best = kept;
        }
    }
    let left_out = keyword.left_out(|number| best.contains(&number));
    let is_less = keyword.has_stop_words() || !left_out.is_empty();
    let kept = keyword.keeping(|number| best.contains(&number));
    let finds = !best.is_empty() || keyword.has_fixed_text() && matches.count(kept.clone()).await > 0;
    (is_less && finds).then_some(Relaxation { keyword: kept, left_out })
}

/// Matches of each word beside what stays.
async fn counts(keyword: &RelaxableKeyword, matches: &impl MatchCounter) -> Vec<u64> {
    let mut counts = Vec::new();
    for word in 0..keyword.words().count().min(MAX_WORDS) {
        counts.push(matches.count(keyword.keeping(|number| number == word)).await);
    }
    counts
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::{MatchCounter, Relaxation, relax};

    struct Items<'a>(&'a [&'a str]);

    #[async_trait::async_trait]
    impl MatchCounter for Items<'_> {
        async fn count(&self, keyword: String) -> u64 {
            let holds = |item: &&&str| {
                keyword.split_whitespace().all(|word| item.split(' ').any(|of_item| of_item == word))
            };
            self.0.iter().filter(holds).count() as u64
        }
    }

    fn relaxed(keyword: &str, items: &[&str]) -> Option<Relaxation> {
        relax(keyword, &Items(items)).now_or_never().flatten()
    }

    fn left_out(keyword: &str, items: &[&str]) -> Option<Vec<String>> {
        relaxed(keyword, items).map(|relaxation| relaxation.left_out)
    }

    #[test]
    fn item_with_most_words_decides_what_is_left_out() {
        let items = ["parental leave policy", "shanghai contractors", "leave"];
        assert_eq!(
            relaxed("parental leave policy shanghai contractors ", &items),
            Some(Relaxation {
                keyword: "parental leave policy ".to_owned(),
                left_out: vec!["shanghai".to_owned(), "contractors".to_owned()],
            })
        );
    }

    #[test]
    fn rarest_word_is_kept_where_items_hold_equally_many() {
        let items = ["harbour", "budget", "budget report"];
        assert_eq!(left_out("harbour budget", &items), Some(vec!["budget".to_owned()]));
    }

    #[test]
    fn nothing_is_left_out_where_no_word_is_found_or_one_is_typed() {
        assert_eq!(left_out("zebra quartz", &["harbour"]), None);
        assert_eq!(left_out("zebra", &["harbour"]), None);
        assert_eq!(left_out("harbour budget", &["harbour budget"]), None);
    }

    #[test]
    fn dictionary_word_that_nothing_holds_is_parted() {
        let items = ["联通 电信 合同", "公司"];
        assert_eq!(left_out("联通公司合同", &items), Some(vec!["联通公司".to_owned()]));
        assert_eq!(left_out("联通公司", &["联通 公司"]), Some(vec!["联通公司".to_owned()]));
        assert_eq!(left_out("联通公司", &["移动"]), None);
    }

    #[test]
    fn stop_words_are_dropped_in_silence() {
        assert_eq!(left_out("what is cobol", &["cobol"]), Some(Vec::new()));
    }
}
