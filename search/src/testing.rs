use std::{sync::Arc, time::Duration};

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use proptest::prelude::*;
use tokio::{runtime::Runtime, time::Instant};
use trawl_engine::{Audience, Change, Checkpoint, Document, Scope, relevance::Recency};
use trawl_index::{Index, Options, Writer};

use crate::{
    cursor::CursorKey,
    duplicates::Duplicates,
    module::{Module, ModuleSource, SearchableModule},
    request::{FacetSelection, Filters, SearchContext, SearchOrder, SearchParameters, Viewer},
    source::SourceRequest,
    weight::Weight,
};

/// Its clock moves only when all tasks wait.
pub(crate) fn paused_runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap()
}

pub(crate) fn viewer() -> Viewer {
    Viewer { tenant_id: 1, user_id: None, client_id: "app".into(), principals: Arc::default() }
}

pub(crate) fn parameters() -> SearchParameters {
    SearchParameters {
        keyword: "word".to_owned(),
        order: SearchOrder::Time,
        filters: Filters::default(),
        limit: 10,
        highlight: false,
        exact: false,
        explain: false,
        facets: FacetSelection::default(),
        typing: false,
        missing_change: None,
        timeout: Duration::from_secs(2),
        trace: None,
    }
}

pub(crate) fn source_request(parameters: SearchParameters) -> SourceRequest {
    let deadline = Instant::now() + parameters.timeout;
    let search = Arc::new(SearchContext::new(viewer(), parameters, Arc::default(), deadline));
    SourceRequest { search, whole_ties: None, before: None, recency: Recency::default() }
}

pub(crate) fn module(code: &str, duplicates: Duplicates, sources: &[ModuleSource]) -> SearchableModule {
    let module = Module {
        id: code.to_owned(),
        name: code.to_owned(),
        icon: String::new(),
        code: code.to_owned(),
        order_no: 0,
        kind: 101,
        sources: sources.iter().map(|source| source.id().to_owned()).collect(),
        duplicates,
        recency: Recency::default(),
    };
    SearchableModule { module: Arc::new(module), sources: sources.to_vec() }
}

pub(crate) fn any_weight() -> impl Strategy<Value = Weight> {
    let thousandths = prop_oneof![Just(1_000i64), Just(2_000), 10i64..=100_000];
    thousandths.prop_map(Weight::from_thousandths)
}

/// An empty index in memory.
pub(crate) fn index() -> (Index, Writer) {
    Index::in_memory(&Options { writer_memory_bytes: 15 << 20, ..Options::default() }).unwrap()
}

pub(crate) fn commit(writer: &mut Writer, position: i64, changes: Vec<Change>) {
    writer.apply(changes).unwrap();
    writer.commit(&Checkpoint { store: "test".to_owned(), position, complete: true }).unwrap();
}

/// A document that the whole tenant sees.
pub(crate) fn document(scope: Scope, id: &str, title: &str, item: String) -> Document {
    Document {
        scope,
        id: id.to_owned(),
        title: title.to_owned(),
        title_is_name: false,
        other_names: Vec::new(),
        text: None,
        sub_title: String::new(),
        brief: String::new(),
        author: String::new(),
        audience: Audience::Tenant,
        display_time: 0,
        item,
    }
}

pub(crate) struct TestKey(RandomizedNonceKey);

impl TestKey {
    pub(crate) fn new(byte: u8) -> Self {
        Self(RandomizedNonceKey::new(&AES_256_GCM, &[byte; 32]).unwrap())
    }
}

impl CursorKey for TestKey {
    fn seal(&self, context: &[u8], plain: &[u8]) -> Option<Vec<u8>> {
        let mut sealed = plain.to_vec();
        let nonce = self.0.seal_in_place_append_tag(Aad::from(context), &mut sealed).ok()?;
        sealed.extend_from_slice(nonce.as_ref());
        Some(sealed)
    }

    fn open(&self, context: &[u8], sealed: &[u8]) -> Option<Vec<u8>> {
        let (sealed, nonce) = sealed.split_last_chunk::<NONCE_LEN>()?;
        let mut plain = sealed.to_vec();
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let length = self.0.open_in_place(nonce, Aad::from(context), &mut plain).ok()?.len();
        plain.truncate(length);
        Some(plain)
    }
}
