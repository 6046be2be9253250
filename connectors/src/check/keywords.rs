//! Keywords whose rows are known: an empty success does not prove that one was understood.

use super::clause::ContractClause;
use super::page::{CheckedPage, show};
use super::session::CheckSession;
use crate::request::ContractParameters;

/// Rows that prove that a keyword was understood.
const ROWS: usize = 5;
/// Fewer characters may be no word to a search.
const SHORTEST_RUN: usize = 2;
const SHORTEST_WORD: usize = 3;

impl CheckSession<'_> {
    /// Searches for `found`, which has the rows of `first`, and for words of their titles.
    pub(super) async fn check_words_of_titles(&mut self, found: &str, first: &CheckedPage) {
        if first.rows.is_empty() {
            return;
        }
        self.check_escapes(found).await;
        let titles = || first.rows.iter().map(|row| row.title.as_str());
        if let Some(run) = titles().find_map(chinese_run) {
            self.check_finds(ContractClause::KeywordChinese, run).await;
        }
        if let Some((one, other)) = titles().find_map(two_words)
            && self.finds(one).await
            && self.finds(other).await
        {
            self.check_finds(ContractClause::KeywordSpaces, &format!("{one} {other}")).await;
        }
    }

    /// A source that does not decode its query finds nothing by escaped letters.
    async fn check_escapes(&mut self, found: &str) {
        if !self.probe.sends_queries() {
            return;
        }
        let plain = ContractParameters::first_page(found, ROWS);
        let escaped = ContractParameters { escapes_keyword: true, ..plain };
        let clause = ContractClause::KeywordSpecials;
        if let Some((page, curl)) = self.page(clause, escaped).await
            && page.rows.is_empty()
        {
            let seen =
                format!("no rows for {}, whose letters are escaped: its query is not decoded", show(found));
            self.verdicts.fail(clause, seen, &curl);
        }
    }

    async fn check_finds(&mut self, clause: ContractClause, keyword: &str) {
        let parameters = ContractParameters::first_page(keyword, ROWS);
        if let Some((page, curl)) = self.page(clause, parameters).await
            && page.rows.is_empty()
        {
            let seen = format!("no rows for {}, which stands in a title that was seen", show(keyword));
            self.verdicts.fail(clause, seen, &curl);
        }
    }

    async fn finds(&mut self, keyword: &str) -> bool {
        let parameters = ContractParameters::first_page(keyword, ROWS);
        let exchange = self.probe.call(parameters, &self.credentials).await;
        self.read(&exchange, Some(ROWS)).is_ok_and(|page| !page.rows.is_empty())
    }
}

fn is_chinese(character: char) -> bool {
    ('\u{4e00}'..='\u{9fff}').contains(&character)
}

fn chinese_run(title: &str) -> Option<&str> {
    title.split(|character| !is_chinese(character)).find(|run| run.chars().count() >= SHORTEST_RUN)
}

/// Two neighbours of letters alone, which no search cuts further.
fn two_words(title: &str) -> Option<(&str, &str)> {
    let is_word =
        |word: &str| word.len() >= SHORTEST_WORD && word.bytes().all(|byte| byte.is_ascii_alphabetic());
    let words: Vec<&str> = title.split(' ').collect();
    let pairs = words.windows(2).map(|pair| (pair[0], pair[1]));
    pairs.filter(|(one, other)| is_word(one) && is_word(other)).find(|(one, other)| one != other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_taken_from_titles() {
        assert_eq!(two_words("Report 7 of the harbour"), Some(("the", "harbour")));
        assert_eq!(two_words("Budget & forecast"), None);
        assert_eq!(two_words("again again"), None);
        assert_eq!(chinese_run("Plan 港口年度报告 2"), Some("港口年度报告"));
        assert_eq!(chinese_run("第 1 页"), None);
    }
}
