use std::{
    collections::HashSet,
    sync::{LazyLock, Mutex, PoisonError},
};

use metrics::Histogram;

/// Each series takes about two kilobytes of `/metrics`.
const MAX_SOURCES: usize = 256;

const OTHER: &str = "other";

/// Metrics belong to the process.
static LABELED: LazyLock<Mutex<LabeledSources>> =
    LazyLock::new(|| Mutex::new(LabeledSources::new(MAX_SOURCES)));

pub(super) fn call_seconds(tenant_id: i64, source_id: &str) -> Histogram {
    let (tenant, source) =
        LABELED.lock().unwrap_or_else(PoisonError::into_inner).labels(tenant_id, source_id);
    metrics::histogram!("trawl_source_call_seconds", "tenant" => tenant, "source" => source)
}

struct LabeledSources {
    max: usize,
    own: HashSet<(i64, String)>,
}

impl LabeledSources {
    fn new(max: usize) -> Self {
        Self { max, own: HashSet::new() }
    }

    fn labels(&mut self, tenant_id: i64, source_id: &str) -> (String, String) {
        let source = (tenant_id, source_id.to_owned());
        if self.own.contains(&source) || self.own.len() < self.max && self.own.insert(source) {
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
    fn sources_beyond_the_bound_share_one_series() {
        let mut sources = LabeledSources::new(3);
        let labels = |sources: &mut LabeledSources, tenant: i64, source: &str| {
            let (tenant, source) = sources.labels(tenant, source);
            format!("{tenant}/{source}")
        };
        assert_eq!(labels(&mut sources, 1, "x"), "1/x");
        assert_eq!(labels(&mut sources, 1, "y"), "1/y");
        assert_eq!(labels(&mut sources, 2, "x"), "2/x", "another tenant's source is another");
        for further in 0..1_000 {
            assert_eq!(labels(&mut sources, further, "z"), "other/other");
        }
        assert_eq!(labels(&mut sources, 1, "x"), "1/x", "a source keeps its series");
        assert_eq!(sources.own.len(), 3);
    }
}
