//! Axes: values to coordinates, and round tick values.

use super::{BOTTOM, HEIGHT, LEFT, RIGHT, TOP, Tick, WIDTH, float};

#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    logarithmic: bool,
}

impl Axis {
    pub(super) fn horizontal(low: f64, high: f64, logarithmic: bool) -> Self {
        Self { low, high, from: LEFT, to: WIDTH - RIGHT, logarithmic }
    }

    pub(super) fn vertical(low: f64, high: f64, logarithmic: bool) -> Self {
        Self { low, high, from: HEIGHT - BOTTOM, to: TOP, logarithmic }
    }

    pub(super) fn at(&self, value: f64) -> f64 {
        let place = if self.logarithmic {
            (value.max(self.low) / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        rounded(self.from + (self.to - self.from) * place.clamp(0.0, 1.0))
    }

    pub(super) fn ticks(&self, values: Vec<f64>, label: impl Fn(f64) -> String) -> Vec<Tick> {
        let within = |value: &f64| *value >= self.low && *value <= self.high * 1.000_001;
        values
            .into_iter()
            .filter(within)
            .map(|value| Tick { at: self.at(value), label: label(value) })
            .collect()
    }
}

pub(super) fn rounded(place: f64) -> f64 {
    (place * 10.0).round() / 10.0
}

pub(super) fn bounds<'a>(histogram: impl Iterator<Item = &'a (u64, u64)>) -> Option<(f64, f64)> {
    let values = histogram.filter(|(_, count)| *count > 0).map(|(nanos, _)| float((*nanos).max(1)));
    let (low, high) =
        values.fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), value| (low.min(value), high.max(value)));
    if high <= 0.0 {
        return None;
    }
    let grid = round_values(low / 5.0, high * 5.0);
    let below = grid.iter().copied().rfind(|value| *value <= low).unwrap_or(low);
    let above = grid.iter().copied().find(|value| *value >= high && *value > below).unwrap_or(high);
    Some((below, above))
}

/// 1, 2 and 5 times powers of ten; over a wide range the powers alone.
pub(super) fn round_values(low: f64, high: f64) -> Vec<f64> {
    let steps: &[f64] = if high / low > 20_000.0 { &[1.0] } else { &[1.0, 2.0, 5.0] };
    #[expect(clippy::cast_possible_truncation, reason = "nanoseconds have few powers of ten")]
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let values = (first..=last).flat_map(|power| steps.iter().map(move |step| step * 10_f64.powi(power)));
    values.filter(|value| *value >= low * 0.999_999 && *value <= high * 1.000_001).collect()
}

pub(super) fn even_values(high: f64) -> Vec<f64> {
    let rough = high / 5.0;
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|step| step * power).find(|step| *step >= rough);
    let step = step.unwrap_or(rough).max(f64::MIN_POSITIVE);
    (0..=10).map(|place| f64::from(place) * step).filter(|value| *value <= high * 1.000_001).collect()
}

/// Nanoseconds in their natural unit.
pub(super) fn duration(nanos: f64) -> String {
    let (value, unit) = match nanos {
        ..1e3 => (nanos, "ns"),
        ..1e6 => (nanos / 1e3, "µs"),
        ..1e9 => (nanos / 1e6, "ms"),
        _ => (nanos / 1e9, "s"),
    };
    format!("{} {unit}", plain(value))
}

pub(super) fn plain(value: f64) -> String {
    let digits = if value >= 100.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        3
    };
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_use_natural_units() {
        let said = [950.0, 91_000.0, 1_500_000.0, 250_000_000.0, 2e9].map(duration);
        assert_eq!(said, ["950 ns", "91 µs", "1.5 ms", "250 ms", "2 s"]);
    }

    #[test]
    fn ticks_are_round_values() {
        assert_eq!(even_values(47.0), [0.0, 10.0, 20.0, 30.0, 40.0]);
        assert_eq!(round_values(900.0, 21_000.0), [1e3, 2e3, 5e3, 1e4, 2e4]);
        assert_eq!(bounds([(1_300, 1), (90_000, 2), (5_000_000, 0)].iter()), Some((1e3, 1e5)));
        assert_eq!(bounds([].iter()), None);
    }

    #[test]
    fn logarithmic_axis_spaces_powers_evenly() {
        let axis = Axis::horizontal(1.0, 100.0, true);
        let [first, second, third] = [1.0, 10.0, 100.0].map(|value| axis.at(value));
        assert!((first - LEFT).abs() < 0.1 && (third - (WIDTH - RIGHT)).abs() < 0.1);
        assert!((second - first - (third - second)).abs() < 0.2);
        assert!((axis.at(0.5) - LEFT).abs() < 0.1, "values outside stand at the border");
    }
}
