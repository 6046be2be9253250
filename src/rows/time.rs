//! Parses times of rows as epoch milliseconds.

use serde_json::Value;
use trawl_connectors::times;

/// Parses a `displayTime`: epoch milliseconds, a number in another unit, told by its size, or a date.
pub(crate) fn display_time(value: &Value) -> Option<i64> {
    match value.as_f64() {
        Some(number) => times::millis_of_display_time(number).map(|(millis, _)| millis),
        None => times::from_text(value.as_str()?),
    }
}

/// Parses an epoch number, or a date as systems write it.
///
/// Times without a zone are UTC.
pub(crate) fn any_time(value: &Value) -> Option<i64> {
    match value.as_f64() {
        Some(number) => times::from_number(number),
        None => times::from_text(value.as_str()?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn documented_notations_are_parsed() {
        let expected = Some(1_787_209_830_000);
        for value in [
            json!("2026-08-20T07:10:30Z"),
            json!("2026-08-20T00:10:30-07:00"),
            json!(" 2026-08-20T07:10:30.000+00:00 "),
            json!("2026-08-20 07:10:30"),
            json!(1_787_209_830),
            json!(1_787_209_830_000_i64),
            json!(1_787_209_830.000_1),
            json!(1_787_209_830_000_000_i64),
            json!("Thu, 20 Aug 2026 09:10:30 CEST"),
        ] {
            assert_eq!(any_time(&value), expected, "{value}");
        }
        assert_eq!(any_time(&json!("2026-08-20")), Some(1_787_184_000_000), "midnight UTC");
    }

    #[test]
    fn other_values_are_no_time() {
        for value in [json!("yesterday"), json!("2026-13-01"), json!(""), json!(true), json!([1])] {
            assert_eq!(any_time(&value), None, "{value}");
        }
    }

    #[test]
    fn display_time_is_read_by_its_size() {
        for time in [1_700_000_000_i64, 1_700_000_000_000, 1_700_000_000_000_000] {
            assert_eq!(display_time(&json!(time)), Some(1_700_000_000_000), "{time}");
        }
        // The first day of 1970, and times before.
        for time in [5, 86_400_000, -86_400_000, i64::MIN / 1_000_000] {
            assert_eq!(display_time(&json!(time)), Some(time));
        }
        assert_eq!(display_time(&json!("1970-01-02")), Some(86_400_000));
    }

    proptest! {
        #![proptest_config(trawl_seeds::cases(256))]

        #[test]
        fn rfc_3339_time_reads_back(milliseconds in 0_i64..4_000_000_000_000) {
            let text = Timestamp::from_millisecond(milliseconds).unwrap().to_string();
            prop_assert_eq!(any_time(&json!(text)), Some(milliseconds));
        }
    }
}
