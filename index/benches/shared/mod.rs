use std::path::PathBuf;
use std::time::Duration;

/// From the workspace, and from a work tree beside it.
const TEXT_FOLDERS: [&str; 2] = ["../../shared/data/texts", "../../../shared/data/texts"];

/// `None` without real texts.
pub(crate) fn text_folder() -> Option<PathBuf> {
    let folders = TEXT_FOLDERS.iter().map(|folder| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(folder));
    folders.into_iter().find(|folder| folder.is_dir())
}

/// Microseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Percentiles {
    pub(crate) median: f64,
    pub(crate) p99: f64,
}

impl Percentiles {
    pub(crate) fn of(mut samples: Vec<Duration>) -> Self {
        samples.sort_unstable();
        let at = |place: usize| samples.get(place).map_or(0.0, |sample| sample.as_secs_f64() * 1e6);
        Self { median: at(samples.len() / 2), p99: at(samples.len() * 99 / 100) }
    }
}

impl std::fmt::Display for Percentiles {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} / {}", three_digits(self.median), three_digits(self.p99))
    }
}

pub(crate) fn three_digits(value: f64) -> String {
    if value < 100.0 {
        return format!("{value:.1}");
    }
    let unit = 10_f64.powf(value.log10().floor() - 2.0);
    format!("{:.0}", (value / unit).round() * unit)
}
