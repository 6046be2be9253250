//! Names, settings and fields of the indexes.
//!
//! Each kind of module has an index per generation, such as `trawl-files-g7`. A rebuild fills the next generation. A
//! large tenant may have indexes of its own, such as `trawl-files-t42-g7`. The state says which generation is
//! searched.
//!
//! An index is written by its alias, such as `trawl-files-g7-write`: OpenSearch creates indexes that it lacks, but no aliases,
//! so a bulk never creates an index that is gone.

use serde_json::{Value, json};
use trawl_engine::Scope;

use crate::terms::MAX_TERM_BYTES;

/// Ranked results that a page may reach.
pub(crate) const MAX_RESULTS: usize = 1_000_000;
/// OpenSearch takes 4 KiB of method and path.
const MAX_LIST_BYTES: usize = 3_072;

/// Fields of one half of a scope.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HalfFields {
    pub(crate) body: &'static str,
    pub(crate) title: &'static str,
    pub(crate) readings: &'static str,
}

pub(crate) const OPEN: HalfFields =
    HalfFields { body: "open", title: "open_title", readings: "open_readings" };
pub(crate) const RESTRICTED: HalfFields =
    HalfFields { body: "restricted", title: "restricted_title", readings: "restricted_readings" };

/// Which indexes there are.
#[derive(Debug, Clone)]
pub struct Layout {
    /// Begins the names of all indexes.
    pub index_prefix: String,
    /// Kinds of modules, such as `files`.
    pub kinds: &'static [&'static str],
    /// The kind of a module's code.
    pub kind_of: fn(&str) -> &'static str,
    /// Shards of each index that tenants share.
    pub shards: u32,
    /// Copies of each shard.
    pub replicas: u32,
}

/// Indexes that are filled, searched and removed together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct IndexGeneration {
    /// Never given twice.
    pub(crate) number: u64,
    /// Tenants with indexes of their own.
    pub(crate) own_tenants: Vec<i64>,
}

impl Layout {
    /// The kind of a scope's module.
    pub(crate) fn kind(&self, scope: &Scope) -> &'static str {
        (self.kind_of)(&scope.module)
    }

    /// The index of a tenant's modules of a kind.
    pub(crate) fn index(&self, kind: &str, tenant: i64, generation: &IndexGeneration) -> String {
        if generation.own_tenants.contains(&tenant) {
            self.own_index(kind, tenant, generation)
        } else {
            self.shared_index(kind, generation)
        }
    }

    /// Every index of a generation.
    pub(crate) fn indexes(&self, generation: &IndexGeneration) -> Vec<String> {
        self.sized_indexes(generation).map(|(index, _)| index).collect()
    }

    /// Every index of a generation, with the body of the request that creates it.
    pub(crate) fn creations(&self, generation: &IndexGeneration) -> Vec<(String, Value)> {
        let creation = |(index, shards): (String, u32)| {
            let body = self.index_body(&index, shards);
            (index, body)
        };
        self.sized_indexes(generation).map(creation).collect()
    }

    /// Every index with its shards.
    fn sized_indexes(&self, generation: &IndexGeneration) -> impl Iterator<Item = (String, u32)> {
        self.kinds.iter().flat_map(move |kind| {
            // A tenant's documents are in one shard, so that its frequencies are exact.
            let own = generation
                .own_tenants
                .iter()
                .map(move |tenant| (self.own_index(kind, *tenant, generation), 1));
            std::iter::once((self.shared_index(kind, generation), self.shards)).chain(own)
        })
    }

    fn shared_index(&self, kind: &str, generation: &IndexGeneration) -> String {
        format!("{}-{kind}-g{}", self.index_prefix, generation.number)
    }

    fn own_index(&self, kind: &str, tenant: i64, generation: &IndexGeneration) -> String {
        format!("{}-{kind}-t{tenant}-g{}", self.index_prefix, generation.number)
    }

    /// The number in the name of an index of this layout; `None` for other names.
    pub(crate) fn generation_of(&self, index: &str) -> Option<u64> {
        let (of, number) = index.strip_prefix(&self.index_prefix)?.strip_prefix('-')?.rsplit_once("-g")?;
        let is_of_tenant =
            |(kind, tenant): (&str, &str)| self.kinds.contains(&kind) && tenant.parse::<i64>().is_ok();
        let is_ours = self.kinds.contains(&of) || of.rsplit_once("-t").is_some_and(is_of_tenant);
        is_ours.then(|| number.parse().ok()).flatten()
    }

    /// Matches all indexes, and maybe those of a longer prefix.
    pub(crate) fn pattern(&self) -> String {
        format!("{}-*-g*", self.index_prefix)
    }

    /// The index of the state.
    pub(crate) fn state(&self) -> String {
        format!("{}-state", self.index_prefix)
    }

    fn index_body(&self, index: &str, shards: u32) -> Value {
        let text = |options: &str| json!({"type": "text", "analyzer": "trawl", "index_options": options});
        let keyword = || json!({"type": "keyword", "doc_values": false});
        let readings =
            || json!({"type": "text", "analyzer": "trawl", "index_options": "docs", "norms": false});
        json!({
            "aliases": {writing_alias(index): {"is_write_index": true}},
            "settings": {
                "number_of_shards": shards,
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
                "_source": {"includes": ["item", "title_is_name"]},
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
                    // A column, for counts.
                    "author_name": {"type": "keyword", "index": false},
                    "open_readings": readings(),
                    "restricted_readings": readings(),
                    "body_length": {"type": "integer", "index": false},
                    "title_length": {"type": "integer", "index": false},
                    "removed_at": {"type": "long"},
                    "item": {"type": "keyword", "index": false, "doc_values": false},
                    "title_is_name": {"type": "boolean", "index": false, "doc_values": false}
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

/// Halves that a viewer may see.
pub(crate) fn halves(principals: &[String]) -> impl Iterator<Item = HalfFields> {
    std::iter::once(OPEN).chain((!principals.is_empty()).then_some(RESTRICTED))
}

/// The name by which an index is written.
pub(crate) fn writing_alias(index: &str) -> String {
    format!("{index}-write")
}

/// Names as parts of paths, in as few lists as OpenSearch takes.
pub(crate) fn lists(names: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut lists: Vec<String> = Vec::new();
    for name in names {
        match lists.last_mut() {
            Some(list) if list.len() + name.len() < MAX_LIST_BYTES => {
                list.push(',');
                list.push_str(&name);
            }
            _ => lists.push(name),
        }
    }
    lists
}

#[cfg(test)]
mod tests {
    use super::{IndexGeneration, Layout, MAX_LIST_BYTES, lists};

    fn layout() -> Layout {
        Layout {
            index_prefix: "trawl".to_owned(),
            kinds: &["files", "feed"],
            kind_of: |_| "feed",
            shards: 1,
            replicas: 0,
        }
    }

    #[test]
    fn large_tenant_has_an_index_of_each_kind() {
        let generation = IndexGeneration { number: 7, own_tenants: vec![42] };
        let expected = ["trawl-files-g7", "trawl-files-t42-g7", "trawl-feed-g7", "trawl-feed-t42-g7"];
        assert_eq!(layout().indexes(&generation), expected);
        assert_eq!(layout().index("feed", 42, &generation), "trawl-feed-t42-g7");
        assert_eq!(layout().index("feed", 4, &generation), "trawl-feed-g7");
    }

    #[test]
    fn index_of_another_prefix_has_no_generation() {
        for index in ["trawl-files-g7", "trawl-files-t42-g7"] {
            assert_eq!(layout().generation_of(index), Some(7), "{index}");
        }
        for index in [
            "trawl-test-files-g7",
            "trawl-files-tx-g7",
            "trawl-files-g",
            "trawl-files-g7-write",
            "trawl-state",
            "files-g7",
            "trawlfiles-g7",
            "trawl-files-t42-t42-g7",
        ] {
            assert_eq!(layout().generation_of(index), None, "{index}");
        }
    }

    #[test]
    fn long_list_of_names_is_split() {
        let names: Vec<String> = (0..1_000).map(|number| format!("trawl-files-t{number}-g7")).collect();
        let lists = lists(names.clone());
        assert!(lists.iter().all(|list| list.len() <= MAX_LIST_BYTES));
        assert_eq!(lists.join(",").split(',').collect::<Vec<_>>(), names);
    }
}
