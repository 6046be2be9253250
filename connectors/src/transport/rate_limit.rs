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

/// Whether fewer requests are asked for, and how long none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RateLimitPause {
    pub(crate) is_asked: bool,
    pub(crate) wait: Option<Duration>,
}

/// 403 is about credentials, unless headers tell that an allowance is used up.
pub(crate) fn read_pause(status: StatusCode, headers: &HeaderMap) -> RateLimitPause {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let list = |name: &str| {
        let lines: Vec<&str> = headers.get_all(name).iter().filter_map(|line| line.to_str().ok()).collect();
        (!lines.is_empty()).then(|| lines.join(","))
    };
    let now = text(DATE.as_str()).and_then(|date| httpdate::parse_http_date(date).ok());
    let now = now.unwrap_or_else(SystemTime::now);
    let after = text(RETRY_AFTER.as_str()).and_then(|text| read_wait(text, now));
    let mut remaining = REMAINING.into_iter().filter_map(list).map(|numbers| used_up(&numbers));
    let used_up = remaining.find(|used_up| used_up.contains(&true)).unwrap_or_default();
    let limits = list("ratelimit").unwrap_or_default();
    let policies = read_policies(&limits);
    let is_used_up = !used_up.is_empty() || policies.iter().any(|policy| policy.is_used_up);
    let is_asked = match status {
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => true,
        StatusCode::FORBIDDEN => is_used_up || after.is_some(),
        _ => false,
    };
    let reset = || {
        let named =
            RESET.into_iter().filter_map(list).find_map(|text| read_reset(text.trim(), &used_up, now));
        let wait = |policy: &Policy<'_>| policy.reset.and_then(|text| read_wait(text, now));
        let of_used_up = policies.iter().filter(|policy| policy.is_used_up).filter_map(wait).max();
        named.or(of_used_up).or_else(|| policies.iter().find_map(wait))
    };
    let tells_reset = is_used_up || status == StatusCode::TOO_MANY_REQUESTS;
    let wait = after.or_else(|| tells_reset.then(reset).flatten());
    RateLimitPause { is_asked, wait: wait.filter(|_| is_asked).map(|wait| wait.min(MAX_WAIT)) }
}

/// Whether each allowance is used up: `5, 0`, or `0;w=60`.
fn used_up(numbers: &str) -> Vec<bool> {
    let number = |entry: &str| entry.split(';').next().and_then(|number| number.trim().parse::<f64>().ok());
    numbers.split(',').map(|entry| number(entry) == Some(0.0)).collect()
}

/// The longest of the waits that stand where allowances are used up.
fn read_reset(text: &str, used_up: &[bool], now: SystemTime) -> Option<Duration> {
    // A date holds a comma.
    read_wait(text, now).or_else(|| {
        let waits: Vec<Option<Duration>> = text.split(',').map(|text| read_wait(text.trim(), now)).collect();
        let is_parallel = waits.len() == used_up.len();
        let counts = |place: usize| !is_parallel || used_up.get(place) == Some(&true);
        waits.into_iter().enumerate().filter(|(place, _)| counts(*place)).filter_map(|(_, wait)| wait).max()
    })
}

#[derive(Default)]
struct Policy<'t> {
    is_used_up: bool,
    reset: Option<&'t str>,
}

/// `remaining=0, reset=50` or `"burst";r=10;t=1, "daily";r=0;t=3600`.
fn read_policies(text: &str) -> Vec<Policy<'_>> {
    let mut policies = vec![Policy::default()];
    for part in text.split([',', ';']) {
        // A name begins a policy.
        let Some((name, value)) = part.split_once('=') else {
            policies.push(Policy::default());
            continue;
        };
        let Some(policy) = policies.last_mut() else { continue };
        match name.trim() {
            "remaining" | "r" => policy.is_used_up = used_up(value).contains(&true),
            "reset" | "t" => policy.reset = Some(value.trim()),
            _ => {}
        }
    }
    policies
}

/// Reads a wait: seconds, a span such as `1m30s`, or a time.
///
/// A time is an HTTP date, ISO 8601, or a number since 1970.
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
            let span = || now.checked_add(text.parse::<jiff::SignedDuration>().ok()?.try_into().ok()?);
            Some(date.or_else(iso).or_else(span)?)
        }
    };
    Some(at.map_or(MAX_WAIT, |at| at.duration_since(now).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use reqwest::header::{HeaderName, HeaderValue};

    use super::*;

    fn pause(status: u16, headers: &[(&'static str, &'static str)]) -> RateLimitPause {
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
            ("retry-after", "90s"),
            ("retry-after", "90 seconds"),
            ("x-ratelimit-reset", "1m30s"),
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
    fn any_used_up_allowance_counts_with_its_own_reset() {
        let policies = |limits| [("ratelimit", limits)];
        assert_eq!(wait(403, &policies("\"burst\";r=10;t=1, \"daily\";r=0;t=3600")), Some(3600));
        assert_eq!(wait(429, &policies("\"daily\";r=0;t=3600, \"burst\";r=10;t=1")), Some(3600));
        assert_eq!(wait(429, &policies("\"burst\";r=0;t=1, \"daily\";r=0;t=3600")), Some(3600));
        assert_eq!(wait(429, &policies("\"burst\";r=10;t=1, \"daily\";r=7;t=3600")), Some(1));
        assert_eq!(
            pause(403, &policies("\"burst\";r=10;t=1, \"daily\";r=7;t=3600")),
            RateLimitPause::default()
        );
        let listed = |remaining, reset| [("x-ratelimit-remaining", remaining), ("x-ratelimit-reset", reset)];
        assert_eq!(wait(403, &listed("5, 0", "1, 3600")), Some(3600));
        assert_eq!(wait(403, &listed("0, 5", "1, 3600")), Some(1));
        assert_eq!(wait(403, &listed("5, 0", "90")), Some(90));
        assert_eq!(wait(403, &listed("0;w=60", "90")), Some(90));
        assert_eq!(pause(403, &listed("5, 10", "1, 3600")), RateLimitPause::default());
    }

    #[test]
    fn refusal_of_credentials_is_no_pause() {
        let reset = ("x-ratelimit-reset", "1700000090");
        assert_eq!(pause(403, &[]), RateLimitPause::default());
        assert_eq!(pause(403, &[("x-ratelimit-remaining", "41"), reset]), RateLimitPause::default());
        assert_eq!(pause(401, &[("x-ratelimit-remaining", "0"), reset]), RateLimitPause::default());
        assert!(pause(403, &[("x-ratelimit-remaining", "0")]).is_asked, "without a time, too");
        assert_eq!(wait(403, &[("retry-after", "30")]), Some(30));
        assert_eq!(wait(503, &[("x-ratelimit-remaining", "41"), reset]), None, "it is out of service");
        assert!(pause(429, &[]).is_asked);
    }
}
