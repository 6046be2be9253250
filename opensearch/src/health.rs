//! Counts the parts that indexes lack.

use serde_json::Value;
use trawl_engine::Health;

#[derive(Debug, Default)]
pub(crate) struct MissingParts {
    indexes: u64,
    /// Shards without any copy.
    shards: u64,
    /// Copies that shards lack although they can be searched.
    copies: u64,
}

impl MissingParts {
    /// Reads an answer of `_cluster/health?level=indices`, which leaves out an index that is not there.
    pub(crate) fn count<'a>(&mut self, answer: &Value, indexes: impl Iterator<Item = &'a str>) {
        for index in indexes {
            let health = &answer["indices"][index];
            let number = |field: &str| health[field].as_u64();
            let (Some(shards), Some(replicas), Some(primaries), Some(active)) = (
                number("number_of_shards"),
                number("number_of_replicas"),
                number("active_primary_shards"),
                number("active_shards"),
            ) else {
                self.indexes += 1;
                continue;
            };
            self.shards += shards.saturating_sub(primaries);
            self.copies += (shards * replicas).saturating_sub(active.saturating_sub(primaries));
        }
    }

    pub(crate) fn health(&self) -> Health {
        let is_missing = |count| if count == 1 { "is missing" } else { "are missing" };
        if self.indexes > 0 {
            let indexes = if self.indexes == 1 { "index" } else { "indexes" };
            let text = format!("OpenSearch is red: {} {indexes} {}", self.indexes, is_missing(self.indexes));
            Health::Unavailable(text)
        } else if self.shards > 0 {
            let shards = if self.shards == 1 { "shard" } else { "shards" };
            let text = format!("OpenSearch is red: {} {shards} {}", self.shards, is_missing(self.shards));
            Health::Unavailable(text)
        } else if self.copies > 0 {
            let copies = if self.copies == 1 { "copy" } else { "copies" };
            let missing = is_missing(self.copies);
            Health::Degraded(format!(
                "OpenSearch is yellow: {} {copies} of its shards {missing}",
                self.copies
            ))
        } else {
            Health::Good
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use trawl_engine::Health;

    use super::MissingParts;

    fn index(shards: u64, replicas: u64, primaries: u64, active: u64) -> Value {
        json!({
            "number_of_shards": shards, "number_of_replicas": replicas,
            "active_primary_shards": primaries, "active_shards": active,
        })
    }

    fn health(a: &Value, b: &Value) -> Health {
        let mut missing = MissingParts::default();
        missing.count(&json!({"indices": {"a": a, "b": b}}), ["a", "b"].into_iter());
        missing.health()
    }

    #[test]
    fn health_counts_what_is_missing() {
        let whole = index(2, 1, 2, 4);
        assert_eq!(health(&whole, &whole), Health::Good);
        let yellow = "OpenSearch is yellow: 3 copies of its shards are missing";
        assert_eq!(health(&index(2, 1, 2, 2), &index(2, 1, 2, 3)), Health::Degraded(yellow.to_owned()));
        let yellow = "OpenSearch is yellow: 1 copy of its shards is missing";
        assert_eq!(health(&whole, &index(2, 1, 2, 3)), Health::Degraded(yellow.to_owned()));
        let red = "OpenSearch is red: 1 shard is missing";
        assert_eq!(health(&index(2, 1, 1, 1), &index(2, 1, 2, 3)), Health::Unavailable(red.to_owned()));
        let red = "OpenSearch is red: 2 shards are missing";
        assert_eq!(health(&index(2, 1, 0, 0), &whole), Health::Unavailable(red.to_owned()));
        let red = "OpenSearch is red: 1 index is missing";
        assert_eq!(health(&Value::Null, &whole), Health::Unavailable(red.to_owned()));
    }
}
