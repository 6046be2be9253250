//! Conditional and range requests (RFC 9110 §13 and §14).

use std::ops::Range;

use axum::http::{HeaderMap, Method, header};
use headers::{
    ETag, HeaderMapExt, IfMatch, IfModifiedSince, IfNoneMatch, IfRange, IfUnmodifiedSince, LastModified,
};
use http_range_header::{EndPosition, RangeUnsatisfiableError, StartPosition, parse_range_header};

/// The response to a conditional or range request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PreconditionOutcome {
    /// 200 with the whole content.
    Whole,
    /// 206 with these bytes.
    Part(Range<u64>),
    /// 304: the client has it.
    Known,
    /// 412: a precondition failed.
    Other,
    /// 416: no such bytes.
    Beyond,
}

/// Evaluates the headers for a content of `size` bytes.
pub(super) fn asked(
    method: &Method,
    headers: &HeaderMap,
    size: u64,
    e_tag: &ETag,
    last_modified: LastModified,
) -> PreconditionOutcome {
    let modified = last_modified.into();
    let is_other = match (headers.typed_get::<IfMatch>(), headers.typed_get::<IfUnmodifiedSince>()) {
        (Some(expected), _) => !expected.precondition_passes(e_tag),
        (None, Some(since)) => !since.precondition_passes(modified),
        (None, None) => false,
    };
    if is_other {
        return PreconditionOutcome::Other;
    }
    let is_known = match (headers.typed_get::<IfNoneMatch>(), headers.typed_get::<IfModifiedSince>()) {
        (Some(known), _) => !known.precondition_passes(e_tag),
        (None, Some(since)) => !since.is_modified(modified),
        (None, None) => false,
    };
    if is_known {
        return PreconditionOutcome::Known;
    }
    let is_of_this =
        headers.typed_get::<IfRange>().is_none_or(|of| !of.is_modified(Some(e_tag), Some(&last_modified)));
    // Ranges apply to GET only.
    if method == Method::GET && is_of_this { range(headers, size) } else { PreconditionOutcome::Whole }
}

/// Serves a single range; several or invalid ranges are ignored.
fn range(headers: &HeaderMap, size: u64) -> PreconditionOutcome {
    let mut lines = headers.get_all(header::RANGE).iter();
    let (Some(Ok(line)), None) = (lines.next().map(|line| line.to_str()), lines.next()) else {
        return PreconditionOutcome::Whole;
    };
    let ranges = match parse_range_header(&line.to_ascii_lowercase()) {
        Ok(ranges) => ranges.ranges,
        Err(RangeUnsatisfiableError::ZeroSuffix) => return PreconditionOutcome::Beyond,
        Err(_) => return PreconditionOutcome::Whole,
    };
    let [range] = ranges.as_slice() else { return PreconditionOutcome::Whole };
    let start = match range.start {
        StartPosition::Index(start) => start,
        // No range expresses the suffix of an empty content.
        StartPosition::FromLast(_) if size == 0 => return PreconditionOutcome::Whole,
        StartPosition::FromLast(count) => size.saturating_sub(count),
    };
    let end = match range.end {
        EndPosition::Index(last) if last < start => return PreconditionOutcome::Whole,
        EndPosition::Index(last) => last.saturating_add(1).min(size),
        EndPosition::LastByte => size,
    };
    if start < size { PreconditionOutcome::Part(start..end) } else { PreconditionOutcome::Beyond }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use axum::http::HeaderValue;
    use proptest::prelude::*;

    use super::*;

    const SIZE: u64 = 10;

    fn ask(method: &Method, lines: &[(&'static str, &str)]) -> PreconditionOutcome {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(*name, HeaderValue::from_str(value).unwrap());
        }
        let modified = UNIX_EPOCH + Duration::from_secs(784_111_777);
        asked(method, &headers, SIZE, &"\"abc\"".parse().unwrap(), modified.into())
    }

    fn range_of(value: &str) -> PreconditionOutcome {
        ask(&Method::GET, &[("range", value)])
    }

    #[test]
    fn single_range_is_served_and_invalid_range_is_ignored() {
        for (value, expected) in [
            ("bytes=0-0", 0..1),
            ("bytes=2-5", 2..6),
            ("bytes=2-", 2..10),
            ("bytes=-3", 7..10),
            ("bytes=-10", 0..10),
            ("bytes=-99", 0..10),
            ("bytes=9-9", 9..10),
            ("bytes=5-99", 5..10),
            ("Bytes=1-2", 1..3),
            ("bytes=0-18446744073709551615", 0..10),
        ] {
            assert_eq!(range_of(value), PreconditionOutcome::Part(expected), "{value}");
        }
        for value in ["bytes=10-", "bytes=10-11", "bytes=99-", "bytes=-0"] {
            assert_eq!(range_of(value), PreconditionOutcome::Beyond, "{value}");
        }
        for value in [
            "bytes=0-1,3-4",
            "bytes=0-1,0-1",
            "bytes=5-2",
            "bytes=",
            "bytes=-",
            "bytes=a-b",
            "items=0-1",
            "0-1",
            "",
            "bytes=0-99999999999999999999",
            "bytes=--1",
            "bytes 0-1",
        ] {
            assert_eq!(range_of(value), PreconditionOutcome::Whole, "{value}");
        }
        assert_eq!(
            ask(&Method::GET, &[("range", "bytes=0-1"), ("range", "bytes=2-3")]),
            PreconditionOutcome::Whole
        );
        assert_eq!(ask(&Method::HEAD, &[("range", "bytes=0-1")]), PreconditionOutcome::Whole);
    }

    #[test]
    fn a_range_is_given_of_what_the_caller_has_only() {
        let date = "Sun, 06 Nov 1994 08:49:37 GMT";
        let with = |of| ask(&Method::GET, &[("range", "bytes=0-1"), ("if-range", of)]);
        assert_eq!(with("\"abc\""), PreconditionOutcome::Part(0..2));
        assert_eq!(with(date), PreconditionOutcome::Part(0..2));
        for other in ["\"abd\"", "W/\"abc\"", "Sun, 06 Nov 1994 08:49:36 GMT"] {
            assert_eq!(with(other), PreconditionOutcome::Whole, "{other}");
        }
    }

    #[test]
    fn known_content_returns_not_modified() {
        let with = |name, value| ask(&Method::GET, &[(name, value), ("range", "bytes=0-1")]);
        for known in ["\"abc\"", "W/\"abc\"", "\"x\", \"abc\"", "*"] {
            assert_eq!(with("if-none-match", known), PreconditionOutcome::Known, "{known}");
        }
        assert_eq!(with("if-none-match", "\"x\""), PreconditionOutcome::Part(0..2));
        assert_eq!(with("if-modified-since", "Sun, 06 Nov 1994 08:49:37 GMT"), PreconditionOutcome::Known);
        assert_eq!(
            with("if-modified-since", "Sun, 06 Nov 1994 08:49:36 GMT"),
            PreconditionOutcome::Part(0..2)
        );
        for expected in ["\"abc\"", "\"x\", \"abc\"", "*"] {
            assert_eq!(with("if-match", expected), PreconditionOutcome::Part(0..2), "{expected}");
        }
        for other in ["\"x\"", "W/\"abc\""] {
            assert_eq!(with("if-match", other), PreconditionOutcome::Other, "{other}");
        }
        assert_eq!(with("if-unmodified-since", "Sun, 06 Nov 1994 08:49:36 GMT"), PreconditionOutcome::Other);
    }

    proptest! {
        #![proptest_config(trawl_seeds::cases(1_000))]

        /// Compared with a naive reading of RFC 9110.
        #[test]
        fn a_range_is_what_the_standard_says(first in proptest::option::of(0..15_u64), last in proptest::option::of(0..15_u64)) {
            let text = |number: Option<u64>| number.map(|number| number.to_string()).unwrap_or_default();
            let given = range_of(&format!("bytes={}-{}", text(first), text(last)));
            let all: Vec<u64> = (0..SIZE).collect();
            let expected: Option<Vec<u64>> = match (first, last) {
                (None, None) => None,
                (Some(first), Some(last)) if last < first => None,
                (Some(first), last) => {
                    Some(all.iter().copied().filter(|at| *at >= first && last.is_none_or(|last| *at <= last)).collect())
                }
                (None, Some(count)) => Some(all.iter().rev().take(usize::try_from(count).unwrap()).rev().copied().collect()),
            };
            match expected {
                None => prop_assert_eq!(given, PreconditionOutcome::Whole),
                Some(bytes) if bytes.is_empty() => prop_assert_eq!(given, PreconditionOutcome::Beyond),
                Some(bytes) => prop_assert_eq!(given, PreconditionOutcome::Part(bytes[0]..bytes[bytes.len() - 1] + 1)),
            }
        }
    }
}
