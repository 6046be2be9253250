//! Names, settings and fields of the indexes.
//!
//! Each kind of module has an index per generation, behind an alias: `trawl-files-g7` behind `trawl-files`. A rebuild fills the
//! next generation and moves the aliases.

use serde_json::{Value, json};

use crate::terms::MAX_TERM_BYTES;

/// Which indexes there are.
#[derive(Debug, Clone)]
pub struct Layout {
    /// Begins the names of all indexes.
    pub index_prefix: String,
    /// Kinds of modules, such as `files`.
    pub kinds: &'static [&'static str],
    /// The kind of a module's code.
    pub kind_of: fn(&str) -> &'static str,
    /// Of each index.
    pub shards: u32,
    /// Copies of each shard.
    pub replicas: u32,
}

impl Layout {
    /// The alias that is searched.
    pub(crate) fn alias(&self, kind: &str) -> String {
        format!("{}-{kind}", self.index_prefix)
    }

    pub(crate) fn index(&self, kind: &str, generation: u64) -> String {
        format!("{}-g{generation}", self.alias(kind))
    }

    /// Every alias.
    pub(crate) fn aliases(&self) -> String {
        let aliases: Vec<String> = self.kinds.iter().map(|kind| self.alias(kind)).collect();
        aliases.join(",")
    }

    /// The index of checkpoints.
    pub(crate) fn state(&self) -> String {
        format!("{}-state", self.index_prefix)
    }

    pub(crate) fn generation_of(&self, index: &str) -> Option<u64> {
        index.strip_prefix(&self.index_prefix)?.rsplit_once("-g")?.1.parse().ok()
    }

    /// Body of the request that creates an index.
    pub(crate) fn index_body(&self) -> Value {
        let text = |options: &str| json!({"type": "text", "analyzer": "trawl", "index_options": options});
        let keyword = || json!({"type": "keyword", "doc_values": false});
        json!({
            "settings": {
                "number_of_shards": self.shards,
                "number_of_replicas": self.replicas,
                // Changes become visible together, at a commit.
                "refresh_interval": "-1",
                "index.sort.field": ["display_time", "id"],
                "index.sort.order": ["desc", "asc"],
                // A shard whose primary dies replays what was not flushed.
                "index.translog.flush_threshold_size": "8mb",
                "index.max_result_window": MAX_RESULTS,
                "analysis": {
                    "tokenizer": {"trawl": {"type": "whitespace", "max_token_length": 2 * MAX_TERM_BYTES}},
                    "filter": {
                        "trawl_same": {"type": "pattern_capture", "preserve_original": false, "patterns": ["([^|]+)"]},
                        "trawl_gap": {"type": "stop", "stopwords": ["_"]}
                    },
                    "analyzer": {
                        "trawl": {"type": "custom", "tokenizer": "trawl", "filter": ["trawl_same", "trawl_gap"]}
                    }
                },
                "similarity": {"default": {"type": "BM25", "discount_overlaps": false}}
            },
            "mappings": {
                "dynamic": "strict",
                "_routing": {"required": true},
                "_source": {"includes": ["item", "title_is_name", "words"]},
                "properties": {
                    "scope": keyword(),
                    "id": {"type": "keyword", "index": false},
                    "display_time": {"type": "long"},
                    "principals": keyword(),
                    "open": text("positions"),
                    "open_title": text("freqs"),
                    "restricted": text("positions"),
                    "restricted_title": text("freqs"),
                    "author": {"type": "text", "analyzer": "trawl", "index_options": "positions", "norms": false},
                    "body_length": {"type": "integer", "index": false},
                    "title_length": {"type": "integer", "index": false},
                    "removed_at": {"type": "long"},
                    "item": {"type": "keyword", "index": false, "doc_values": false},
                    "title_is_name": {"type": "boolean", "index": false, "doc_values": false},
                    "words": {"type": "object", "enabled": false}
                }
            }
        })
    }

    pub(crate) fn state_body(&self) -> Value {
        json!({
            "settings": {"number_of_shards": 1, "number_of_replicas": self.replicas},
            "mappings": {"enabled": false}
        })
    }
}

/// Ranked results that a page may reach.
pub(crate) const MAX_RESULTS: usize = 1_000_000;
