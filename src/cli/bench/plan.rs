//! What a run does, as the options say it once they are checked.

use std::time::Duration;

/// Who decides when the next search begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Pace {
    /// The clock: so many searches a second, whatever the server does (open loop).
    Rate(f64),
    /// The server: so many clients that each send their next search when the last one was answered (closed loop).
    Clients(u32),
}

/// A run.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) pace: Pace,
    /// How long the load is on before anything is measured.
    pub(super) warm_up: Duration,
    /// How long the measured part is.
    pub(super) duration: Duration,
    /// The most pages of a search.
    pub(super) pages: u32,
    /// The most searches under way in an open loop; of writes the same.
    pub(super) max_in_flight: u32,
    /// How long one request may take.
    pub(super) request_timeout: Duration,
}

impl Plan {
    /// How many searches can be under way at a time.
    pub(super) fn places(&self) -> u32 {
        match self.pace {
            Pace::Rate(_) => self.max_in_flight,
            Pace::Clients(clients) => clients,
        }
    }
}

/// Reads a length of time: `30s`, `500ms`, `2m`, `1h 30m`.
///
/// # Errors
/// It is none, or below zero.
pub(super) fn parse_duration(text: &str) -> Result<Duration, String> {
    let duration: jiff::SignedDuration =
        text.parse().map_err(|_| "must be a length of time such as 30s, 500ms or 2m".to_owned())?;
    Duration::try_from(duration).map_err(|_| "must not be below zero".to_owned())
}

/// Reads a rate: a number above zero, up to a million.
///
/// # Errors
/// It is none.
pub(super) fn parse_rate(text: &str) -> Result<f64, String> {
    let rate: Result<f64, _> = text.parse();
    rate.ok()
        .filter(|rate| *rate >= 0.001 && *rate <= 1_000_000.0)
        .ok_or_else(|| "must be a number of requests a second, from 0.001 to 1000000".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time_and_rates_are_read_as_people_write_them() {
        assert_eq!(parse_duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse_duration("1m 30s"), Ok(Duration::from_secs(90)));
        assert_eq!(parse_duration("0s"), Ok(Duration::ZERO));
        assert!(parse_duration("30").unwrap_err().contains("30s"));
        assert_eq!(parse_duration("-1s").unwrap_err(), "must not be below zero");
        assert_eq!([parse_rate("0.5"), parse_rate("200")], [Ok(0.5), Ok(200.0)]);
        for wrong in ["0", "-1", "NaN", "inf", "x", "1e9"] {
            assert!(parse_rate(wrong).is_err(), "{wrong}");
        }
    }
}
