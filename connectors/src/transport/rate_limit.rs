//! Pauses that an answer asks for, by `Retry-After` or the headers of rate limits.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use reqwest::StatusCode;
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};

use crate::times::millis_of_size;

const MAX_WAIT: Duration = Duration::from_hours(24);
/// Three years. Numbers from here on are times, not waits.
const FIRST_TIME: f64 = 1e8;
const REMAINING: [&str; 3] = ["x-ratelimit-remaining", "x-rate-limit-remaining", "ratelimit-remaining"];
const RESET: [&str; 4] =
    ["x-ratelimit-reset-after", "x-ratelimit-reset", "x-rate-limit-reset", "ratelimit-reset"];

/// Whether an answer asks for fewer requests, and for how long there should be none; at most one day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pause {
    pub(crate) is_asked: bool,
    pub(crate) wait: Option<Duration>,
}

/// 403 is about credentials, unless headers tell that the allowance is used up.
pub(super) fn read_pause(status: StatusCode, headers: &HeaderMap) -> Pause {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let now = text(DATE.as_str()).and_then(|date| httpdate::parse_http_date(date).ok());
    let now = now.unwrap_or_else(SystemTime::now);
    let after = text(RETRY_AFTER.as_str()).and_then(|text| read_wait(text, now));
    let is_used_up = REMAINING.into_iter().filter_map(text).any(is_zero)
        || text("ratelimit").is_some_and(|limit| parameter(limit, &["remaining", "r"]).is_some_and(is_zero));
    let is_asked = match status {
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => true,
        StatusCode::FORBIDDEN => is_used_up || after.is_some(),
        _ => false,
    };
    let reset = || {
        let named = RESET.into_iter().filter_map(text);
        let mut named = named.chain(text("ratelimit").and_then(|limit| parameter(limit, &["reset", "t"])));
        named.find_map(|text| read_wait(text, now))
    };
    let tells_reset = is_used_up || status == StatusCode::TOO_MANY_REQUESTS;
    let wait = after.or_else(|| tells_reset.then(reset).flatten());
    Pause { is_asked, wait: wait.filter(|_| is_asked).map(|wait| wait.min(MAX_WAIT)) }
}

fn is_zero(number: &str) -> bool {
    number.split(',').next().and_then(|first| first.trim().parse::<f64>().ok()) == Some(0.0)
}

/// `remaining=0, reset=50` or `"default";r=0;t=50`.
fn parameter<'t>(text: &'t str, names: &[&str]) -> Option<&'t str> {
    let pairs = text.split([',', ';']).filter_map(|pair| pair.split_once('='));
    pairs
        .map(|(name, value)| (name.trim(), value.trim()))
        .find(|(name, _)| names.contains(name))
        .map(|(_, value)| value)
}

/// Seconds from now; else a time: an HTTP date, ISO 8601, or a number since 1970.
fn read_wait(text: &str, now: SystemTime) -> Option<Duration> {
    let most = MAX_WAIT.as_secs_f64();
    let at = match text.parse::<f64>() {
        Ok(seconds) if (0.0..FIRST_TIME).contains(&seconds) => {
            return Some(Duration::from_secs_f64(seconds.min(most)));
        }
        Ok(time) if time >= FIRST_TIME => {
            // A time too far to be read is a long wait.
            let millis = millis_of_size(time).and_then(|(millis, _)| u64::try_from(millis).ok());
            millis.and_then(|millis| UNIX_EPOCH.checked_add(Duration::from_millis(millis)))
        }
        Ok(_) => return None,
        Err(_) => {
            let date = httpdate::parse_http_date(text).ok();
            let iso = || text.parse::<jiff::Timestamp>().ok().map(SystemTime::from);
            Some(date.or_else(iso)?)
        }
    };
    Some(at.map_or(MAX_WAIT, |at| at.duration_since(now).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use reqwest::header::{HeaderName, HeaderValue};

    use super::*;

    fn pause(status: u16, headers: &[(&'static str, &'static str)]) -> Pause {
        let date = [("date", "Tue, 14 Nov 2023 22:13:20 GMT")];
        let pairs = date.iter().chain(headers);
        let headers = pairs
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect();
        read_pause(StatusCode::from_u16(status).unwrap(), &headers)
    }

    fn wait(status: u16, headers: &[(&'static str, &'static str)]) -> Option<u64> {
        pause(status, headers).wait.map(|wait| wait.as_secs())
    }

    #[test]
    fn reset_is_read_in_every_form() {
        for reset in [
            ("x-ratelimit-reset", "1700000090"),
            ("x-ratelimit-reset", "1700000090000"),
            ("x-ratelimit-reset", "1700000090.25"),
            ("x-ratelimit-reset", "90"),
            ("x-rate-limit-reset", "2023-11-14T22:14:50Z"),
            ("ratelimit-reset", "Tue, 14 Nov 2023 22:14:50 GMT"),
            ("x-ratelimit-reset-after", "90.5"),
            ("ratelimit", "limit=100, remaining=0, reset=90"),
            ("ratelimit", "\"default\";r=0;t=90"),
            ("retry-after", "90"),
        ] {
            assert_eq!(wait(429, &[reset]), Some(90), "{reset:?}");
            assert_eq!(wait(403, &[("x-ratelimit-remaining", "0"), reset]), Some(90), "{reset:?}");
        }
        assert_eq!(wait(429, &[("retry-after", "5"), ("x-ratelimit-reset", "1700000090")]), Some(5));
        assert_eq!(wait(429, &[("x-ratelimit-reset", "1600000000")]), Some(0), "it is over");
        assert_eq!(wait(429, &[("x-ratelimit-reset", "99999999999999999999")]), Some(24 * 3600));
        for unreadable in ["soon", "", "-5", "nan", "inf"] {
            assert_eq!(
                wait(429, &[("x-ratelimit-reset", unreadable)]).filter(|wait| *wait < 3600),
                None,
                "{unreadable}"
            );
        }
    }

    #[test]
    fn refusal_of_credentials_is_no_pause() {
        let reset = ("x-ratelimit-reset", "1700000090");
        assert_eq!(pause(403, &[]), Pause::default());
        assert_eq!(pause(403, &[("x-ratelimit-remaining", "41"), reset]), Pause::default());
        assert_eq!(pause(401, &[("x-ratelimit-remaining", "0"), reset]), Pause::default());
        assert!(pause(403, &[("x-ratelimit-remaining", "0")]).is_asked, "without a time, too");
        assert_eq!(wait(403, &[("retry-after", "30")]), Some(30));
        assert_eq!(wait(503, &[("x-ratelimit-remaining", "41"), reset]), None, "it is out of service");
        assert!(pause(429, &[]).is_asked);
    }
}
