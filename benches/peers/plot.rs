//! A bar chart as SVG.

use std::fmt::Write;

const WIDTH: f64 = 720.0;
const NAMES: f64 = 190.0;
const BAR: f64 = 14.0;
const GAP: f64 = 12.0;
const HEAD: f64 = 40.0;
const COLOURS: [&str; 6] = ["#0b5fa5", "#d97a06", "#3c8d40", "#a33b8f", "#7a6a5a", "#222222"];

/// Bars of each engine by query, on a logarithmic scale of milliseconds.
pub(crate) fn bars(engines: &[String], groups: &[(&str, Vec<f64>)]) -> String {
    let values = || groups.iter().flat_map(|(_, values)| values.iter().copied());
    let least = 10_f64.powf(values().fold(f64::MAX, f64::min).log10().floor());
    let most = 10_f64.powf(values().fold(0.0, f64::max).log10().ceil());
    let scale = |value: f64| (value / least).log10() / (most / least).log10() * (WIDTH - NAMES - 60.0);
    let group = engines.len() as f64 * BAR + GAP;
    let height = HEAD + groups.len() as f64 * group + 20.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" font-size=\"11\">\
         <title>Median milliseconds of a page, one client</title><rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>"
    );
    for (place, (engine, colour)) in engines.iter().zip(COLOURS).enumerate() {
        let x = 10.0 + place as f64 * (WIDTH - 20.0) / engines.len() as f64;
        let _ = write!(
            svg,
            "<rect x=\"{x}\" y=\"8\" width=\"10\" height=\"10\" fill=\"{colour}\"/><text x=\"{}\" y=\"17\">{engine}</text>",
            x + 14.0
        );
    }
    for (row, (name, values)) in groups.iter().enumerate() {
        let top = HEAD + row as f64 * group;
        let _ = write!(svg, "<text x=\"10\" y=\"{}\">{name}</text>", top + group / 2.0);
        for (place, (value, colour)) in values.iter().zip(COLOURS).enumerate() {
            let (y, length) = (top + place as f64 * BAR, scale(*value).max(1.0));
            let _ = write!(
                svg,
                "<rect x=\"{NAMES}\" y=\"{y}\" width=\"{length:.1}\" height=\"{}\" fill=\"{colour}\"/>\
                 <text x=\"{:.1}\" y=\"{}\">{value:.2}</text>",
                BAR - 2.0,
                NAMES + length + 4.0,
                y + BAR - 4.0
            );
        }
    }
    svg.push_str("</svg>\n");
    svg
}
