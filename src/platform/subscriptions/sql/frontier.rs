//! The cursor that a run has reached (book: how-to/subscribe.md).
//!
//! Odd cursors of single rows do not move it.

use super::{
    moment::{self, Moment},
    page::{Cursor, PAGE_ROWS},
};

/// Difference of two servers' clocks that is none.
const CLOCK_SKEW: i64 = 10 * 60_000;
/// The first zone's offset from UTC, as a time without a zone may be of it.
const FIRST_ZONE: i64 = 14 * 3_600_000;
/// Numbers may leap so far at first, and by this factor.
const LEAP: f64 = 1e4;
const LEAP_FACTOR: f64 = 1e3;
/// No sequence comes so far as 2⁶², but the largest number of its type does.
const LARGEST: f64 = 4_611_686_018_427_387_904.0;
/// Largest numbers of types, which stand for none, as those of nines alone do.
const FILLERS: [f64; 6] = [32_767.0, 65_535.0, 8_388_607.0, 16_777_215.0, 2_147_483_647.0, 4_294_967_295.0];
/// Least nines of such a number.
const NINES: usize = 3;
/// Least numbers that are times in seconds, milliseconds and microseconds, and the units in a millisecond.
const EPOCH_UNITS: [(f64, f64); 3] = [(1e8, 1e-3), (3e11, 1.0), (3e14, 1e3)];
/// Numbers above all units.
const BEYOND_UNITS: f64 = 1e17;

/// The time, and how far the database's own zone is from UTC.
#[derive(Clone, Copy, Debug)]
struct Clock {
    now: i64,
    zone_millis: i64,
}

/// What a row's cursor is beside those before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// It moves the frontier.
    Counts,
    /// It is of this moment by another clock or zone.
    ///
    /// It may be of no calendar, too. Later rows move the frontier.
    Waits,
    /// It is a time to come.
    BeyondNow,
    /// It is much greater than the ones before, which only many more rows confirm.
    FarBeyond,
    /// It is something else than the ones before.
    Unlike,
}

impl Standing {
    /// The words for operators, unless there is nothing to mend.
    fn reason(self) -> Option<&'static str> {
        match self {
            Self::Counts | Self::Waits => None,
            Self::BeyondNow => Some("lies beyond now"),
            Self::FarBeyond => Some("lies far beyond those of the other rows"),
            Self::Unlike => Some("is unlike those of the other rows"),
        }
    }
}

/// The rows of a run so far, in the order of their cursors.
#[derive(Debug)]
pub(super) struct Frontier {
    zone_millis: i64,
    /// The last cursor that counts, of this run or one before.
    reached: Option<Cursor>,
    is_of_this_run: bool,
    /// Whether it is the only row so far, which may itself be the odd one.
    is_lone: bool,
    /// The last cursor that does not count yet, and the number of different ones.
    waiting: Option<(Cursor, usize)>,
}

impl Frontier {
    /// Begins a run. `zone_millis` is the offset from UTC of the database's own zone.
    pub(super) fn new(zone_millis: i64, begin: Option<&Cursor>) -> Self {
        Self { zone_millis, reached: begin.cloned(), is_of_this_run: false, is_lone: false, waiting: None }
    }

    /// The last cursor of this run that counts.
    pub(super) fn reached(&self) -> Option<&Cursor> {
        self.reached.as_ref().filter(|_| self.is_of_this_run)
    }

    /// Moves to a row's cursor, or returns why it should not be one.
    pub(super) fn pass(&mut self, cursor: &Cursor, now: i64) -> Option<&'static str> {
        let clock = Clock { now, zone_millis: self.zone_millis };
        let before = self.reached.as_ref().map(CursorValue::of);
        // In SQLite a row's type is its own: texts stand behind all numbers.
        let is_number = moment::is_number(&cursor.data_type);
        let is_another_type = |reached: &Cursor| moment::is_number(&reached.data_type) != is_number;
        let value = CursorValue::of(cursor);
        let is_counting = matches!(value, CursorValue::Text { has_digits: true, .. });
        let is_doubtful = |before: &CursorValue<'_>| {
            is_counting && self.is_lone && !matches!(before, CursorValue::Moment(_))
        };
        let standing = match value.stand(before.filter(|before| !is_doubtful(before)), clock) {
            Standing::Counts if self.reached.as_ref().is_some_and(is_another_type) => Standing::Unlike,
            standing => standing,
        };
        let may_be_confirmed = match standing {
            Standing::FarBeyond => true,
            Standing::Unlike => !matches!(before, Some(CursorValue::Moment(_))),
            _ => false,
        };
        if standing == Standing::Counts || may_be_confirmed && self.is_confirmed(cursor) {
            self.is_lone = self.reached.is_none();
            (self.reached, self.is_of_this_run, self.waiting) = (Some(cursor.clone()), true, None);
            return None;
        }
        standing.reason()
    }

    /// Whether a page of different cursors stands so.
    fn is_confirmed(&mut self, cursor: &Cursor) -> bool {
        let count = match self.waiting.take() {
            Some((last, count)) => count + usize::from(last != *cursor),
            None => 1,
        };
        self.waiting = Some((cursor.clone(), count));
        count >= PAGE_ROWS
    }
}

/// What a cursor's text says.
#[derive(Clone, Copy, Debug)]
enum CursorValue<'c> {
    Moment(Moment),
    Number(Number),
    /// A text, and whether it has digits that are no wrong date.
    Text {
        text: &'c str,
        has_digits: bool,
    },
}

#[derive(Clone, Copy, Debug)]
struct Number {
    value: f64,
    /// Whether it may stand for none.
    is_filler: bool,
}

impl<'c> CursorValue<'c> {
    fn of(cursor: &'c Cursor) -> Self {
        let text = cursor.text.trim();
        let is_number = moment::is_number(&cursor.data_type);
        if let Some(moment) = Moment::read(text, &cursor.data_type) {
            return Self::Moment(moment);
        }
        // Texts such as `1e5` and `inf` are no numbers.
        let is_plain = text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-'));
        if let Some(value) = text.parse().ok().filter(|_| is_plain || is_number) {
            let is_nines = text.len() >= NINES && text.bytes().all(|byte| byte == b'9');
            Self::Number(Number { value, is_filler: is_nines || FILLERS.contains(&value) })
        } else {
            let has_digits = text.contains(char::is_numeric) && !moment::is_dated(text);
            Self::Text { text, has_digits }
        }
    }

    /// Whether a text with digits is of the same length or begins alike.
    fn is_like(self, text: &str) -> bool {
        let begin =
            |text: &str| text.chars().next().map(|first| if first.is_ascii_digit() { '0' } else { first });
        match self {
            Self::Moment(_) => false,
            Self::Number(_) => begin(text) == Some('0'),
            Self::Text { text: before, .. } => text.len() == before.len() || begin(text) == begin(before),
        }
    }

    fn stand(self, before: Option<Self>, clock: Clock) -> Standing {
        match (self, before) {
            (Self::Moment(moment), _) => stand_at(moment, clock),
            (Self::Number(number), Some(Self::Number(before))) => stand_behind(number, before.value, clock),
            (Self::Number(number), None | Some(Self::Text { .. })) => stand_first(number, clock),
            (Self::Text { has_digits: true, .. }, None)
            | (Self::Text { .. }, Some(Self::Text { has_digits: false, .. })) => Standing::Counts,
            (Self::Text { text, has_digits: true }, Some(before)) if before.is_like(text) => Standing::Counts,
            (Self::Number(_) | Self::Text { .. }, _) => Standing::Unlike,
        }
    }
}

fn stand_at(moment: Moment, Clock { now, zone_millis }: Clock) -> Standing {
    let (millis, reached, possible) = match moment {
        Moment::Instant(millis) => (millis, now, now + CLOCK_SKEW),
        // Rows have the time of the database's zone, or UTC.
        Moment::Local(millis) => (millis, now + zone_millis.min(0), now + FIRST_ZONE),
    };
    if millis == i64::MIN {
        Standing::Waits
    } else if millis <= reached {
        Standing::Counts
    } else if millis <= possible {
        Standing::Waits
    } else {
        Standing::BeyondNow
    }
}

#[expect(clippy::cast_precision_loss, reason = "a time")]
fn stand_behind(Number { value: number, is_filler }: Number, before: f64, clock: Clock) -> Standing {
    let now = clock.now as f64;
    if let Some(unit) = unit_of(before, now) {
        return if number <= now * unit {
            Standing::Counts
        } else if number <= (now + CLOCK_SKEW as f64) * unit {
            Standing::Waits
        } else {
            Standing::BeyondNow
        };
    }
    let limit = if is_filler { before * 2.0 } else { (before * LEAP_FACTOR).clamp(LEAP, LARGEST) };
    let is_time = !is_filler && unit_of(number, now).is_some();
    if number < limit || is_time { Standing::Counts } else { Standing::FarBeyond }
}

/// Numbers that may be times to come are doubtful.
#[expect(clippy::cast_precision_loss, reason = "a time")]
fn stand_first(Number { value: number, is_filler }: Number, clock: Clock) -> Standing {
    let now = clock.now as f64;
    let is_small = number <= now * EPOCH_UNITS[0].1;
    let is_large = (BEYOND_UNITS..LARGEST).contains(&number);
    let is_likely = is_small || is_large || unit_of(number, now).is_some();
    if is_likely && !is_filler { Standing::Counts } else { Standing::FarBeyond }
}

/// The units in a millisecond of a number that is a time until now.
fn unit_of(number: f64, now: f64) -> Option<f64> {
    let unit = EPOCH_UNITS.iter().find(|(least, unit)| (*least..=now * unit).contains(&number));
    unit.map(|(_, unit)| *unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-30, 12:00 UTC.
    const NOW: i64 = 1_796_040_000_000;
    const FAR: &str = "lies far beyond those of the other rows";
    const BEYOND: &str = "lies beyond now";
    const UNLIKE: &str = "is unlike those of the other rows";

    fn cursor<T: ToString + ?Sized>(text: &T, data_type: &str) -> Cursor {
        Cursor { text: text.to_string(), data_type: data_type.to_owned() }
    }

    /// Passes rows; returns the last that counts, and the reasons of the others.
    fn pass<'t>(
        data_type: &str,
        zone_hours: i64,
        rows: &[&'t str],
    ) -> (Option<String>, Vec<(&'t str, &'static str)>) {
        let mut frontier = Frontier::new(zone_hours * 3_600_000, None);
        let told = rows.iter().filter_map(|row| Some((*row, frontier.pass(&cursor(row, data_type), NOW)?)));
        let told = told.collect();
        (frontier.reached().map(|cursor| cursor.text.clone()), told)
    }

    #[test]
    fn odd_cursors_are_told_and_do_not_move_the_frontier() {
        for (data_type, rows, reached, told) in [
            (
                "TIMESTAMPTZ",
                &["2026-11-30 11:59:59+00", "2026-11-30 12:05:00+00", "infinity"][..],
                Some(0),
                &[BEYOND][..],
            ),
            (
                "TIMESTAMPTZ",
                &["-infinity", "2026-12-01 12:00:00+00", "10000-01-01 00:00:00+00"],
                None,
                &[BEYOND, BEYOND],
            ),
            ("TIMESTAMP", &["2020-01-01 00:00:00", "9999-12-31 00:00:00"], Some(0), &[BEYOND]),
            ("DATE", &["0044-03-15 BC", "2026-11-30", "2026-12-01", "2026-12-02"], Some(1), &[BEYOND]),
            ("DATETIME", &["0000-00-00 00:00:00", "2026-12-01 12:00:00.000000"], None, &[BEYOND]),
            (
                "TEXT",
                &["2026-11-30 11:00", "2026-12-01 12:00", "9999999999", "n/a"],
                Some(0),
                &[BEYOND, UNLIKE, UNLIKE],
            ),
            ("TEXT", &["2026-11-30T20:00:00+09:00", "2026-11-30T22:00:00+09:00"], Some(0), &[BEYOND]),
            ("TEXT", &["20261130", "20261202", "99991231"], Some(0), &[BEYOND, BEYOND]),
            ("TEXT", &["202611301159", "202612021159", "20261202115900000"], Some(0), &[BEYOND, BEYOND]),
            ("TEXT", &["2026/11/30 11:00:00", "2026/12/30 11:00:00"], Some(0), &[BEYOND]),
            ("TEXT", &["2026-11-30 10:00 am UTC", "9999-12-31 10:00 am UTC"], Some(0), &[BEYOND]),
            ("TEXT", &["2026-11-30T11:00:00Z", "9999-12-31T23:59:59Z"], Some(0), &[BEYOND]),
            ("TEXT", &["", "2026-02-28", "2026-02-30", "2026-03-01"], Some(3), &[UNLIKE, UNLIKE]),
            ("VARCHAR", &["v0001", "v0002", "unknown"], Some(1), &[UNLIKE]),
            ("VARCHAR", &["v0999", "v1000", "v10000", "unknown 2", "w1"], Some(2), &[UNLIKE, UNLIKE]),
            ("VARCHAR", &["7f00aa02", "a100aa01", "room 7"], Some(1), &[UNLIKE]),
            ("VARCHAR", &["12", "13", "room 7"], Some(1), &[UNLIKE]),
            ("VARCHAR", &["unknown 2", "v1", "v2"], Some(2), &[]),
            ("VARCHAR", &["7f00aa01", "7f00aa02", "pending"], Some(1), &[UNLIKE]),
            ("VARCHAR", &["1", "1.0.1", "5e98765432109876", "inf"], Some(2), &[UNLIKE]),
            ("INT8", &["1", "450", "451", "9223372036854775807"], Some(2), &[FAR]),
            ("INT8", &["450", "1000000"], Some(0), &[FAR]),
            ("INT8", &["1", "12", "999990"], Some(1), &[FAR]),
            ("INT8", &["450", "9000"], Some(1), &[]),
            ("INT4", &["3000000", "2147483647"], Some(0), &[FAR]),
            ("INT2", &["40", "999", "32767"], Some(0), &[FAR, FAR]),
            ("INT4", &["998", "999", "1000"], Some(2), &[]),
            (
                "INT8",
                &["0", "1796039999", "1796040001", "1796126400", "4102444800"],
                Some(1),
                &[BEYOND, BEYOND],
            ),
            ("INT8", &["1796039999", "253402300799", "1796039999000"], Some(0), &[BEYOND, BEYOND]),
            ("INT8", &["1796039999000", "1796126400000", "9999999999999"], Some(0), &[BEYOND, BEYOND]),
            ("INT8", &["1796039999000000", "1796126400000000"], Some(0), &[BEYOND]),
            ("INT8", &["20261130115900", "20261202115900", "99991231235959"], Some(0), &[BEYOND, BEYOND]),
            ("INT8", &["20261130", "20261202", "20991231"], Some(2), &[]),
            ("INT8", &["1990000000000000000", "1990000000000000001"], Some(1), &[]),
            ("NUMERIC", &["1796039999.5", "1796126400.5", "NaN"], Some(0), &[BEYOND, BEYOND]),
        ] {
            let (last, said) = pass(data_type, 0, rows);
            let reasons: Vec<&str> = said.iter().map(|(_, reason)| *reason).collect();
            assert_eq!(
                (last.as_deref(), &*reasons),
                (reached.map(|row: usize| rows[row]), told),
                "{data_type} {rows:?}"
            );
        }
    }

    #[test]
    fn frontier_of_odd_rows_alone_stays_at_the_beginning() {
        for (data_type, row, reason) in [
            ("TEXT", "n/a", UNLIKE),
            ("TIMESTAMP", "infinity", BEYOND),
            ("INT8", "9223372036854775807", FAR),
            ("INT8", "4102444800", FAR),
            ("INT4", "2147483647", FAR),
            ("INT8", "999999", FAR),
            ("TEXT", "9999-12-31 00:00:00", BEYOND),
            ("TEXT", "9999-99-99", UNLIKE),
        ] {
            assert_eq!(pass(data_type, 0, &[row]), (None, vec![(row, reason)]));
        }
    }

    #[test]
    fn value_of_another_type_does_not_count() {
        let mut frontier = Frontier::new(0, Some(&cursor(&3, "INTEGER")));
        for text in ["2024-01-01", "1a", "4"] {
            assert_eq!(frontier.pass(&cursor(text, "TEXT"), NOW), Some(UNLIKE));
        }
        assert_eq!(frontier.pass(&cursor(&4, "INTEGER"), NOW), None);
    }

    #[test]
    fn local_times_wait_for_the_later_of_two_zones() {
        let rows =
            ["2026-11-30 03:59:59", "2026-11-30 04:00:01", "2026-11-30 20:00:00", "2026-12-01 02:00:01"];
        let told = vec![(rows[3], BEYOND)];
        assert_eq!(pass("TIMESTAMP", -8, &rows), (Some(rows[0].to_owned()), told.clone()));
        assert_eq!(pass("TIMESTAMP", 8, &rows), (Some(rows[1].to_owned()), told));
    }

    #[test]
    fn leap_counts_once_a_page_of_cursors_confirms_it() {
        let mut frontier = Frontier::new(0, Some(&cursor(&450, "INT8")));
        let first = 5_000_000;
        let told = (0..PAGE_ROWS).filter(|row| {
            // Equal cursors confirm nothing.
            let reason = frontier.pass(&cursor(&(first + row), "INT8"), NOW);
            assert_eq!(frontier.pass(&cursor(&(first + row), "INT8"), NOW).is_some(), reason.is_some());
            reason.is_some()
        });
        assert_eq!(told.count(), PAGE_ROWS - 1);
        assert!(frontier.pass(&cursor(&i64::MAX, "INT8"), NOW).is_some());
        assert_eq!(frontier.reached(), Some(&cursor(&(first + PAGE_ROWS - 1), "INT8")));
    }
}
