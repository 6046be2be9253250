//! Asks both engines the same, and compares their pages.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use futures::{StreamExt, TryStreamExt, stream};
use trawl_engine::{Failure, HitPage, Request, Scope, Start, TimePosition, View};

use crate::questions::Question;

/// Two cores serve both engines.
const AT_ONCE: usize = 4;

/// Pages of the embedded engine and of OpenSearch.
pub(crate) struct Answered {
    pub(crate) question: Question,
    pub(crate) pages: [HitPage; 2],
}

/// Difference between two pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Difference {
    Total,
    Hits,
    Order,
    Items,
    End,
}

impl Answered {
    /// The first difference.
    pub(crate) fn difference(&self) -> Option<Difference> {
        let [embedded, opensearch] = &self.pages;
        let ids = |page: &HitPage| page.hits.iter().map(|hit| hit.id.clone()).collect::<Vec<_>>();
        let sorted = |page: &HitPage| {
            let mut ids = ids(page);
            ids.sort();
            ids
        };
        let items = |page: &HitPage| {
            let hits = page.hits.iter();
            hits.map(|hit| (hit.display_time, hit.item.clone(), hit.title_is_name)).collect::<Vec<_>>()
        };
        if embedded.total != opensearch.total {
            Some(Difference::Total)
        } else if sorted(embedded) != sorted(opensearch) {
            Some(Difference::Hits)
        } else if ids(embedded) != ids(opensearch) {
            Some(Difference::Order)
        } else if items(embedded) != items(opensearch) {
            Some(Difference::Items)
        } else if (embedded.more, embedded.cut) != (opensearch.more, opensearch.cut) {
            Some(Difference::End)
        } else {
            None
        }
    }

    /// Whether equal scores, rounded apart, bring another hit to the end of the page.
    pub(crate) fn differs_in_the_last_hit_alone(&self) -> bool {
        let [embedded, opensearch] = self.pages.each_ref().map(|page| &page.hits);
        let pairs = embedded.iter().zip(opensearch);
        embedded.len() == opensearch.len() && pairs.rev().skip(1).all(|(left, right)| left.id == right.id)
    }

    pub(crate) fn is_by_time(&self) -> bool {
        matches!(self.question.request.start, Start::Time { .. })
    }
}

impl fmt::Display for Answered {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Request { scope, principals, from, to, author, start, limit, .. } = &self.question.request;
        write!(
            formatter,
            "{:?}: `{}` in {}.{} for {principals:?}, {from:?}..{to:?} {author:?} {start:?} {limit}",
            self.difference(),
            self.question.keyword,
            scope.tenant,
            scope.module
        )?;
        for page in &self.pages {
            let ids: Vec<&str> = page.hits.iter().map(|hit| hit.id.as_str()).collect();
            write!(formatter, "\n    {} {ids:?} {} {}", page.total, page.more, page.cut)?;
        }
        Ok(())
    }
}

/// Asks both engines all questions, and for the following pages.
pub(crate) async fn ask(views: &[Arc<dyn View>; 2], questions: Vec<Question>) -> Vec<Answered> {
    let answered = stream::iter(questions).map(|question| async {
        let mut answers = vec![ask_both(views, question).await.unwrap()];
        if let Some(following) = answers.last().and_then(following) {
            answers.push(ask_both(views, following).await.unwrap());
        }
        answers
    });
    answered.buffer_unordered(AT_ONCE).collect::<Vec<_>>().await.into_iter().flatten().collect()
}

async fn ask_both(views: &[Arc<dyn View>; 2], question: Question) -> Result<Answered, Failure> {
    let request = Arc::new(question.request.clone());
    let [embedded, opensearch] = views;
    let pages = [embedded.search(&request).await?, opensearch.search(&request).await?];
    Ok(Answered { question, pages })
}

/// The page after this one, where a question goes on.
fn following(answered: &Answered) -> Option<Question> {
    let last = answered.pages[0].hits.last().filter(|_| answered.question.goes_on)?;
    let mut question = Question { goes_on: false, ..answered.question.clone() };
    let Start::Time { after, .. } = &mut question.request.start else { return None };
    *after = Some(TimePosition { display_time: last.display_time, id: Some(last.id.clone()) });
    Some(question)
}

/// Prints how many pages differ, and in which way.
pub(crate) fn print(title: &str, answered: &[&Answered]) {
    let mut differences: BTreeMap<Difference, usize> = BTreeMap::new();
    for difference in answered.iter().filter_map(|answered| answered.difference()) {
        *differences.entry(difference).or_default() += 1;
    }
    let found = answered.iter().filter(|answered| answered.pages[0].total > 0).count();
    let different: usize = differences.values().sum();
    println!(
        "{title}: {different} of {} pages differ, {found} found something {differences:?}",
        answered.len()
    );
}

/// Fails where the engines correct a keyword differently.
pub(crate) async fn correct(views: &[Arc<dyn View>; 2], keywords: Vec<(Scope, String)>) {
    let corrected = stream::iter(keywords).map(async |(scope, keyword)| {
        let (scopes, principals) = (Arc::from([Arc::new(scope)]), Arc::from(["g:1".to_owned()]));
        let [embedded, opensearch] = views;
        let embedded = embedded.unknown_words(&scopes, &principals, &keyword).await?;
        let opensearch = opensearch.unknown_words(&scopes, &principals, &keyword).await?;
        Ok::<_, Failure>((scopes, keyword, embedded, opensearch))
    });
    let corrected: Vec<_> = corrected.buffer_unordered(AT_ONCE).try_collect().await.unwrap();
    let changed = corrected.iter().filter(|(_, _, embedded, _)| embedded.correction.is_some()).count();
    println!("{} keywords, {changed} corrections", corrected.len());
    let different: Vec<_> =
        corrected.iter().filter(|(_, _, embedded, opensearch)| embedded != opensearch).collect();
    assert!(different.is_empty(), "{} of {}: {different:#?}", different.len(), corrected.len());
}
