//! Time as trawl keeps it: milliseconds since 1970.

use std::time::{SystemTime, UNIX_EPOCH};

use jiff::Timestamp;

/// The present, in epoch milliseconds.
pub fn now_millis() -> i64 {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX)
}

/// Epoch milliseconds as RFC 3339 text: `2024-01-01T00:00:00.000Z`.
pub fn rfc3339(millis: i64) -> String {
    let time = Timestamp::from_millisecond(millis).unwrap_or_default();
    format!("{time:.3}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc3339_text_has_milliseconds() {
        assert_eq!(rfc3339(1_704_067_200_000), "2024-01-01T00:00:00.000Z");
        assert_eq!(rfc3339(1_704_067_200_050), "2024-01-01T00:00:00.050Z");
    }
}
