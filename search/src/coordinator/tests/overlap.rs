//! Sources whose pages overlap, or lead back to the first one.

use trawl_connectors::{Answer, ContentItem, DeclaredOrder};

use super::*;
use crate::{
    source::{Position, SourceFailure, SourcePage, SourceRequest},
    sources::external::{RawPage, into_page, resume_point},
};

const ROWS: usize = 60;
const ID: &str = "overlapping";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Overlap {
    /// Pages begin with the last row of the page before.
    InclusiveCursor,
    /// Pages begin one row behind the begin of the page before.
    PageNumberAsOffset,
    /// The first page follows the last one.
    Circle,
}

#[derive(Debug)]
struct OverlappingSource {
    overlap: Overlap,
    page_size: usize,
}

fn row(number: usize) -> ContentItem {
    let display_time = 1_000 - i64::try_from(number).unwrap();
    ContentItem { id: format!("row {number}"), display_time, ..ContentItem::default() }
}

#[async_trait::async_trait]
impl PagedSource for OverlappingSource {
    fn id(&self) -> &str {
        ID
    }

    fn name(&self) -> &str {
        ID
    }

    async fn page(&self, request: &SourceRequest, position: &Position) -> Result<SourcePage, SourceFailure> {
        let Some((cursor, consumed)) = resume_point(position) else { return Ok(SourcePage::default()) };
        let begin: usize = cursor.map_or(0, |cursor| cursor.parse().unwrap());
        let end = (begin + self.page_size).min(ROWS);
        let next = match self.overlap {
            _ if end == ROWS && self.overlap == Overlap::Circle => Some(0),
            _ if end == ROWS => None,
            Overlap::InclusiveCursor => Some(end - 1),
            Overlap::PageNumberAsOffset => Some(begin + 1),
            Overlap::Circle => Some(end),
        };
        let items = (begin..end).map(row).collect();
        let answer = Answer { items, cursor: next.map(|next| next.to_string()), ..Answer::default() };
        let raw = RawPage::read(answer, DeclaredOrder::Time, cursor)?;
        Ok(into_page(&raw, request, DeclaredOrder::Time, cursor, consumed))
    }
}

#[test]
fn each_row_of_overlapping_pages_is_shown_once_and_the_rest_told() {
    for overlap in [Overlap::InclusiveCursor, Overlap::PageNumberAsOffset, Overlap::Circle] {
        for (page_size, limit) in [(5, 5), (5, 3), (5, 12), (10, 10), (10, 4)] {
            for order in [SearchOrder::Time, SearchOrder::Relevance] {
                let sources = shared(vec![OverlappingSource { overlap, page_size }]);
                let first = TestSearch { order, ..request(limit) };
                let answers = paused_runtime().block_on(follow_cursor(&sources, first, &[limit]));
                let expected: Vec<String> = (0..ROWS).map(|number| row(number).id).collect();
                assert_eq!(ids(&answers), expected, "{overlap:?} {page_size} {limit} {order:?}");
                let told = answers.iter().filter_map(|answer| answer.sources[0].message.as_deref());
                let told = told.filter(|told| told.contains("repeat an id") || told.contains("form a loop"));
                assert!(told.count() > 0, "{overlap:?} {page_size} {limit} {order:?}");
            }
        }
    }
}
