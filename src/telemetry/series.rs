//! How long calls of each external source take, in the metrics: a bounded number of series, whatever is registered.

use std::{
    collections::HashSet,
    sync::{LazyLock, Mutex, PoisonError},
};

use metrics::Histogram;

/// Sources that have a series of their own; each takes some two kilobytes of `/metrics`.
const MOST_SOURCES: usize = 256;

/// The labels of those that have none.
const OTHER: &str = "other";

/// The metrics are those of the process, and so is the bound.
static SOURCES: LazyLock<Mutex<Sources>> = LazyLock::new(|| Mutex::new(Sources::new(MOST_SOURCES)));

/// The histogram of the calls of one external source, in seconds. Once it is made, recording looks nothing up.
pub fn source_call_seconds(tenant_id: i64, source_id: &str) -> Histogram {
    let (tenant, source) =
        SOURCES.lock().unwrap_or_else(PoisonError::into_inner).labels(tenant_id, source_id);
    metrics::histogram!("trawl_source_call_seconds", "tenant" => tenant, "source" => source)
}

/// The sources that have a series of their own: the first ones, for as long as the process lives.
struct Sources {
    most: usize,
    own: HashSet<(i64, String)>,
}

impl Sources {
    fn new(most: usize) -> Self {
        Self { most, own: HashSet::new() }
    }

    /// The tenant's number and the source's id, or that it is one of the others.
    fn labels(&mut self, tenant_id: i64, source_id: &str) -> (String, String) {
        let source = (tenant_id, source_id.to_owned());
        if self.own.contains(&source) || self.own.len() < self.most && self.own.insert(source) {
            (tenant_id.to_string(), source_id.to_owned())
        } else {
            (OTHER.to_owned(), OTHER.to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_sources_have_a_series_and_the_rest_shares_one() {
        let mut sources = Sources::new(3);
        let labels = |sources: &mut Sources, tenant: i64, source: &str| {
            let (tenant, source) = sources.labels(tenant, source);
            format!("{tenant}/{source}")
        };
        assert_eq!(labels(&mut sources, 1, "x"), "1/x");
        assert_eq!(labels(&mut sources, 1, "y"), "1/y");
        assert_eq!(labels(&mut sources, 2, "x"), "2/x", "another tenant's is another one");
        for further in 0..1_000 {
            assert_eq!(labels(&mut sources, further, "z"), "other/other");
        }
        assert_eq!(labels(&mut sources, 1, "x"), "1/x", "one that is registered anew keeps its own");
        assert_eq!(sources.own.len(), 3);
    }
}
