//! Progress and rejections on standard error.

use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{HumanCount, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};

const LINE_INTERVAL: Duration = Duration::from_secs(5);

const BAR: &str = "{prefix} {wide_bar} {percent:>3} % {msg}, {eta} left";
const SPINNER: &str = "{prefix} {spinner} {msg}";

pub(super) struct Console {
    bar: ProgressBar,
    is_terminal: bool,
    quiet: bool,
    line_written: Mutex<Instant>,
}

impl Console {
    pub(super) fn new() -> Self {
        let is_terminal = std::io::stderr().is_terminal();
        let target = if is_terminal { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        Self {
            bar: ProgressBar::with_draw_target(None, target),
            is_terminal,
            quiet: false,
            line_written: Mutex::new(Instant::now()),
        }
    }

    #[cfg(test)]
    pub(super) fn quiet() -> Self {
        let bar = ProgressBar::hidden();
        Self { bar, is_terminal: false, quiet: true, line_written: Mutex::new(Instant::now()) }
    }

    pub(super) fn begin(&self, name: &str, bytes: Option<u64>) {
        self.bar.reset();
        self.bar.set_prefix(name.to_owned());
        let template = if let Some(bytes) = bytes {
            self.bar.set_length(bytes);
            BAR
        } else {
            self.bar.unset_length();
            SPINNER
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            self.bar.set_style(style);
        }
    }

    pub(super) fn progress(&self, rows: u64, position: u64) {
        let rate = whole_rate(rows, self.bar.elapsed());
        self.bar.set_position(position);
        self.bar.set_message(format!("{} rows, {} rows/s", HumanCount(rows), HumanCount(rate)));
        if self.is_terminal || self.quiet {
            return;
        }
        let Ok(mut line_written) = self.line_written.lock() else { return };
        if line_written.elapsed() >= LINE_INTERVAL {
            *line_written = Instant::now();
            let left = match self.bar.length() {
                Some(bytes) if bytes > 0 => {
                    format!(", {} %, {} left", position * 100 / bytes, HumanDuration(self.bar.eta()))
                }
                _ => String::new(),
            };
            self.notice(&format!("{}: {}{left}", self.bar.prefix(), self.bar.message()));
        }
    }

    pub(super) fn notice(&self, line: &str) {
        if !self.quiet {
            self.bar.suspend(|| eprintln!("{line}"));
        }
    }

    pub(super) fn end(&self) {
        self.bar.finish_and_clear();
    }
}

/// Rounded down.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a rate to look at"
)]
pub(super) fn whole_rate(rows: u64, elapsed: Duration) -> u64 {
    (rows as f64 / elapsed.as_secs_f64().max(0.001)) as u64
}
