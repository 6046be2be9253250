use proptest::prelude::*;

use super::*;

fn rows(ids: impl IntoIterator<Item = usize>) -> Vec<SentRow> {
    let row = |id: usize| SentRow { id: fingerprint(&id.to_string()), display_time: 0 };
    ids.into_iter().map(row).collect()
}

/// Counts the pages until the end; each has new cursors and rows.
fn pages_until_end(page: impl Fn(usize) -> Vec<SentRow>) -> usize {
    let mut guard = LoopGuard::default();
    let ends = |step: &usize| {
        let rows = page(*step);
        guard
            .pass(&PassedPage { fresh: rows.len(), is_exact: false, rows: &rows, next: &step.to_string() })
            .1
            .is_err()
    };
    (0..200_000).find(ends).unwrap() + 1
}

proptest! {
    #![proptest_config(trawl_seeds::cases(256))]

    #[test]
    fn circle_of_cursors_is_detected_in_time(lead in 0usize..40, circle in 1usize..40) {
        let place = |step: usize| if step < lead { step } else { lead + (step - lead) % circle };
        let mut guard = LoopGuard::default();
        let mut detected = None;
        for step in 0..1_000 {
            // New rows each time: the cursors alone tell it.
            let page = PassedPage { rows: &rows([step]), fresh: 1, is_exact: false, next: &place(step).to_string() };
            if guard.pass(&page).1.is_err() {
                detected = Some(step);
                break;
            }
        }
        let detected = detected.unwrap();
        prop_assert!(detected >= lead + circle, "{detected}: nothing was repeated yet");
        prop_assert!(detected <= 3 * (lead + circle), "{detected}: too late");
    }

    #[test]
    fn circle_of_rows_is_detected_by_new_cursors(lead in 0usize..40, circle in 1usize..40) {
        let place = |step: usize| if step < lead { step } else { lead + (step - lead) % circle };
        let pages = pages_until_end(|step| rows((0..3).map(|row| place(step) * 3 + row)));
        prop_assert!(pages > lead + circle, "{pages}: nothing was repeated yet");
        prop_assert!(pages <= 3 * (lead + circle) + 4, "{pages}: too late");
    }

    #[test]
    fn circle_of_rows_is_detected_however_its_pages_are_cut(
        lead in 0usize..40, circle in 100usize..400, length in 1usize..20, more in 0usize..5,
    ) {
        let row = |row: usize| if row < lead { row } else { lead + (row - lead) % circle };
        // Longer and shorter pages in turn.
        let begin = |step: usize| step * length + step / 2 * more;
        let pages = pages_until_end(|step| rows((begin(step)..begin(step + 1)).map(row)));
        prop_assert!(begin(pages) > lead + circle, "{pages}: nothing was repeated yet");
        prop_assert!(begin(pages - 4) <= 4 * (lead + circle), "{pages}: too late");
    }

    #[test]
    fn pages_with_new_rows_never_end(pages in 1usize..300) {
        let mut guard = LoopGuard::default();
        for step in 0..pages {
            let rows = rows(step * 5..step * 5 + 5);
            let page = PassedPage { fresh: 5, is_exact: false, rows: &rows, next: &step.to_string() };
            prop_assert_eq!(guard.pass(&page), (Brought::Rows, Ok(())));
        }
    }
}

#[test]
fn barren_pages_end_after_three() {
    assert_eq!(pages_until_end(|_| rows([1, 2])), 4, "page 1 again");
    assert_eq!(pages_until_end(|step| rows(if step == 0 { 0..5 } else { 0..0 })), 4, "empty pages");
    assert_eq!(pages_until_end(|step| rows([step % 2])), 5, "two pages in turn");
    assert_eq!(pages_until_end(|step| rows([step % 3])), 6, "three pages in turn");
    let turned = |step| if step % 2 == 0 { rows([1, 2]) } else { rows([2, 1]) };
    assert_eq!(pages_until_end(turned), 4, "the same rows in another order");
}

#[test]
fn circle_of_rows_to_the_first_page_ends_there() {
    for circle in 4..40 {
        assert_eq!(pages_until_end(|step| rows([step % circle])), circle + 1, "{circle}");
    }
}

#[test]
fn pages_with_a_quarter_of_new_rows_go_on() {
    let mut guard = LoopGuard::default();
    for step in 0..100 {
        let rows = rows(step * 50..step * 50 + 200);
        let page = PassedPage { fresh: 100, is_exact: false, rows: &rows, next: &step.to_string() };
        assert_eq!(guard.pass(&page).1, Ok(()), "{step}");
    }
}

#[test]
fn chain_of_mostly_repeated_rows_ends_a_hundred_times_sooner() {
    let pages = |sent: usize, fresh: usize| {
        let mut guard = LoopGuard::default();
        let ends = |step: &usize| {
            let begin = step * fresh;
            let page = PassedPage {
                rows: &rows(begin..begin + sent),
                fresh,
                is_exact: true,
                next: &step.to_string(),
            };
            guard.pass(&page).1.is_err()
        };
        (0..200_000).find(ends).unwrap() + 1
    };
    assert_eq!(pages(10, 1), 1_000);
    assert_eq!(pages(40, 10), 6_250);
    assert_eq!(pages(2, 2), 100_000);
}

#[test]
fn invented_rows_end_after_many_pages() {
    assert_eq!(pages_until_end(|step| rows([step])), 100_000);
}

#[test]
fn one_new_row_among_a_hundred_is_nothing_new() {
    let brought = |fresh, sent| {
        let page = PassedPage { rows: &rows(0..sent), fresh, is_exact: false, next: "next" };
        LoopGuard::default().pass(&page).0
    };
    assert_eq!(brought(1, 100), Brought::Nothing { is_repeated: false });
    assert_eq!(brought(1, 10), Brought::Rows);
    assert_eq!(brought(1, 1), Brought::Rows);
    assert_eq!(brought(0, 0), Brought::Nothing { is_repeated: false });
}

#[test]
fn new_rows_forgive_barren_pages() {
    let page = |step: usize| if step.is_multiple_of(3) { rows([step]) } else { Vec::new() };
    let mut guard = LoopGuard::default();
    for step in 0..300 {
        let rows = page(step);
        let passed = PassedPage { fresh: rows.len(), is_exact: false, rows: &rows, next: &step.to_string() };
        assert_eq!(guard.pass(&passed).1, Ok(()), "{step}");
    }
}

#[test]
fn fingerprints_are_stable() {
    assert_eq!(fingerprint("builtin:article"), fingerprint("builtin:article"));
    // Cursors outlive updates, and so must fingerprints.
    assert_eq!(fingerprint("abc"), [0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea]);
}
