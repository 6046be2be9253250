//! Chart geometry: measurements in, SVG coordinates out, for the report's template.

mod axis;

use serde::Serialize;

use self::axis::{Axis, bounds, duration, even_values, plain, round_values, rounded};

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 76.0;
const RIGHT: f64 = 28.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 40.0;
const COLUMNS: usize = 48;
/// Shorter steps are not drawn.
const NEAREST_STEP: f64 = 0.5;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Chart {
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    pub(super) description: String,
    pub(super) x_label: &'static str,
    pub(super) y_label: &'static str,
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
    pub(super) x_ticks: Vec<Tick>,
    pub(super) y_ticks: Vec<Tick>,
    pub(super) lines: Vec<Line>,
    pub(super) columns: Vec<Column>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Tick {
    pub(super) at: f64,
    pub(super) label: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Line {
    pub(super) name: String,
    pub(super) path: String,
    pub(super) points: Vec<Point>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Point {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) label: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Column {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) label: String,
}

pub(super) type Histogram = [(u64, u64)];

impl Chart {
    fn new(id: &'static str, title: &'static str, labels: [&'static str; 2], description: String) -> Self {
        Self {
            id,
            title,
            description,
            x_label: labels[0],
            y_label: labels[1],
            width: WIDTH,
            height: HEIGHT,
            left: LEFT,
            right: WIDTH - RIGHT,
            top: TOP,
            bottom: HEIGHT - BOTTOM,
            x_ticks: Vec::new(),
            y_ticks: Vec::new(),
            lines: Vec::new(),
            columns: Vec::new(),
        }
    }

    /// Latency by percentile; each further nine has the same width.
    pub(super) fn latency_curve(runs: &[(String, &Histogram)]) -> Option<Self> {
        let runs: Vec<_> = runs.iter().filter(|(_, histogram)| total(histogram) > 0).collect();
        let most = runs.iter().map(|(_, histogram)| total(histogram)).max()?;
        let (low, high) = bounds(runs.iter().flat_map(|(_, histogram)| histogram.iter()))?;
        let x = Axis::horizontal(0.0, nines(most - 1, most).max(1.0), false);
        let y = Axis::vertical(low, high, true);
        let mut chart = Self::new(
            "curve",
            "Latency by percentile",
            ["share of the requests", "latency"],
            format!("The latency that a share of the requests did not exceed, up to the slowest of {most}."),
        );
        let shares = ["0 %", "90 %", "99 %", "99.9 %", "99.99 %", "99.999 %", "99.9999 %"];
        chart.x_ticks = x.ticks(vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0], |nines| {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "one of those above")]
            shares[nines as usize].to_owned()
        });
        chart.x_ticks.insert(1, Tick { at: x.at(nines(1, 2)), label: "50 %".to_owned() });
        chart.y_ticks = y.ticks(round_values(low, high), duration);
        chart.lines = runs.iter().map(|(name, histogram)| curve(name, histogram, x, y)).collect();
        Some(chart)
    }

    /// Counts by latency, in columns of equal width on a logarithmic scale.
    pub(super) fn histogram(histogram: &Histogram) -> Option<Self> {
        let (low, high) = bounds(histogram.iter())?;
        let all = total(histogram);
        let x = Axis::horizontal(low, high, true);
        let width = (WIDTH - RIGHT - LEFT) / f64::from(u32::try_from(COLUMNS).ok()?);
        let mut counts = vec![0_u64; COLUMNS];
        for (nanos, count) in histogram {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a place in the list"
            )]
            let column = ((x.at(float(*nanos)) - LEFT) / width) as usize;
            counts[column.min(COLUMNS - 1)] += count;
        }
        let most = counts.iter().copied().max().filter(|most| *most > 0)?;
        let y = Axis::vertical(0.0, float(most), false);
        let mut chart = Self::new(
            "histogram",
            "Latencies",
            ["latency", "requests"],
            format!("How many of {all} requests took how long."),
        );
        chart.x_ticks = x.ticks(round_values(low, high), duration);
        chart.y_ticks = y.ticks(even_values(float(most)), plain);
        let mut from = low;
        let growth = (high / low).powf(1.0 / f64::from(u32::try_from(COLUMNS).ok()?));
        for (place, count) in (0_u32..).zip(counts) {
            let to = from * growth;
            if count > 0 {
                let top = y.at(float(count));
                chart.columns.push(Column {
                    x: rounded(LEFT + f64::from(place) * width + 0.5),
                    // At least one unit, so that it is visible.
                    y: top.min(HEIGHT - BOTTOM - 1.0),
                    width: rounded(width - 1.0),
                    height: rounded((HEIGHT - BOTTOM - top).max(1.0)),
                    label: format!("{} to {}: {count} requests", duration(from), duration(to)),
                });
            }
            from = to;
        }
        Some(chart)
    }

    pub(super) fn over_time(
        id: &'static str,
        title: &'static str,
        labels: [&'static str; 2],
        series: &[(&str, Vec<Option<f64>>)],
    ) -> Option<Self> {
        let seconds = series.iter().map(|(_, values)| values.len()).max()?;
        let values = || series.iter().flat_map(|(_, values)| values.iter().flatten().copied());
        let high = values().fold(0.0, f64::max);
        if high <= 0.0 {
            return None;
        }
        let seconds_axis = float(u64::try_from(seconds).ok()?);
        let x = Axis::horizontal(0.0, seconds_axis, false);
        let y = Axis::vertical(0.0, high * 1.05, false);
        let names: Vec<&str> = series.iter().map(|(name, _)| *name).collect();
        let mut chart =
            Self::new(id, title, labels, format!("{} in each of {seconds} seconds.", names.join(", ")));
        chart.x_ticks = x.ticks(even_values(seconds_axis), |value| format!("{} s", plain(value)));
        chart.y_ticks = y.ticks(even_values(high), plain);
        chart.lines = series.iter().map(|(name, values)| steps(name, values, x, y)).collect();
        Some(chart)
    }
}

/// The number of nines of a share: 0.9 has one.
fn nines(count: u64, all: u64) -> f64 {
    // Computed from the rest, which keeps all digits.
    let left = float(all.saturating_sub(count).max(1)) / float(all.max(1));
    -left.log10()
}

fn curve(name: &str, histogram: &Histogram, x: Axis, y: Axis) -> Line {
    let all = total(histogram);
    let mut path = Vec::new();
    let mut points = Vec::new();
    let mut below = 0;
    let mut last_x = f64::NEG_INFINITY;
    for (nanos, count) in histogram {
        let marked = [(2, "50 %"), (10, "90 %"), (100, "99 %"), (1_000, "99.9 %"), (10_000, "99.99 %")];
        for (part, share) in marked {
            // The smallest count at or above the share.
            let place = all - all / part;
            if below < place && place <= below + count && all >= part {
                let label = format!("{name}: {share} within {}", duration(float(*nanos)));
                points.push(Point { x: x.at(nines(place, all)), y: y.at(float(*nanos)), label });
            }
        }
        let (from, height) = (x.at(nines(below, all)), y.at(float(*nanos)));
        below += count;
        let to = x.at(nines(below, all));
        if path.is_empty() {
            path.push(format!("M{from} {height}"));
        }
        if to - last_x >= NEAREST_STEP || below == all {
            path.push(format!("V{height}H{to}"));
            last_x = to;
        }
    }
    if let Some((nanos, _)) = histogram.last() {
        let label = format!("{name}: the slowest took {}", duration(float(*nanos)));
        points.push(Point { x: x.at(nines(all, all)), y: y.at(float(*nanos)), label });
    }
    Line { name: name.to_owned(), path: path.concat(), points }
}

fn steps(name: &str, values: &[Option<f64>], x: Axis, y: Axis) -> Line {
    let mut path = Vec::new();
    let mut was_there = false;
    for (second, value) in (0_u32..).zip(values) {
        if let Some(value) = value {
            let (from, to) = (x.at(f64::from(second)), x.at(f64::from(second + 1)));
            let height = y.at(*value);
            let start = if was_there { format!("V{height}") } else { format!("M{from} {height}") };
            path.push(format!("{start}H{to}"));
        }
        was_there = value.is_some();
    }
    Line { name: name.to_owned(), path: path.concat(), points: Vec::new() }
}

fn total(histogram: &Histogram) -> u64 {
    histogram.iter().map(|(_, count)| count).sum()
}

#[expect(clippy::cast_precision_loss, reason = "drawn, not counted")]
fn float(value: u64) -> f64 {
    value as f64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn percentile_axis_gives_each_nine_equal_width() {
        let histogram = [(1_000_000, 900), (2_000_000, 90), (9_000_000, 10)];
        let chart = Chart::latency_curve(&[("now".to_owned(), &histogram)]).unwrap();
        let labels: Vec<&str> = chart.x_ticks.iter().map(|tick| tick.label.as_str()).collect();
        assert_eq!(labels, ["0 %", "50 %", "90 %", "99 %", "99.9 %"]);
        let at: Vec<f64> = chart.x_ticks.iter().map(|tick| tick.at).collect();
        assert!(
            (at[2] - at[0] - (at[3] - at[2])).abs() < 0.2 && (at[4] - at[3] - (at[3] - at[2])).abs() < 0.2
        );
        let said: Vec<&str> = chart.lines[0].points.iter().map(|point| point.label.as_str()).collect();
        assert_eq!(
            said,
            [
                "now: 50 % within 1 ms",
                "now: 90 % within 1 ms",
                "now: 99 % within 2 ms",
                "now: 99.9 % within 9 ms",
                "now: the slowest took 9 ms",
            ]
        );
        let heights: Vec<&str> = chart.y_ticks.iter().map(|tick| tick.label.as_str()).collect();
        assert_eq!(heights, ["1 ms", "2 ms", "5 ms", "10 ms"]);
    }

    #[test]
    fn missing_second_leaves_gap() {
        let values = vec![Some(10.0), None, Some(20.0), Some(20.0)];
        let chart = Chart::over_time("t", "T", ["time", "a second"], &[("searches", values)]).unwrap();
        assert_eq!(chart.lines[0].path.matches('M').count(), 2);
        assert_eq!(Chart::over_time("t", "T", ["x", "y"], &[("searches", vec![None])]), None);
    }

    proptest! {
        #![proptest_config(trawl_seeds::cases(64))]

        #[test]
        fn everything_is_drawn_within_plot(
            values in prop::collection::btree_map(1_u64..4_000_000_000_000, 1_u64..10_000, 1..60),
        ) {
            let histogram: Vec<(u64, u64)> = values.into_iter().collect();
            let curve = Chart::latency_curve(&[("now".to_owned(), &histogram)]).unwrap();
            let columns = Chart::histogram(&histogram).unwrap();
            for tick in curve.x_ticks.iter().chain(&columns.x_ticks) {
                prop_assert!(tick.at >= LEFT && tick.at <= WIDTH - RIGHT);
            }
            for point in &curve.lines[0].points {
                prop_assert!((LEFT..=WIDTH - RIGHT).contains(&point.x) && (TOP..=HEIGHT - BOTTOM).contains(&point.y));
            }
            let drawn: u64 = columns.columns.iter().map(|column| {
                column.label.split(": ").nth(1).unwrap().split(' ').next().unwrap().parse::<u64>().unwrap()
            }).sum();
            prop_assert_eq!(drawn, total(&histogram));
            for column in &columns.columns {
                prop_assert!(column.x >= LEFT && column.x + column.width <= WIDTH - RIGHT + 0.2);
                prop_assert!(column.y >= TOP && column.y + column.height <= HEIGHT - BOTTOM + 0.2);
            }
        }
    }
}
