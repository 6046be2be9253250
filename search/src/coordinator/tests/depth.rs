//! Sources that end at a depth, before the matches that they state.

use trawl_connectors::{Answer, ContentItem, DeclaredOrder};

use super::*;
use crate::{
    source::{FailureKind, Position, SourceFailure, SourcePage, SourceRequest},
    sources::external::{RawPage, into_page, resume_point},
};

/// Thirty rows of five hundred in three pages, then a refusal or an end.
struct ShallowSource {
    refuses: bool,
    is_cursor_fault: bool,
}

#[async_trait::async_trait]
impl PagedSource for ShallowSource {
    fn id(&self) -> &'static str {
        "shallow"
    }

    fn name(&self) -> &'static str {
        "shallow"
    }

    async fn page(&self, request: &SourceRequest, position: &Position) -> Result<SourcePage, SourceFailure> {
        let Some((cursor, consumed)) = resume_point(position) else { return Ok(SourcePage::default()) };
        let page: i64 = cursor.map_or(0, |cursor| cursor.parse().unwrap());
        if page == 3 {
            let failure = SourceFailure::new(FailureKind::Error, "the source answered with HTTP 422");
            return Err(SourceFailure { is_cursor_fault: self.is_cursor_fault, ..failure });
        }
        let item = |number: i64| ContentItem {
            id: number.to_string(),
            display_time: 1_000 - number,
            ..ContentItem::default()
        };
        let items = (page * 10..page * 10 + 10).map(item).collect();
        let next = (page < 2 || self.refuses).then(|| (page + 1).to_string());
        let notes = vec!["`count` is missing".to_owned()];
        let answer = Answer { items, cursor: next, total: Some(500), notes, ..Answer::default() };
        let raw = RawPage::read(answer, DeclaredOrder::Time, cursor)?;
        Ok(into_page(&raw, request, DeclaredOrder::Time, cursor, consumed))
    }
}

#[test]
fn refused_depth_ends_the_chain_and_is_told() {
    for limit in [1, 10, 15, 100] {
        for refuses in [true, false] {
            let sources = shared(vec![ShallowSource { refuses, is_cursor_fault: true }]);
            let answers = paused_runtime().block_on(follow_cursor(&sources, request(limit), &[limit]));
            assert_eq!(ids(&answers).len(), 30, "{limit} {refuses}");
            let last = answers.last().unwrap();
            let report = &last.sources[0];
            let message = report.message.as_deref().unwrap_or_default();
            assert_eq!(
                (report.status, last.partial, last.total),
                (Status::Ok, false, 500),
                "{limit} {refuses}"
            );
            let end = "it shows no more: 30 of the 500 matches that it states";
            let refusal =
                if refuses { "; it refused its next page (the source answered with HTTP 422)" } else { "" };
            assert!(message.ends_with(&format!("{end}{refusal}")), "{limit} {refuses}: {message}");
        }
    }
}

#[test]
fn other_failure_at_a_depth_keeps_the_place() {
    let sources = shared(vec![ShallowSource { refuses: true, is_cursor_fault: false }]);
    let answer = paused_runtime().block_on(search(&sources, &request(100))).unwrap();
    assert!(answer.partial && answer.cursor.is_some());
    assert_eq!(answer.sources[0].status, Status::Error);
}

#[test]
fn early_end_is_not_told_where_filters_hide_rows() {
    let sources = shared(vec![ShallowSource { refuses: false, is_cursor_fault: true }]);
    let filters = Filters { from: Some(980), ..Filters::default() };
    let answer =
        paused_runtime().block_on(search(&sources, &TestSearch { filters, ..request(100) })).unwrap();
    assert_eq!(answer.sources[0].message.as_deref(), Some("`count` is missing"));
}
