//! Counts of matches by author and period.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use jiff::civil::{Date, date};
use jiff::{Timestamp, tz::TimeZone};

/// Values that one facet shows.
pub const MAX_FACET_VALUES: usize = 20;

/// Longer names of authors are not counted.
const MAX_AUTHOR_BYTES: usize = 1_024;

const EPOCH: Date = date(1970, 1, 1);
const DAY_MILLIS: i64 = 86_400_000;

/// Fields to count by.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FacetFields {
    /// The author's name.
    pub author: bool,
    /// The day, in this time zone; none are counted without one.
    pub time: Option<TimeZone>,
}

/// Matches by the values of each field.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldCounts {
    /// Counts by [`counted_author`].
    pub authors: HashMap<String, u64>,
    /// Counts by the [`Days`] of their time.
    pub days: BTreeMap<i64, u64>,
    /// Whether some matches are not counted.
    pub is_cut: bool,
}

impl FieldCounts {
    /// The most frequent authors, equal ones by name.
    pub fn authors(&self) -> Vec<(String, u64)> {
        let mut authors: Vec<(&String, u64)> =
            self.authors.iter().map(|(author, count)| (author, *count)).collect();
        authors.sort_unstable_by(|(left, many), (right, few)| few.cmp(many).then_with(|| left.cmp(right)));
        authors.into_iter().take(MAX_FACET_VALUES).map(|(author, count)| (author.clone(), count)).collect()
    }

    /// The latest periods: days if these are few enough, else ISO weeks, months or years.
    pub fn periods(&self) -> Vec<(String, u64)> {
        let ends = self.days.first_key_value().zip(self.days.last_key_value());
        let Some(((first, _), (last, _))) = ends else { return Vec::new() };
        let period = Period::within(date_of(*first), date_of(*last));
        let mut periods: Vec<(String, u64)> = Vec::new();
        for (day, count) in self.days.iter().rev() {
            let name = period.name(date_of(*day));
            if let Some((_, counted)) = periods.last_mut().filter(|(last, _)| *last == name) {
                *counted += count;
            } else if periods.len() < MAX_FACET_VALUES {
                periods.push((name, *count));
            } else {
                break;
            }
        }
        periods
    }
}

/// The name that an author's documents are counted by; `None` without one.
pub fn counted_author(author: &str) -> Option<&str> {
    Some(author.trim()).filter(|author| !author.is_empty() && author.len() <= MAX_AUTHOR_BYTES)
}

/// Days since 1970, in UTC, of a time in epoch milliseconds.
pub fn day_of(time: i64) -> i64 {
    time.div_euclid(DAY_MILLIS)
}

/// Days of a time zone, from midnight to midnight.
///
/// Times of one day in a row are looked up once.
#[derive(Debug, Clone)]
pub struct Days {
    zone: TimeZone,
    last: (i64, Range<i64>),
}

impl Days {
    /// The days of a zone.
    pub fn new(zone: TimeZone) -> Self {
        Self { zone, last: (0, 0..0) }
    }

    /// Days since 1970 of a time in epoch milliseconds, in UTC beyond the calendar.
    pub fn day_of(&mut self, time: i64) -> i64 {
        if !self.last.1.contains(&time) {
            let day = day_of(time);
            let in_utc = || (day, day.saturating_mul(DAY_MILLIS)..(day + 1).saturating_mul(DAY_MILLIS));
            self.last = self.find(time).unwrap_or_else(in_utc);
        }
        self.last.0
    }

    fn find(&self, time: i64) -> Option<(i64, Range<i64>)> {
        let date = Timestamp::from_millisecond(time).ok()?.to_zoned(self.zone.clone()).date();
        let span = self.span(date)?;
        // Where clocks are set back over midnight, the day goes on.
        let (date, span) = if time < span.end {
            (date, span)
        } else {
            (date.tomorrow().ok()?, self.span(date.tomorrow().ok()?)?)
        };
        Some((Period::Day.number(date).into(), span))
    }

    fn span(&self, date: Date) -> Option<Range<i64>> {
        let midnight = |date: Date| Some(date.to_zoned(self.zone.clone()).ok()?.timestamp().as_millisecond());
        Some(midnight(date)?..midnight(date.tomorrow().ok()?)?)
    }
}

/// Days outside of the calendar count as its ends.
fn date_of(day: i64) -> Date {
    let [first, last] = [Timestamp::MIN, Timestamp::MAX].map(|end| day_of(end.as_millisecond()));
    let start = Timestamp::from_millisecond(day.clamp(first + 1, last) * DAY_MILLIS);
    start.map_or(EPOCH, |start| start.to_zoned(TimeZone::UTC).date())
}

/// A unit of the calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Period {
    Day,
    Week,
    Month,
    Year,
}

impl Period {
    /// The shortest, of which few enough reach from the first day to the last.
    fn within(first: Date, last: Date) -> Self {
        let is_short = |period: &Self| {
            let between = period.number(last) - period.number(first);
            usize::try_from(between).is_ok_and(|between| between < MAX_FACET_VALUES)
        };
        [Self::Day, Self::Week, Self::Month].into_iter().find(is_short).unwrap_or(Self::Year)
    }

    /// Periods in a row have numbers in a row.
    fn number(self, date: Date) -> i32 {
        let days = EPOCH.until(date).map_or(0, |span| span.get_days());
        match self {
            Self::Day => days,
            // The epoch was a Thursday; ISO weeks begin on Mondays.
            Self::Week => (days + 3).div_euclid(7),
            Self::Month => i32::from(date.year()) * 12 + i32::from(date.month()),
            Self::Year => i32::from(date.year()),
        }
    }

    /// Returns the period in ISO 8601: `2026-11-27`, `2026-W48`, `2026-11` or `2026`.
    fn name(self, date: Date) -> String {
        match self {
            Self::Day => date.to_string(),
            Self::Week => {
                let week = date.iso_week_date();
                format!("{:04}-W{:02}", week.year(), week.week())
            }
            Self::Month => format!("{:04}-{:02}", date.year(), date.month()),
            Self::Year => format!("{:04}", date.year()),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn counts(days: impl IntoIterator<Item = Date>) -> FieldCounts {
        let mut counts = FieldCounts::default();
        for day in days {
            *counts.days.entry(i64::from(Period::Day.number(day))).or_default() += 1;
        }
        counts
    }

    fn names(days: impl IntoIterator<Item = Date>) -> Vec<String> {
        counts(days).periods().into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn period_grows_with_the_time_between_the_ends() {
        let last = date(2026, 11, 27);
        for (first, expected) in [
            (date(2026, 11, 27), &["2026-11-27"][..]),
            (date(2026, 11, 8), &["2026-11-27", "2026-11-08"]),
            (date(2026, 11, 7), &["2026-W48", "2026-W45"]),
            (date(2026, 7, 13), &["2026-W48", "2026-W29"]),
            (date(2026, 7, 12), &["2026-11", "2026-07"]),
            (date(2025, 4, 1), &["2026-11", "2025-04"]),
            (date(2025, 3, 31), &["2026", "2025"]),
            (date(1900, 1, 1), &["2026", "1900"]),
        ] {
            assert_eq!(names([first, last]), expected, "{first}");
        }
        assert_eq!(names([date(2027, 1, 3), date(2026, 12, 1)]), ["2026-W53", "2026-W49"]);
        assert_eq!(names([]), Vec::<String>::new());
    }

    #[test]
    fn days_of_a_zone_begin_at_its_midnights() {
        let hour = 3_600_000;
        let at = |text: &str| text.parse::<Timestamp>().unwrap().as_millisecond();
        for (zone, time, expected) in [
            ("Asia/Shanghai", "2024-01-01T15:59:59.999Z", date(2024, 1, 1)),
            ("Asia/Shanghai", "2024-01-01T16:00:00Z", date(2024, 1, 2)),
            ("Asia/Kolkata", "2024-01-01T18:30:00Z", date(2024, 1, 2)),
            ("America/New_York", "2024-07-02T03:59:59Z", date(2024, 7, 1)),
            ("America/New_York", "2024-01-02T04:59:59Z", date(2024, 1, 1)),
            // Clocks were set back over midnight, and a day was left out.
            ("America/St_Johns", "2010-11-07T02:45:00Z", date(2010, 11, 7)),
            ("Pacific/Apia", "2011-12-30T09:59:59Z", date(2011, 12, 29)),
            ("Pacific/Apia", "2011-12-30T10:00:00Z", date(2011, 12, 31)),
            ("Asia/Shanghai", "1850-01-01T15:54:17Z", date(1850, 1, 2)),
        ] {
            let mut days = Days::new(TimeZone::get(zone).unwrap());
            let expected = i64::from(Period::Day.number(expected));
            assert_eq!(days.day_of(at(time)), expected, "{zone} {time}");
            // In whatever order times are asked for.
            for other in [-40 * hour, 40 * hour, -1, 0] {
                let alone = Days::new(days.zone.clone()).day_of(at(time) + other);
                assert_eq!(days.day_of(at(time) + other), alone, "{zone} {time} {other}");
            }
        }
        for time in [i64::MIN, -1, 0, i64::MAX] {
            assert_eq!(Days::new(TimeZone::UTC).day_of(time), day_of(time));
        }
    }

    #[test]
    fn days_beyond_the_calendar_count_as_its_ends() {
        let days = BTreeMap::from([(day_of(i64::MIN), 1), (day_of(-1), 2), (day_of(i64::MAX), 3)]);
        let counts = FieldCounts { days, ..FieldCounts::default() };
        let names: Vec<(String, u64)> = counts.periods();
        assert_eq!(names, [("9999".to_owned(), 3), ("1969".to_owned(), 2), ("-9999".to_owned(), 1)]);
    }

    #[test]
    fn authors_are_listed_by_count_then_by_name() {
        let authors = [("b", 2), ("a", 2), ("c", 3)].map(|(author, count)| (author.to_owned(), count));
        let many = (0..30).map(|number| (format!("z{number:02}"), 1));
        let counts =
            FieldCounts { authors: authors.into_iter().chain(many).collect(), ..FieldCounts::default() };
        let listed = counts.authors();
        assert_eq!(listed.len(), MAX_FACET_VALUES);
        let first: Vec<&str> = listed.iter().take(4).map(|(author, _)| author.as_str()).collect();
        assert_eq!(first, ["c", "a", "b", "z00"]);
    }

    proptest! {
        #![proptest_config(trawl_seeds::cases(256))]

        #[test]
        fn periods_count_every_day_within_the_latest(days in prop::collection::vec((-800_000..2_000_000i64, 1..9u64), 0..60)) {
            let mut counts = FieldCounts::default();
            for (day, count) in days {
                *counts.days.entry(day).or_default() += count;
            }
            let periods = counts.periods();
            prop_assert!(periods.len() <= MAX_FACET_VALUES);
            let counted: u64 = periods.iter().map(|(_, count)| count).sum();
            let all: u64 = counts.days.values().sum();
            prop_assert!(counted == all || periods.len() == MAX_FACET_VALUES && counted < all);
        }
    }
}
