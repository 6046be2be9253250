//! Comparison of several pages.
//!
//! Sources change during a check, so only rows of both large pages count as lost.

use std::collections::{HashMap, HashSet};

use super::page::{CheckedPage, ItemDigest, show};

/// A row that an earlier page had.
pub(super) fn find_repeated(pages: &[CheckedPage]) -> Option<String> {
    let mut seen: HashMap<&str, usize> = HashMap::new();
    for (number, page) in (1..).zip(pages) {
        let on_earlier =
            |row: &&ItemDigest| seen.get(row.id.as_str()).is_some_and(|earlier| *earlier < number);
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

/// A row of both large pages that no small page has.
pub(super) fn find_lost(before: &CheckedPage, after: &CheckedPage, pages: &[CheckedPage]) -> Option<String> {
    let on_pages = ids(pages.iter().flat_map(|page| &page.rows));
    let still = ids(&after.rows);
    let lost: Vec<&ItemDigest> = before
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

/// A row of a small page that complete large pages lack.
pub(super) fn find_foreign(
    before: &CheckedPage,
    after: &CheckedPage,
    pages: &[CheckedPage],
) -> Option<String> {
    if before.cursor.is_some() || after.cursor.is_some() {
        return None;
    }
    let known = ids(before.rows.iter().chain(&after.rows));
    let mut rows = pages.iter().flat_map(|page| &page.rows);
    let foreign = rows.find(|row| !known.contains(row.id.as_str()))?;
    Some(format!(
        "the row {} is on a small page, and not among all {} rows",
        show(&foreign.id),
        before.rows.len()
    ))
}

/// A content whose id differs on `pages`, where its old id is removed.
pub(super) fn find_unstable(first: &CheckedPage, pages: &[CheckedPage]) -> Option<String> {
    let rows = || pages.iter().flat_map(|page| &page.rows);
    let ids = ids(rows());
    let by_content: HashMap<u64, &ItemDigest> = rows().map(|row| (row.content, row)).collect();
    let mut times: HashMap<u64, usize> = HashMap::new();
    first.rows.iter().for_each(|row| *times.entry(row.content).or_default() += 1);
    // One of several equal contents may have gone.
    let is_removed = |row: &&ItemDigest| times[&row.content] == 1 && !ids.contains(row.id.as_str());
    let mut removed = first.rows.iter().filter(is_removed);
    let (before, after) = removed.find_map(|row| Some((row, by_content.get(&row.content)?)))?;
    Some(format!("the id {} became {}", show(&before.id), show(&after.id)))
}

pub(super) fn have_changed(before: &CheckedPage, after: &CheckedPage) -> bool {
    before.total != after.total || ids(&before.rows) != ids(&after.rows)
}

/// `is_whole` tells whether `pages` hold all rows.
pub(super) fn find_wrong_total(large: &CheckedPage, pages: &[CheckedPage], is_whole: bool) -> Option<String> {
    let stated = large.total?;
    // Repeated rows distort the count.
    if ids(&large.rows).len() < large.rows.len() {
        return None;
    }
    let totals = (1..).zip(pages).filter_map(|(number, page)| Some((number, page.total?)));
    if let Some((number, total)) = totals.into_iter().find(|(_, total)| *total != stated) {
        return Some(format!(
            "`total` is {total} on page {number}, and {stated} on a page of {} items",
            large.rows.len()
        ));
    }
    let different = ids(pages.iter().flat_map(|page| &page.rows)).len();
    let ends_early = is_whole && large.cursor.is_none() && (different as u64) < stated;
    (different as u64 > stated || ends_early)
        .then(|| format!("`total` is {stated}, and {different} different rows came"))
}

pub(super) fn find_rising(pages: &[CheckedPage]) -> Option<String> {
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

/// Two rows in the opposite order on small pages.
pub(super) fn find_swapped(large: &CheckedPage, pages: &[CheckedPage]) -> Option<String> {
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

pub(super) fn find_different(first: &CheckedPage, second: &CheckedPage) -> Option<String> {
    let place = (0..first.rows.len().max(second.rows.len())).find(|place| {
        first.rows.get(*place).map(|row| &row.id) != second.rows.get(*place).map(|row| &row.id)
    })?;
    let name = |page: &CheckedPage| {
        page.rows.get(place).map_or_else(|| "no row".to_owned(), |row| format!("the row {}", show(&row.id)))
    };
    Some(format!("data[{place}] was {} and is {} the second time", name(first), name(second)))
}

fn ids<'r>(rows: impl IntoIterator<Item = &'r ItemDigest>) -> HashSet<&'r str> {
    rows.into_iter().map(|row| row.id.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(rows: &[i64]) -> CheckedPage {
        let row = |number: &i64| ItemDigest {
            title: String::new(),
            id: format!("\"{number}\""),
            display_time: Some(*number),
            content: number.unsigned_abs(),
        };
        CheckedPage { rows: rows.iter().map(row).collect(), total: None, cursor: None }
    }

    #[test]
    fn repeated_row_is_reported_across_pages_only() {
        assert_eq!(find_repeated(&[page(&[5, 4]), page(&[3, 2])]), None);
        assert_eq!(find_repeated(&[page(&[5, 5])]), None);
        let repeated = find_repeated(&[page(&[5, 4]), page(&[3]), page(&[4])]);
        assert_eq!(repeated.unwrap(), "page 3 repeats the row \"4\" of page 1");
    }

    #[test]
    fn only_rows_of_both_large_pages_are_lost() {
        let large = page(&[5, 4, 3]);
        assert_eq!(find_lost(&large, &large, &[page(&[5]), page(&[4, 3])]), None);
        assert_eq!(find_lost(&large, &page(&[5, 3]), &[page(&[5, 3])]), None);
        let lost = find_lost(&large, &large, &[page(&[5, 3])]);
        assert_eq!(lost.unwrap(), "1 of 3 rows are on no page, the first with the id \"4\"");
    }

    #[test]
    fn row_missing_from_complete_large_pages_is_foreign() {
        let whole = page(&[5, 4]);
        assert_eq!(find_foreign(&whole, &page(&[6, 5, 4]), &[page(&[6, 5]), page(&[4])]), None);
        let part = CheckedPage { cursor: Some("more".to_owned()), ..whole.clone() };
        let pages = [page(&[5, 4]), page(&[3])];
        assert_eq!(find_foreign(&part, &part, &pages), None);
        let foreign = find_foreign(&whole, &whole, &pages).unwrap();
        assert_eq!(foreign, "the row \"3\" is on a small page, and not among all 2 rows");
    }

    #[test]
    fn total_counts_all_matches_on_every_page() {
        let with = |rows: &[i64], total| CheckedPage { total: Some(total), ..page(rows) };
        let wrong = |large: i64, pages: [u64; 2], is_whole| {
            let large = with(&(0..large).collect::<Vec<_>>(), 3);
            find_wrong_total(&large, &[with(&[0, 1], pages[0]), with(&[2], pages[1])], is_whole)
        };
        assert_eq!(wrong(3, [3, 3], true), None);
        assert!(wrong(3, [3, 1], true).unwrap().contains("1 on page 2"));
        let short = [with(&[0], 3), with(&[1], 3)];
        assert_eq!(find_wrong_total(&with(&[0, 1], 3), &short, false), None);
        let ends_early = find_wrong_total(&with(&[0, 1], 3), &short, true);
        assert_eq!(ends_early.unwrap(), "`total` is 3, and 2 different rows came");
        assert!(find_wrong_total(&with(&[0, 1], 1), &[with(&[0, 1], 1)], true).is_some());
    }

    #[test]
    fn page_changes_with_rows_or_total() {
        assert!(!have_changed(&page(&[1, 2]), &page(&[2, 1])));
        assert!(have_changed(&page(&[1, 2]), &page(&[1, 3])));
        assert!(have_changed(&page(&[1]), &CheckedPage { total: Some(2), ..page(&[1]) }));
    }

    #[test]
    fn content_with_a_new_id_is_unstable() {
        let first = page(&[5, 4]);
        assert_eq!(find_unstable(&first, &[page(&[6]), page(&[5])]), None);
        let mut renamed = page(&[5, 4]);
        renamed.rows[1].id = "\"x\"".to_owned();
        assert_eq!(find_unstable(&first, &[renamed]).unwrap(), "the id \"4\" became \"x\"");
        let mut twins = page(&[5, 4]);
        twins.rows[1].content = twins.rows[0].content;
        let mut swapped = twins.clone();
        swapped.rows.swap(0, 1);
        assert_eq!(find_unstable(&twins, &[swapped]), None);
        let mut single = twins.clone();
        single.rows.remove(0);
        assert_eq!(find_unstable(&twins, &[single]), None);
    }

    #[test]
    fn time_order_is_kept_within_and_across_pages() {
        assert_eq!(find_rising(&[page(&[5, 4]), page(&[4, 3])]), None);
        assert_eq!(
            find_rising(&[page(&[5]), page(&[6])]).unwrap(),
            "`displayTime` rises from 5 to 6 from page 1 to page 2"
        );
        assert_eq!(find_rising(&[page(&[5, 6])]).unwrap(), "`displayTime` rises from 5 to 6 on page 1");
    }

    #[test]
    fn relevance_order_is_that_of_one_large_page() {
        let broken = |pages: &[CheckedPage]| find_swapped(&page(&[1, 5, 3]), pages);
        assert_eq!(broken(&[page(&[1]), page(&[9, 5, 3])]), None);
        assert!(broken(&[page(&[5]), page(&[1, 3])]).unwrap().contains("\"5\" comes before \"1\""));
    }

    #[test]
    fn pages_differ_by_their_rows() {
        assert_eq!(find_different(&page(&[2, 1]), &page(&[2, 1])), None);
        let shorter = find_different(&page(&[2, 1]), &page(&[2]));
        assert_eq!(shorter.unwrap(), "data[1] was the row \"1\" and is no row the second time");
    }
}
