//! What several pages say together. Sources change while they are checked, so only rows that were there before and
//! after are missed.

use std::collections::{HashMap, HashSet};

use super::page::{CheckedPage, Row, show};
use crate::settings::DeclaredOrder;

/// The first row of a page that an earlier page had too.
pub(super) fn find_repeated(pages: &[CheckedPage]) -> Option<String> {
    let mut seen: HashMap<&str, usize> = HashMap::new();
    for (number, page) in (1..).zip(pages) {
        let on_earlier = |row: &&Row| seen.get(row.id.as_str()).is_some_and(|earlier| *earlier < number);
        if let Some(row) = page.rows.iter().find(on_earlier) {
            return Some(format!(
                "page {number} repeats the row {} of page {}",
                show(&row.id),
                seen[row.id.as_str()]
            ));
        }
        seen.extend(page.rows.iter().map(|row| (row.id.as_str(), number)));
    }
    None
}

/// The first row that the large page had before and after, and that is on none of `pages`.
pub(super) fn find_lost(before: &CheckedPage, after: &CheckedPage, pages: &[CheckedPage]) -> Option<String> {
    let on_pages = ids(pages.iter().flat_map(|page| &page.rows));
    let still = ids(&after.rows);
    let lost: Vec<&Row> = before
        .rows
        .iter()
        .filter(|row| still.contains(row.id.as_str()) && !on_pages.contains(row.id.as_str()))
        .collect();
    let first = lost.first()?;
    Some(format!(
        "{} of {} rows are on no page, the first with the id {}",
        lost.len(),
        before.rows.len(),
        show(&first.id)
    ))
}

/// The first content whose id is another one the second time.
pub(super) fn find_unstable(first: &CheckedPage, second: &CheckedPage) -> Option<String> {
    let (first_ids, second_ids) = (ids(&first.rows), ids(&second.rows));
    let new: HashMap<&str, &Row> = second
        .rows
        .iter()
        .filter(|row| !first_ids.contains(row.id.as_str()))
        .map(|row| (row.content.as_str(), row))
        .collect();
    let mut gone = first.rows.iter().filter(|row| !second_ids.contains(row.id.as_str()));
    let (before, after) = gone.find_map(|row| Some((row, new.get(row.content.as_str())?)))?;
    Some(format!("the id {} became {}", show(&before.id), show(&after.id)))
}

/// Where the declared order is broken: by time, a row later than the one before it; by relevance, two rows of the large
/// page that the small ones have the other way round.
pub(super) fn find_misplaced(
    declared: DeclaredOrder,
    large: &CheckedPage,
    pages: &[CheckedPage],
) -> Option<String> {
    match declared {
        DeclaredOrder::Time => find_rising(std::slice::from_ref(large)).or_else(|| find_rising(pages)),
        DeclaredOrder::Relevance => find_swapped(large, pages),
    }
}

fn find_rising(pages: &[CheckedPage]) -> Option<String> {
    let mut before: Option<(usize, i64)> = None;
    for (number, page) in (1..).zip(pages) {
        for time in page.rows.iter().filter_map(|row| row.display_time) {
            if let Some((earlier, last)) = before
                && time > last
            {
                let place = if earlier == number {
                    format!("on page {number}")
                } else {
                    format!("from page {earlier} to page {number}")
                };
                return Some(format!("`displayTime` rises from {last} to {time} {place}"));
            }
            before = Some((number, time));
        }
    }
    None
}

fn find_swapped(large: &CheckedPage, pages: &[CheckedPage]) -> Option<String> {
    let places: HashMap<&str, usize> =
        large.rows.iter().enumerate().map(|(place, row)| (row.id.as_str(), place)).collect();
    let known: Vec<(&str, usize)> = pages
        .iter()
        .flat_map(|page| &page.rows)
        .filter_map(|row| places.get(row.id.as_str()).map(|place| (row.id.as_str(), *place)))
        .collect();
    let swapped = known.windows(2).find(|pair| pair[0].1 > pair[1].1)?;
    Some(format!(
        "the row {} comes before {}, and after it on one large page",
        show(swapped[0].0),
        show(swapped[1].0)
    ))
}

/// How the rows of a page differ from what they were.
pub(super) fn find_different(first: &CheckedPage, second: &CheckedPage) -> Option<String> {
    let place = (0..first.rows.len().max(second.rows.len())).find(|place| {
        first.rows.get(*place).map(|row| &row.id) != second.rows.get(*place).map(|row| &row.id)
    })?;
    let name = |page: &CheckedPage| {
        page.rows.get(place).map_or_else(|| "no row".to_owned(), |row| format!("the row {}", show(&row.id)))
    };
    Some(format!("data[{place}] was {} and is {} the second time", name(first), name(second)))
}

/// How many different rows the pages hold.
pub(super) fn count_different(pages: &[CheckedPage]) -> usize {
    ids(pages.iter().flat_map(|page| &page.rows)).len()
}

fn ids<'r>(rows: impl IntoIterator<Item = &'r Row>) -> HashSet<&'r str> {
    rows.into_iter().map(|row| row.id.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page of rows whose times are their numbers.
    fn page(rows: &[i64]) -> CheckedPage {
        let row = |number: &i64| Row {
            id: format!("\"{number}\""),
            display_time: Some(*number),
            content: format!("content {number}"),
        };
        CheckedPage { rows: rows.iter().map(row).collect(), total: None, cursor: None }
    }

    #[test]
    fn rows_are_repeated_from_page_to_page_only() {
        assert_eq!(find_repeated(&[page(&[5, 4]), page(&[3, 2])]), None);
        assert_eq!(find_repeated(&[page(&[5, 5])]), None);
        assert_eq!(count_different(&[page(&[5, 5]), page(&[4, 5])]), 2);
        let repeated = find_repeated(&[page(&[5, 4]), page(&[3]), page(&[4])]);
        assert_eq!(repeated.unwrap(), "page 3 repeats the row \"4\" of page 1");
    }

    #[test]
    fn only_rows_that_stayed_are_missed() {
        let large = page(&[5, 4, 3]);
        assert_eq!(find_lost(&large, &large, &[page(&[5]), page(&[4, 3])]), None);
        assert_eq!(find_lost(&large, &page(&[5, 3]), &[page(&[5, 3])]), None);
        let lost = find_lost(&large, &large, &[page(&[5, 3])]);
        assert_eq!(lost.unwrap(), "1 of 3 rows are on no page, the first with the id \"4\"");
    }

    #[test]
    fn an_id_is_unstable_when_its_content_has_another_one() {
        let first = page(&[5, 4]);
        assert_eq!(find_unstable(&first, &page(&[6, 5])), None);
        let mut renamed = page(&[5, 4]);
        renamed.rows[1].id = "\"x\"".to_owned();
        assert_eq!(find_unstable(&first, &renamed).unwrap(), "the id \"4\" became \"x\"");
        // Two rows of the same content that swap places keep their ids.
        let mut twins = page(&[5, 4]);
        twins.rows[1].content = twins.rows[0].content.clone();
        let mut swapped = twins.clone();
        swapped.rows.swap(0, 1);
        assert_eq!(find_unstable(&twins, &swapped), None);
    }

    #[test]
    fn time_order_is_kept_within_and_across_pages() {
        let broken = |pages: &[CheckedPage]| find_misplaced(DeclaredOrder::Time, &page(&[]), pages);
        assert_eq!(broken(&[page(&[5, 4]), page(&[4, 3])]), None);
        assert_eq!(
            broken(&[page(&[5]), page(&[6])]).unwrap(),
            "`displayTime` rises from 5 to 6 from page 1 to page 2"
        );
        assert_eq!(broken(&[page(&[5, 6])]).unwrap(), "`displayTime` rises from 5 to 6 on page 1");
    }

    #[test]
    fn relevance_order_is_that_of_one_large_page() {
        let broken =
            |pages: &[CheckedPage]| find_misplaced(DeclaredOrder::Relevance, &page(&[1, 5, 3]), pages);
        assert_eq!(broken(&[page(&[1]), page(&[9, 5, 3])]), None);
        assert!(broken(&[page(&[5]), page(&[1, 3])]).unwrap().contains("\"5\" comes before \"1\""));
    }

    #[test]
    fn a_page_is_the_same_when_its_rows_are() {
        assert_eq!(find_different(&page(&[2, 1]), &page(&[2, 1])), None);
        let shorter = find_different(&page(&[2, 1]), &page(&[2]));
        assert_eq!(shorter.unwrap(), "data[1] was the row \"1\" and is no row the second time");
    }
}
