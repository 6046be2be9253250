//! The same pages by bare tantivy over the same files.
//!
//! The seek is a lower bound: no parsing, visibility, ids, ties or deletions. Anything beyond it is the price of trawl's guarantees.

use std::path::Path;
use std::sync::Arc;

use tantivy::collector::{Count, TopDocs};
use tantivy::columnar::ColumnValues;
use tantivy::query::TermQuery;
use tantivy::schema::{Field, IndexRecordOption, Value};
use tantivy::{DocAddress, DocSet, Order, ReloadPolicy, Searcher, TERMINATED, TantivyDocument, Term};
use trawl_engine::Scope;

pub(crate) struct Bare {
    searcher: Searcher,
    times: Vec<Arc<dyn ColumnValues<i64>>>,
    open: Field,
    item: Field,
    prefix: String,
}

impl Bare {
    pub(crate) fn open(directory: &Path, scope: &Scope) -> Self {
        let index = trawl_index::bare::open(directory).unwrap();
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into().unwrap();
        let searcher: Searcher = reader.searcher();
        let times = searcher
            .segment_readers()
            .iter()
            .map(|segment| segment.fast_fields().i64("display_time").unwrap().values)
            .collect();
        let field = |name| searcher.schema().get_field(name).unwrap();
        let (open, item) = (field("open"), field("item"));
        Self { times, open, item, prefix: format!("{:x}.{}\0", scope.tenant, scope.module), searcher }
    }

    /// In nearly 10 %, 1 % and 0.01 % of the documents.
    pub(crate) fn words(&self) -> Vec<(&'static str, String)> {
        let all = self.searcher.num_docs();
        let wanted = [("common", all / 10), ("medium", all / 100), ("rare", all / 10_000)];
        let mut best = wanted.map(|(name, _)| (name, u64::MAX, String::new()));
        let index = self.searcher.segment_reader(0).inverted_index(self.open).unwrap();
        let mut terms = index.terms().range().ge(self.prefix.as_bytes()).into_stream().unwrap();
        while terms.advance() {
            let Some(word) = std::str::from_utf8(&terms.key()[self.prefix.len()..]).ok() else { continue };
            // Other words are stemmed, and the peers' are not.
            if word.is_empty() || word.is_ascii() {
                continue;
            }
            let frequency = self.searcher.doc_freq(&self.term(word)).unwrap();
            for ((_, wanted), (_, distance, kept)) in wanted.iter().zip(&mut best) {
                if frequency.abs_diff(*wanted) < *distance {
                    *distance = frequency.abs_diff(*wanted);
                    word.clone_into(kept);
                }
            }
        }
        best.into_iter().map(|(name, _, word)| (name, word)).collect()
    }

    /// Counts come from the dictionary.
    pub(crate) fn seek_page(&self, word: &str, below: Option<i64>, limit: usize) -> usize {
        let term = self.term(word);
        let mut total = 0;
        let mut heads = Vec::new();
        for (ordinal, (segment, times)) in self.searcher.segment_readers().iter().zip(&self.times).enumerate()
        {
            let index = segment.inverted_index(self.open).unwrap();
            let Some(info) = index.get_term_info(&term).unwrap() else { continue };
            total += info.doc_freq as usize;
            let mut postings = index.read_postings_from_terminfo(&info, IndexRecordOption::Basic).unwrap();
            if let Some(below) = below {
                let (mut start, mut end) = (0, segment.max_doc());
                while start < end {
                    let middle = start + (end - start) / 2;
                    if times.get_val(middle) < below { end = middle } else { start = middle + 1 }
                }
                postings.seek(start);
            }
            if postings.doc() != TERMINATED {
                heads.push((times.get_val(postings.doc()), ordinal, postings));
            }
        }
        let mut bytes = 0;
        for _ in 0..limit {
            let Some(newest) = (0..heads.len()).max_by_key(|&head| heads[head].0) else { break };
            let (time, ordinal, postings) = &mut heads[newest];
            let address = DocAddress::new(u32::try_from(*ordinal).unwrap(), postings.doc());
            bytes += self.read(address);
            if postings.advance() == TERMINATED {
                heads.swap_remove(newest);
            } else {
                *time = self.times[*ordinal].get_val(postings.doc());
            }
        }
        bytes + total
    }

    pub(crate) fn top_docs_page(&self, word: &str, skip: usize, limit: usize) -> usize {
        let query = TermQuery::new(self.term(word), IndexRecordOption::Basic);
        let newest = TopDocs::with_limit(limit)
            .and_offset(skip)
            .order_by_fast_field::<i64>("display_time", Order::Desc);
        let (total, found) = self.searcher.search(&query, &(Count, newest)).unwrap();
        total + found.into_iter().map(|(_, address)| self.read(address)).sum::<usize>()
    }

    fn read(&self, address: DocAddress) -> usize {
        let document: TantivyDocument = self.searcher.doc(address).unwrap();
        document.get_first(self.item).and_then(|item| item.as_str()).map_or(0, |item| item.to_owned().len())
    }

    fn term(&self, word: &str) -> Term {
        Term::from_field_text(self.open, &format!("{}{word}", self.prefix))
    }
}
