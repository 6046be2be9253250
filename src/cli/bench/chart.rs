//! Charts of the report: measurements in, SVG paths for the template out.

use std::fmt::Write as _;

use serde::Serialize;

/// Plot size; the template adds room for labels.
const WIDTH: f64 = 616.0;
const HEIGHT: f64 = 248.0;

/// Shares that are marked, by their number of nines.
const SHARES: [(f64, &str); 8] = [
    (0.0, "0 %"),
    (std::f64::consts::LOG10_2, "50 %"),
    (1.0, "90 %"),
    (2.0, "99 %"),
    (3.0, "99.9 %"),
    (4.0, "99.99 %"),
    (5.0, "99.999 %"),
    (6.0, "99.9999 %"),
];

/// Nanoseconds, ascending, and their counts.
pub(super) type Histogram = [(u64, u64)];

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Chart {
    pub(super) title: &'static str,
    pub(super) description: String,
    pub(super) x_label: &'static str,
    pub(super) y_label: &'static str,
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) x_ticks: Vec<Tick>,
    pub(super) y_ticks: Vec<Tick>,
    pub(super) lines: Vec<Line>,
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
}

impl Chart {
    /// Latency by percentile; each further nine has the same width.
    pub(super) fn latency_curve(runs: &[(&str, &Histogram)]) -> Option<Self> {
        let most = runs.iter().map(|(_, histogram)| total(histogram)).max().filter(|most| *most > 0)?;
        let latencies = || runs.iter().flat_map(|(_, histogram)| histogram.iter().map(|(nanos, _)| *nanos));
        let (low, high) = (decade(latencies().min()?).floor(), decade(latencies().max()?).ceil());
        let x = Axis::horizontal(nines(most, most).max(1.0));
        let y = Axis { low, high: high.max(low + 1.0), from: HEIGHT, to: 0.0 };
        let line = |(name, histogram): &(&str, &Histogram)| {
            let all = total(histogram);
            let mut below = 0;
            let steps = histogram.iter().map(|(nanos, count)| {
                let from = nines(below, all);
                below += count;
                Some(ChartStep { from, to: nines(below, all), height: decade(*nanos) })
            });
            Line { name: (*name).to_owned(), path: path(steps, x, y) }
        };
        Some(Self {
            title: "Latency by percentile",
            description: format!(
                "The latency that a share of the requests did not exceed, up to the slowest of {most}."
            ),
            x_label: "share of the requests",
            y_label: "latency",
            width: WIDTH,
            height: HEIGHT,
            x_ticks: x.ticks(SHARES.map(|(nines, share)| (nines, share.to_owned()))),
            y_ticks: y.ticks(round_latencies(low, y.high).map(|nanos| (nanos.log10(), duration(nanos)))),
            lines: runs.iter().filter(|(_, histogram)| !histogram.is_empty()).map(line).collect(),
        })
    }

    /// Values of each second; an absent one leaves a gap.
    pub(super) fn over_time(
        title: &'static str,
        y_label: &'static str,
        series: &[(&str, Vec<Option<f64>>)],
    ) -> Option<Self> {
        let seconds = series.iter().map(|(_, values)| values.len()).max()?;
        let values = series.iter().flat_map(|(_, values)| values.iter().flatten().copied());
        let high = values.reduce(f64::max).filter(|high| *high > 0.0)?;
        let x = Axis::horizontal(f64::from(u32::try_from(seconds).ok()?));
        let y = Axis { low: 0.0, high: high * 1.05, from: HEIGHT, to: 0.0 };
        let line = |(name, values): &(&str, Vec<Option<f64>>)| {
            let steps = (0_u32..).zip(values).map(|(second, height)| {
                Some(ChartStep { from: second.into(), to: (second + 1).into(), height: (*height)? })
            });
            Line { name: (*name).to_owned(), path: path(steps, x, y) }
        };
        let names: Vec<&str> = series.iter().map(|(name, _)| *name).collect();
        Some(Self {
            title,
            description: format!("{} in each of {seconds} seconds.", names.join(", ")),
            x_label: "time",
            y_label,
            width: WIDTH,
            height: HEIGHT,
            x_ticks: x.ticks(even_values(x.high).map(|value| (value, format!("{} s", plain(value))))),
            y_ticks: y.ticks(even_values(high).map(|value| (value, plain(value)))),
            lines: series.iter().map(line).collect(),
        })
    }
}

/// A horizontal piece of a line.
struct ChartStep {
    from: f64,
    to: f64,
    height: f64,
}

/// Maps values between two bounds to coordinates.
#[derive(Clone, Copy)]
struct Axis {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Axis {
    fn horizontal(high: f64) -> Self {
        Self { low: 0.0, high, from: 0.0, to: WIDTH }
    }

    fn at(self, value: f64) -> f64 {
        let share = ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
        ((self.from + (self.to - self.from) * share) * 10.0).round() / 10.0
    }

    /// Leaves out values beyond the axis.
    fn ticks(self, values: impl IntoIterator<Item = (f64, String)>) -> Vec<Tick> {
        let within = values.into_iter().filter(|(value, _)| *value <= self.high + 1e-6);
        within.map(|(value, label)| Tick { at: self.at(value), label }).collect()
    }
}

fn path(steps: impl Iterator<Item = Option<ChartStep>>, x: Axis, y: Axis) -> String {
    let mut path = String::new();
    let mut is_drawing = false;
    for step in steps {
        if let Some(ChartStep { from, to, height }) = &step {
            let height = y.at(*height);
            if is_drawing {
                let _ = write!(path, "V{height}");
            } else {
                let _ = write!(path, "M{} {height}", x.at(*from));
            }
            let _ = write!(path, "H{}", x.at(*to));
        }
        is_drawing = step.is_some();
    }
    path
}

/// Counts the nines of a share: 0.9 has one.
fn nines(count: u64, all: u64) -> f64 {
    // Computed from the rest, which keeps all digits.
    -(float(all.saturating_sub(count).max(1)) / float(all)).log10()
}

fn decade(nanos: u64) -> f64 {
    float(nanos.max(1)).log10()
}

/// Powers of ten; up to four decades apart, their double and fivefold, too.
fn round_latencies(low: f64, high: f64) -> impl Iterator<Item = f64> {
    let steps: &[f64] = if high - low > 4.0 { &[1.0] } else { &[1.0, 2.0, 5.0] };
    #[expect(clippy::cast_possible_truncation, reason = "nanoseconds have few powers of ten")]
    let powers = low as i32..=high as i32;
    powers.flat_map(move |power| steps.iter().map(move |step| step * 10_f64.powi(power)))
}

/// Six multiples of 1, 2 or 5 times a power of ten, from 0.
fn even_values(high: f64) -> impl Iterator<Item = f64> {
    let rough = high / 5.0;
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0].map(|step| step * power).into_iter().find(|step| *step >= rough);
    let step = step.unwrap_or(10.0 * power);
    (0..=5).map(move |place| f64::from(place) * step)
}

/// Nanoseconds in their natural unit.
fn duration(nanos: f64) -> String {
    let (value, unit) = match nanos {
        ..1e3 => (nanos, "ns"),
        ..1e6 => (nanos / 1e3, "µs"),
        ..1e9 => (nanos / 1e6, "ms"),
        _ => (nanos / 1e9, "s"),
    };
    format!("{} {unit}", plain(value))
}

fn plain(value: f64) -> String {
    ((value * 1e3).round() / 1e3).to_string()
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

    fn labels(ticks: &[Tick]) -> Vec<&str> {
        ticks.iter().map(|tick| tick.label.as_str()).collect()
    }

    #[test]
    fn percentile_axis_gives_each_nine_equal_width() {
        let histogram = [(1_000_000, 900), (2_000_000, 90), (9_000_000, 10)];
        let chart = Chart::latency_curve(&[("now", &histogram)]).unwrap();
        assert_eq!(labels(&chart.x_ticks), ["0 %", "50 %", "90 %", "99 %", "99.9 %"]);
        assert_eq!(labels(&chart.y_ticks), ["1 ms", "2 ms", "5 ms", "10 ms"]);
        assert_eq!(chart.lines[0].path, "M0 248H205.3V173.3H410.7V11.3H616");
    }

    #[test]
    fn time_axis_has_even_values() {
        let values = vec![Some(46.0); 30];
        let chart = Chart::over_time("Throughput", "a second", &[("searches", values)]).unwrap();
        assert_eq!(labels(&chart.x_ticks), ["0 s", "10 s", "20 s", "30 s"]);
        assert_eq!(labels(&chart.y_ticks), ["0", "10", "20", "30", "40"]);
    }

    #[test]
    fn durations_use_natural_units() {
        let said = [950.0, 91_000.0, 1_500_000.0, 250_000_000.0, 2e9].map(duration);
        assert_eq!(said, ["950 ns", "91 µs", "1.5 ms", "250 ms", "2 s"]);
    }

    #[test]
    fn missing_second_leaves_gap() {
        let values = vec![Some(10.0), None, Some(20.0), Some(20.0)];
        let chart = Chart::over_time("T", "a second", &[("searches", values)]).unwrap();
        assert_eq!(chart.lines[0].path.matches('M').count(), 2);
        assert_eq!(Chart::over_time("T", "y", &[("searches", vec![None])]), None);
    }

    proptest! {
        #![proptest_config(trawl_seeds::cases(64))]

        #[test]
        fn curve_spans_plot(
            values in prop::collection::btree_map(1_u64..4_000_000_000_000, 1_u64..10_000, 1..60),
        ) {
            let histogram: Vec<(u64, u64)> = values.into_iter().collect();
            let curve = Chart::latency_curve(&[("now", &histogram)]).unwrap();
            for tick in &curve.x_ticks {
                prop_assert!((0.0..=WIDTH).contains(&tick.at));
            }
            for tick in &curve.y_ticks {
                prop_assert!((0.0..=HEIGHT).contains(&tick.at));
            }
            let path = &curve.lines[0].path;
            prop_assert!(path.starts_with("M0 "), "{}", path);
            prop_assert!(total(&histogram) < 10 || path.ends_with(&format!("H{WIDTH}")), "{}", path);
        }
    }
}
