//! Curves of a soak, as a picture for the book.

#![allow(clippy::cast_precision_loss, reason = "a pixel needs no more than 52 bits")]

use std::{fmt::Write as _, fs, path::Path, time::Duration};

use super::{
    faults::Failure,
    gauges::{Gauges, Sample},
    journal::{Journal, quantile},
    people::PERSON,
};

const WIDTH: f64 = 800.0;
const HEIGHT: f64 = 110.0;
/// Points of a curve.
const POINTS: u32 = 200;

struct Curve {
    title: String,
    values: Vec<f64>,
}

/// Writes `NAME.svg` into the directory that `TRAWL_SOAK_CURVES` names, if it names one.
pub(super) fn write(name: &str, journal: &Journal, gauges: &Gauges, failures: &[Failure]) {
    let Some(directory) = std::env::var_os("TRAWL_SOAK_CURVES") else { return };
    let whole = journal.now();
    let slices = (0..POINTS).map(|point| (whole * point / POINTS, whole * (point + 1) / POINTS));
    let slices: Vec<(Duration, Duration)> = slices.collect();
    let peaks = |of: fn(&Sample) -> f64| {
        let peak =
            |(from, to): &(Duration, Duration)| gauges.between(*from, *to).iter().map(of).fold(0.0, f64::max);
        slices.iter().map(peak).collect::<Vec<_>>()
    };
    let latency = |of_thousand| {
        let of = |(from, to): &(Duration, Duration)| {
            quantile(&journal.between(*from, *to), PERSON, of_thousand).as_secs_f64()
        };
        slices.iter().map(|slice| of(slice) * 1_000.0).collect::<Vec<_>>()
    };
    let mib = f64::from(1 << 20);
    let curves = [
        (
            "memory of the server, MiB",
            peaks(|sample| sample.own_memory as f64).iter().map(|bytes| bytes / mib).collect(),
        ),
        (
            "memory with its processes, MiB",
            peaks(|sample| sample.memory as f64).iter().map(|bytes| bytes / mib).collect(),
        ),
        ("open descriptors", peaks(|sample| sample.descriptors as f64)),
        ("a person's page, median, ms", latency(500)),
        ("a person's page, p99, ms", latency(990)),
    ];
    let curves = curves.map(|(title, values)| Curve {
        title: format!("{title}, over {} minutes", whole.as_secs() / 60),
        values,
    });
    let place = |failure: &Failure| failure.from.as_secs_f64() / whole.as_secs_f64() * WIDTH;
    let marks: Vec<(f64, &str)> = failures.iter().map(|failure| (place(failure), failure.name)).collect();
    fs::write(Path::new(&directory).join(format!("{name}.svg")), draw(&curves, &marks)).unwrap();
}

/// Curves below each other, each from 0 to its most; a fault is a line.
fn draw(curves: &[Curve], marks: &[(f64, &str)]) -> String {
    let height = HEIGHT * curves.len() as f64;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" font-size=\"12\">\n"
    );
    for (mark, name) in marks {
        let line =
            format_args!("<path d=\"M{mark:.0} 0V{height}\" stroke=\"#ddd\"><title>{name}</title></path>");
        writeln!(svg, "{line}").unwrap();
    }
    for (place, curve) in curves.iter().enumerate() {
        let most = curve.values.iter().copied().fold(1.0, f64::max);
        let base = HEIGHT * (place + 1) as f64 - 10.0;
        let point = |(number, value): (usize, &f64)| {
            let x = number as f64 / f64::from(POINTS) * WIDTH;
            format!("{x:.0},{:.0}", base - value / most * (HEIGHT - 35.0))
        };
        let points: Vec<String> = curve.values.iter().enumerate().map(point).collect();
        writeln!(
            svg,
            "<text x=\"4\" y=\"{:.0}\">{}; at most {most:.0}</text>",
            base - HEIGHT + 25.0,
            curve.title
        )
        .unwrap();
        writeln!(svg, "<polyline fill=\"none\" stroke=\"#36c\" points=\"{}\"/>", points.join(" ")).unwrap();
    }
    svg + "</svg>\n"
}
