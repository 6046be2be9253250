//! What is left of a page of an external source that was begun before, however it is cut now.

use std::cmp::Reverse;

use super::Row;
use crate::search::source::{Item, Taken};

/// How often a position may say that a page was cut elsewhere; a source that does so more often may repeat an item.
const MOST_CUTS: usize = 16;

/// What is left of a page.
pub(super) struct Left<'a> {
    /// The items in the order in which they are taken, each with what is taken once it is.
    pub(super) rows: Vec<(&'a Row, Vec<Taken>)>,
    /// What was taken of the pages behind.
    pub(super) behind: Vec<Taken>,
}

impl Taken {
    /// The same of so many items.
    fn of(&self, count: usize) -> Self {
        Self { count, ..self.clone() }
    }

    /// So many items, all of which were taken, before one of this time if they are in time order.
    fn all(count: usize, time: Option<i64>) -> Self {
        // No item of the time stands behind this one, or none at all.
        Self { count, display_time: time.unwrap_or(i64::MIN), id: char::MAX.to_string() }
    }

    fn up_to(count: usize, item: &Item) -> Self {
        Self { count, display_time: item.display_time, id: item.id.clone() }
    }

    fn has(&self, item: &Item) -> bool {
        by_time(item) <= (Reverse(self.display_time), &self.id)
    }
}

/// The order of a page by time.
fn by_time(item: &Item) -> (Reverse<i64>, &str) {
    (Reverse(item.display_time), &item.id)
}

/// By time: what stood on one page is ordered together, and then what the page did not hold then. Where no page is behind it,
/// the page holds all there is: whatever stands on it later is judged by the last item taken, as new ones only shift it.
///
/// Where all of the source `is_ordered` by time, nothing above the last item taken is left, and nothing below it is gone,
/// wherever items come and go; only those of its very time have to be told apart by what stood together.
pub(super) fn left_by_time<'a>(
    rows: &'a [Row],
    taken: &[Taken],
    is_last: bool,
    is_ordered: bool,
) -> Left<'a> {
    let mut left = left_of_parts(rows, taken, is_last, is_ordered);
    let last_time = taken.iter().map(|part| part.display_time).min();
    if let Some(last_time) = last_time.filter(|_| is_ordered) {
        let is_last_taken = |item: &Item| {
            taken.iter().any(|part| part.id == item.id && part.display_time == item.display_time)
        };
        left.rows.retain(|(row, _)| row.item.display_time <= last_time && !is_last_taken(&row.item));
    }
    left
}

fn left_of_parts<'a>(rows: &'a [Row], taken: &[Taken], is_last: bool, is_ordered: bool) -> Left<'a> {
    let all_there_is = |count| if is_last { usize::MAX } else { count };
    let mut left = Left { rows: Vec::with_capacity(rows.len()), behind: Vec::new() };
    let mut unread = rows;
    for (number, part) in taken.iter().enumerate() {
        let (these, others) = unread.split_at(part.count.min(unread.len()));
        let gone = rows.len() - unread.len();
        unread = others;
        // What of this part stands on the pages behind now was judged before, and so were the parts after it.
        let mut behind = taken[number..].to_vec();
        behind[0].count -= these.len();
        let behind: Vec<Taken> = behind.into_iter().filter(|part| part.count > 0).collect();
        let wanted = these.iter().filter(|row| !part.has(&row.item)).collect();
        if unread.is_empty() {
            left.behind = if is_last { Vec::new() } else { behind };
            let count = all_there_is(these.len());
            push_in_order(&mut left.rows, wanted, Gone { count: gone, is_ordered }, count, &left.behind);
            return left;
        }
        push_in_order(&mut left.rows, wanted, Gone { count: gone, is_ordered }, these.len(), &behind);
    }
    let gone = rows.len() - unread.len();
    let count = all_there_is(unread.len());
    push_in_order(&mut left.rows, unread.iter().collect(), Gone { count: gone, is_ordered }, count, &[]);
    left
}

/// By relevance, in the source's own order: all behind the last item that was taken, or behind its rank where it is gone.
pub(super) fn left_by_rank<'a>(rows: &'a [Row], taken: &[Taken]) -> Left<'a> {
    let rank = taken.iter().map(|part| part.count).fold(0, usize::saturating_add);
    let found = taken.last().and_then(|last| rows.iter().position(|row| row.item.id == last.id));
    let gone = found.map_or(rank.min(rows.len()), |place| place + 1);
    let behind = match taken.last() {
        Some(last) if found.is_none() && rank > gone => vec![last.of(rank - gone)],
        _ => Vec::new(),
    };
    let up_to = |(index, row): (usize, &'a Row)| (row, vec![Taken::up_to(index + 1, &row.item)]);
    Left { rows: rows.iter().enumerate().skip(gone).map(up_to).collect(), behind }
}

/// The items before a part.
#[derive(Clone, Copy)]
struct Gone {
    count: usize,
    is_ordered: bool,
}

/// Puts a part of `count` items, of which these are left, behind the `gone` ones before it.
fn push_in_order<'a>(
    to: &mut Vec<(&'a Row, Vec<Taken>)>,
    mut part: Vec<&'a Row>,
    gone: Gone,
    count: usize,
    behind: &[Taken],
) {
    part.sort_by(|left, right| by_time(&left.item).cmp(&by_time(&right.item)));
    to.extend(part.into_iter().map(|row| {
        let time = gone.is_ordered.then_some(row.item.display_time);
        let before = (gone.count > 0).then(|| Taken::all(gone.count, time));
        let taken = before.into_iter().chain([Taken::up_to(count, &row.item)]).chain(behind.iter().cloned());
        (row, taken.take(MOST_CUTS).collect())
    }));
}
