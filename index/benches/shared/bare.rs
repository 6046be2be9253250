//! A page by bare tantivy over trawl's index: the least that it can cost.
//!
//! One term, a seek per segment, the rows' JSON. No query language, visibility, ties or deleted documents.

use std::{path::Path, sync::Arc};

use tantivy::{
    DocAddress, DocSet, ReloadPolicy, Searcher, TERMINATED, TantivyDocument, Term,
    columnar::ColumnValues,
    schema::{Field, IndexRecordOption, Value},
};

/// A word and its document count.
#[derive(Clone, Debug)]
pub(crate) struct Word {
    pub(crate) text: String,
    pub(crate) documents: u64,
}

pub(crate) struct Bare {
    pub(crate) searcher: Searcher,
    times: Vec<Arc<dyn ColumnValues<i64>>>,
    open: Field,
    item: Field,
    tenant_id: i64,
}

impl Bare {
    pub(crate) fn open(directory: &Path, tenant_id: i64) -> Self {
        let index = trawl_index::bare::open(directory).unwrap();
        let reader: tantivy::IndexReader =
            index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into().unwrap();
        let searcher = reader.searcher();
        let times = searcher
            .segment_readers()
            .iter()
            .map(|segment| segment.fast_fields().i64("display_time").unwrap().values)
            .collect();
        let field = |name| searcher.schema().get_field(name).unwrap();
        let (open, item) = (field("open"), field("item"));
        Self { searcher, times, open, item, tenant_id }
    }

    /// Words in about `wanted` documents, nearest first.
    pub(crate) fn words(&self, module: &str, wanted: u64, fits: impl Fn(&str) -> bool) -> Vec<Word> {
        let prefix = self.prefix(module);
        let mut words = Vec::new();
        let [segment] = self.searcher.segment_readers() else { panic!("the index is not merged") };
        let index = segment.inverted_index(self.open).unwrap();
        let mut terms = index.terms().range().ge(prefix.as_bytes()).into_stream().unwrap();
        while terms.advance() {
            let Some(word) = terms.key().strip_prefix(prefix.as_bytes()) else { break };
            let word = std::str::from_utf8(word).unwrap();
            if fits(word) {
                words.push(Word { text: word.to_owned(), documents: u64::from(terms.value().doc_freq) });
            }
        }
        words.sort_by_key(|word| word.documents.abs_diff(wanted));
        words.truncate(50);
        words
    }

    /// Rows are separated by commas; returns the total and their number.
    pub(crate) fn page(
        &self,
        module: &str,
        word: &str,
        before: Option<i64>,
        limit: usize,
        rows: &mut String,
    ) -> (usize, usize) {
        let term = self.term(module, word);
        let (mut total, mut count) = (0, 0);
        let mut heads = Vec::new();
        for (ordinal, (segment, times)) in self.searcher.segment_readers().iter().zip(&self.times).enumerate()
        {
            let index = segment.inverted_index(self.open).unwrap();
            let Some(info) = index.get_term_info(&term).unwrap() else { continue };
            total += info.doc_freq as usize;
            let mut postings = index.read_postings_from_terminfo(&info, IndexRecordOption::Basic).unwrap();
            if let Some(before) = before {
                let (mut start, mut end) = (0, segment.max_doc());
                while start < end {
                    let middle = start + (end - start) / 2;
                    if times.get_val(middle) < before { end = middle } else { start = middle + 1 }
                }
                postings.seek(start);
            }
            if postings.doc() != TERMINATED {
                heads.push((times.get_val(postings.doc()), ordinal, postings));
            }
        }
        while count < limit {
            let Some(newest) = (0..heads.len()).max_by_key(|&head| heads[head].0) else { break };
            let (time, ordinal, postings) = &mut heads[newest];
            if count > 0 {
                rows.push(',');
            }
            self.read(DocAddress::new(u32::try_from(*ordinal).unwrap(), postings.doc()), rows);
            count += 1;
            if postings.advance() == TERMINATED {
                heads.swap_remove(newest);
            } else {
                *time = self.times[*ordinal].get_val(postings.doc());
            }
        }
        (total, count)
    }

    pub(crate) fn term(&self, module: &str, word: &str) -> Term {
        Term::from_field_text(self.open, &format!("{}{word}", self.prefix(module)))
    }

    /// Appends the row's JSON.
    pub(crate) fn read(&self, address: DocAddress, rows: &mut String) {
        let document: TantivyDocument = self.searcher.doc(address).unwrap();
        rows.push_str(document.get_first(self.item).and_then(|item| item.as_str()).unwrap());
    }

    /// See the index schema.
    fn prefix(&self, module: &str) -> String {
        format!("{:x}.{module}\0", self.tenant_id)
    }
}
