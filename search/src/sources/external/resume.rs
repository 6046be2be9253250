//! Resumes in a page, however the source cuts it now.

use std::cmp::Reverse;

use super::raw_page::RawItem;
use crate::source::{ConsumedPart, ResultItem};

/// A source that cuts its pages more often may repeat an item.
const MAX_PARTS: usize = 16;

pub(super) struct Resume<'a> {
    /// Each item with the parts consumed after it.
    pub(super) items: Vec<(&'a RawItem, Vec<ConsumedPart>)>,
    pub(super) behind: Vec<ConsumedPart>,
}

impl ConsumedPart {
    /// Marks `count` items as consumed, in time order before an item of this time.
    fn all(count: usize, time: Option<i64>) -> Self {
        // This id sorts behind all others.
        Self { count, display_time: time.unwrap_or(i64::MIN), id: char::MAX.to_string() }
    }

    fn up_to(count: usize, item: &ResultItem) -> Self {
        Self { count, display_time: item.display_time, id: item.id.clone() }
    }

    fn contains(&self, item: &ResultItem) -> bool {
        by_time(item) <= (Reverse(self.display_time), &self.id)
    }
}

fn by_time(item: &ResultItem) -> (Reverse<i64>, &str) {
    (Reverse(item.display_time), &item.id)
}

/// Sorts each part by itself, then the new items.
///
/// The last page is one part, which new items only shift. If the source `is_ordered`, the last consumed time decides; only its ties need
/// the parts.
pub(super) fn resume_by_time<'a>(
    items: &'a [RawItem],
    consumed: &[ConsumedPart],
    is_last: bool,
    is_ordered: bool,
) -> Resume<'a> {
    let mut resume = resume_parts(items, consumed, is_last, is_ordered);
    let last_time = consumed.iter().map(|part| part.display_time).min();
    if let Some(last_time) = last_time.filter(|_| is_ordered) {
        let is_last_consumed = |item: &ResultItem| {
            consumed.iter().any(|part| part.id == item.id && part.display_time == item.display_time)
        };
        resume.items.retain(|(raw, _)| raw.item.display_time <= last_time && !is_last_consumed(&raw.item));
    }
    resume
}

fn resume_parts<'a>(
    items: &'a [RawItem],
    consumed: &[ConsumedPart],
    is_last: bool,
    is_ordered: bool,
) -> Resume<'a> {
    let part_count = |count| if is_last { usize::MAX } else { count };
    let mut resume = Resume { items: Vec::with_capacity(items.len()), behind: Vec::new() };
    let mut unread = items;
    for (number, part) in consumed.iter().enumerate() {
        let (these, others) = unread.split_at(part.count.min(unread.len()));
        let preceding = Preceding { count: items.len() - unread.len(), is_ordered };
        unread = others;
        let mut behind = consumed[number..].to_vec();
        behind[0].count -= these.len();
        let behind: Vec<ConsumedPart> = behind.into_iter().filter(|part| part.count > 0).collect();
        let left = these.iter().filter(|raw| !part.contains(&raw.item)).collect();
        if unread.is_empty() {
            resume.behind = if is_last { Vec::new() } else { behind };
            let count = part_count(these.len());
            push_part(&mut resume.items, left, preceding, count, &resume.behind);
            return resume;
        }
        push_part(&mut resume.items, left, preceding, these.len(), &behind);
    }
    let preceding = Preceding { count: items.len() - unread.len(), is_ordered };
    let count = part_count(unread.len());
    push_part(&mut resume.items, unread.iter().collect(), preceding, count, &[]);
    resume
}

/// Continues behind the last consumed item, or at its rank if it is gone.
pub(super) fn resume_by_rank<'a>(items: &'a [RawItem], consumed: &[ConsumedPart]) -> Resume<'a> {
    let rank = consumed.iter().map(|part| part.count).fold(0, usize::saturating_add);
    let found = consumed.last().and_then(|last| items.iter().position(|raw| raw.item.id == last.id));
    let preceding = found.map_or(rank.min(items.len()), |place| place + 1);
    let behind = match consumed.last() {
        Some(last) if found.is_none() && rank > preceding => {
            vec![ConsumedPart { count: rank - preceding, ..last.clone() }]
        }
        _ => Vec::new(),
    };
    let up_to = |(index, raw): (usize, &'a RawItem)| (raw, vec![ConsumedPart::up_to(index + 1, &raw.item)]);
    Resume { items: items.iter().enumerate().skip(preceding).map(up_to).collect(), behind }
}

#[derive(Clone, Copy)]
struct Preceding {
    count: usize,
    is_ordered: bool,
}

fn push_part<'a>(
    to: &mut Vec<(&'a RawItem, Vec<ConsumedPart>)>,
    mut left: Vec<&'a RawItem>,
    preceding: Preceding,
    count: usize,
    behind: &[ConsumedPart],
) {
    left.sort_by(|left, right| by_time(&left.item).cmp(&by_time(&right.item)));
    to.extend(left.into_iter().map(|raw| {
        let time = preceding.is_ordered.then_some(raw.item.display_time);
        let before = (preceding.count > 0).then(|| ConsumedPart::all(preceding.count, time));
        let parts =
            before.into_iter().chain([ConsumedPart::up_to(count, &raw.item)]).chain(behind.iter().cloned());
        (raw, parts.take(MAX_PARTS).collect())
    }));
}
