//! W3C Trace Context.

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");

/// Limit of `tracestate`, and `traceparent` of later versions. W3C Trace Context asks for 512.
const MAX_BYTES: usize = 512;

const LENGTH: usize = 55;
const DASHES: [usize; 3] = [2, 35, 52];

/// Trace headers of a call. Token endpoints do not get them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceContext {
    traceparent: HeaderValue,
    tracestate: Option<HeaderValue>,
}

impl TraceContext {
    /// `None` without a valid `traceparent`. A `tracestate` above 512 bytes is left out.
    pub fn read(headers: &HeaderMap) -> Option<Self> {
        let mut all = headers.get_all(TRACEPARENT).iter();
        let traceparent = all.next().filter(|value| is_valid(value.as_bytes()))?;
        // Neither of two is known to be right.
        if all.next().is_some() {
            return None;
        }
        Some(Self { traceparent: traceparent.clone(), tracestate: read_state(headers) })
    }

    /// Inserts the headers.
    pub fn write(&self, headers: &mut HeaderMap) {
        headers.insert(TRACEPARENT, self.traceparent.clone());
        if let Some(tracestate) = &self.tracestate {
            headers.insert(TRACESTATE, tracestate.clone());
        }
    }

    /// Version, trace id, parent id and flags.
    pub fn traceparent(&self) -> &str {
        self.traceparent.to_str().unwrap_or_default()
    }

    /// Vendor data.
    pub fn tracestate(&self) -> Option<&str> {
        self.tracestate.as_ref()?.to_str().ok()
    }
}

fn read_state(headers: &HeaderMap) -> Option<HeaderValue> {
    let values: Vec<&HeaderValue> = headers.get_all(TRACESTATE).iter().collect();
    let state = match values[..] {
        [] => return None,
        [one] => one.clone(),
        ref several => {
            let several: Vec<&[u8]> = several.iter().map(|value| value.as_bytes()).collect();
            HeaderValue::from_bytes(&several.join(&b","[..])).ok()?
        }
    };
    let is_fit = (1..=MAX_BYTES).contains(&state.len()) && state.to_str().is_ok();
    is_fit.then_some(state)
}

/// Later versions may append to version 00.
fn is_valid(text: &[u8]) -> bool {
    let Some(known) = text.get(..LENGTH) else { return false };
    let is_hex = |part: &[u8]| part.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let is_id = |part: &[u8]| is_hex(part) && part.iter().any(|byte| *byte != b'0');
    let (version, trace, parent, flags) = (&known[..2], &known[3..35], &known[36..52], &known[53..]);
    let is_of_known_form = DASHES.iter().all(|place| known[*place] == b'-')
        && is_hex(version)
        && version != b"ff"
        && is_id(trace)
        && is_id(parent)
        && is_hex(flags);
    let is_whole = match text.get(LENGTH) {
        None => true,
        Some(next) => version != b"00" && *next == b'-' && text.len() <= MAX_BYTES,
    };
    is_of_known_form && is_whole
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    fn read(headers: &[(&'static str, &str)]) -> Option<TraceContext> {
        let mut map = HeaderMap::new();
        for (name, text) in headers {
            map.append(*name, HeaderValue::from_bytes(text.as_bytes()).unwrap());
        }
        TraceContext::read(&map)
    }

    fn is_read(traceparent: &str) -> bool {
        read(&[("traceparent", traceparent)]).is_some_and(|trace| trace.traceparent() == traceparent)
    }

    #[test]
    fn valid_traceparent_is_kept_as_it_is() {
        assert!(is_read(TRACE));
        assert!(is_read(&TRACE.replace("-01", "-ff")), "unknown flags");
        assert!(is_read(&TRACE.replacen("00", "cc", 1)), "a version to come");
        assert!(is_read(&format!("{}-what-comes", TRACE.replacen("00", "cc", 1))), "and what it appends");
    }

    #[test]
    fn invalid_traceparent_is_no_trace() {
        let long = format!("{}-{}", TRACE.replacen("00", "cc", 1), "x".repeat(MAX_BYTES));
        for (wrong, why) in [
            ("", "nothing"),
            (&TRACE[..LENGTH - 1], "too short"),
            (&format!("{TRACE}-x"), "version 00 appends nothing"),
            (&format!("{TRACE}0"), "nor so"),
            (&format!("{}0", TRACE.replacen("00", "cc", 1)), "a version to come appends after a dash"),
            (&long, "without end"),
            (&TRACE.replacen("00", "ff", 1), "the version that is none"),
            (&TRACE.replacen("00", "0g", 1), "no hexadecimal version"),
            (&TRACE.to_uppercase(), "upper case"),
            (&TRACE.replace("4bf92f3577b34da6a3ce929d0e0e4736", &"0".repeat(32)), "no trace"),
            (&TRACE.replace("00f067aa0ba902b7", &"0".repeat(16)), "no parent"),
            (&TRACE.replace('-', "_"), "no dashes"),
            (&TRACE.replace("-01", "-+1"), "no flags"),
            ("00-4bf92f3577b34da6a3ce929d0e0e473é-00f067aa0ba902b7-01", "no ASCII"),
        ] {
            assert!(read(&[("traceparent", wrong)]).is_none(), "{why}: {wrong}");
        }
        assert!(read(&[]).is_none());
        assert!(read(&[("tracestate", "a=b")]).is_none(), "a state of no trace");
        assert!(read(&[("traceparent", TRACE), ("traceparent", TRACE)]).is_none(), "two");
    }

    #[test]
    fn tracestate_is_bounded_and_joined() {
        let with = |states: &[&str]| {
            let states = states.iter().map(|state| ("tracestate", *state));
            let headers: Vec<_> = [("traceparent", TRACE)].into_iter().chain(states).collect();
            let trace = read(&headers).unwrap();
            assert_eq!(trace.traceparent(), TRACE);
            trace.tracestate().map(str::to_owned)
        };
        assert_eq!(with(&[]), None);
        assert_eq!(with(&["a=b"]).as_deref(), Some("a=b"));
        assert_eq!(with(&["a=b,c=d", "e=f"]).as_deref(), Some("a=b,c=d,e=f"));
        assert_eq!(with(&["a=ü"]), None);
        let longest = "x".repeat(MAX_BYTES);
        assert_eq!(with(&[&longest]).as_deref(), Some(longest.as_str()));
        assert_eq!(with(&[&format!("{longest}x")]), None);
        assert_eq!(with(&[&longest, "x"]), None);
    }
}
