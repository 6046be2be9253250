//! Checked options of a run.

use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Pace {
    /// Open loop: searches per second.
    Rate(f64),
    Clients(u32),
}

#[derive(Clone, Debug)]
pub(super) struct LoadPlan {
    pub(super) pace: Pace,
    pub(super) warm_up: Duration,
    pub(super) duration: Duration,
    pub(super) pages: u32,
    /// Open loop; as many writes again.
    pub(super) max_in_flight: u32,
    pub(super) request_timeout: Duration,
}

impl LoadPlan {
    pub(super) fn concurrency(&self) -> u32 {
        match self.pace {
            Pace::Rate(_) => self.max_in_flight,
            Pace::Clients(clients) => clients,
        }
    }
}

/// `30s`, `500ms`, `2m`, `1h 30m`.
pub(super) fn parse_duration(text: &str) -> Result<Duration, String> {
    let duration: jiff::SignedDuration =
        text.parse().map_err(|_| "must be a duration such as 30s, 500ms or 2m".to_owned())?;
    Duration::try_from(duration).map_err(|_| "must not be negative".to_owned())
}

pub(super) fn parse_rate(text: &str) -> Result<f64, String> {
    let rate: Result<f64, _> = text.parse();
    rate.ok()
        .filter(|rate| *rate >= 0.001 && *rate <= 1_000_000.0)
        .ok_or_else(|| "must be 0.001 to 1000000 requests a second".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_rates_are_parsed() {
        assert_eq!(parse_duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse_duration("1m 30s"), Ok(Duration::from_secs(90)));
        assert_eq!(parse_duration("0s"), Ok(Duration::ZERO));
        assert!(parse_duration("30").unwrap_err().contains("30s"));
        assert_eq!(parse_duration("-1s").unwrap_err(), "must not be negative");
        assert_eq!([parse_rate("0.5"), parse_rate("200")], [Ok(0.5), Ok(200.0)]);
        for wrong in ["0", "-1", "NaN", "inf", "x", "1e9"] {
            assert!(parse_rate(wrong).is_err(), "{wrong}");
        }
    }
}
