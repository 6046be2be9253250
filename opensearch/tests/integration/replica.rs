//! Replicas over the same indexes, for tests of what they share.

use std::sync::Arc;

use reqwest::Method;
use serde_json::Value;
use trawl_engine::{BesideIndexes, Change, Engine, Failure, Indexes, OpenedIndex, Query, Scope, Sink};
use trawl_opensearch::{Layout, OpenSearch, OpenSearchIndexes};
use url::Url;

use crate::engine_under_test::{Handle, engine, layout, node};
use crate::suite::support::{NEWEST, checkpoint, document, ids, news, request};

/// The indexes of a prefix, deleted in the end.
pub(crate) struct Installation {
    pub(crate) layout: Layout,
    _handle: Handle,
}

impl Installation {
    pub(crate) fn new() -> Self {
        Self::of(layout())
    }

    /// Makes an installation with as few indexes as there can be.
    pub(crate) fn of_one_kind() -> Self {
        Self::of(Layout { kinds: &["contents"], kind_of: |_| "contents", ..layout() })
    }

    pub(crate) fn of(layout: Layout) -> Self {
        Self { _handle: Handle::new(&layout), layout }
    }

    pub(crate) fn replica(&self) -> OpenSearch {
        self.replica_at(node())
    }

    pub(crate) fn replica_at(&self, node: Url) -> OpenSearch {
        engine(vec![node], &self.layout)
    }

    /// A replica that has read the state.
    pub(crate) async fn reader(&self) -> OpenSearch {
        let reader = self.replica();
        reader.progress().await.unwrap();
        reader
    }

    pub(crate) async fn leader(&self) -> Leader {
        self.leader_at(node()).await
    }

    pub(crate) async fn leader_at(&self, node: Url) -> Leader {
        let mut leader = Leader::of(OpenSearchIndexes::new(self.replica_at(node)));
        leader.open().await.unwrap();
        leader
    }

    /// Asks the node about an index of this prefix.
    pub(crate) async fn ask(&self, method: Method, index: &str, body: Option<Value>) -> Value {
        let url = node().join(&format!("{}-{index}", self.layout.index_prefix)).unwrap();
        let request = reqwest::Client::new().request(method, url).header("content-type", "application/json");
        let answer =
            request.body(body.map(|body| body.to_string()).unwrap_or_default()).send().await.unwrap();
        serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap()
    }

    /// Lists the indexes without their prefix, in order.
    pub(crate) async fn indexes(&self) -> Vec<String> {
        let answer = self.ask(Method::GET, "*-g*/_alias", None).await;
        let prefix = format!("{}-", self.layout.index_prefix);
        let mut indexes: Vec<String> =
            answer.as_object().unwrap().keys().map(|index| index.replace(&prefix, "")).collect();
        indexes.sort();
        indexes
    }
}

/// A replica that has opened the indexes.
pub(crate) struct Leader {
    pub(crate) indexes: OpenSearchIndexes,
    pub(crate) searched: Option<Box<dyn Sink>>,
    pub(crate) beside: Option<BesideIndexes>,
}

impl Leader {
    pub(crate) fn of(indexes: OpenSearchIndexes) -> Self {
        Self { indexes, searched: None, beside: None }
    }

    /// Returns whether a rebuild was interrupted, and the damage.
    pub(crate) async fn open(&mut self) -> Result<(bool, Option<String>), Failure> {
        let OpenedIndex { sink, was_rebuilding, damage } = self.indexes.open().await?;
        self.searched = Some(sink);
        Ok((was_rebuilding, damage))
    }

    pub(crate) async fn open_wiped(&mut self) -> Result<(), Failure> {
        self.searched = Some(self.indexes.open_wiped().await?);
        Ok(())
    }

    pub(crate) async fn open_replacement(&mut self) -> Result<(), Failure> {
        let beside = self.beside.take().map(|beside| beside.searched);
        let searched = beside.or_else(|| self.searched.take()).unwrap();
        self.beside = Some(self.indexes.open_replacement(searched).await?);
        Ok(())
    }

    pub(crate) async fn swap(&mut self) -> Result<(), Failure> {
        self.indexes.swap(self.beside.take().unwrap()).await
    }

    /// The sink of the searched index.
    pub(crate) fn sink(&mut self) -> &mut dyn Sink {
        match &mut self.beside {
            Some(beside) => &mut *beside.searched,
            None => &mut **self.searched.as_mut().unwrap(),
        }
    }

    pub(crate) fn fresh(&mut self) -> &mut dyn Sink {
        &mut *self.beside.as_mut().unwrap().fresh
    }

    /// Replaces all documents by the one of [`harbour`].
    pub(crate) async fn rebuild(&mut self, age: &str, position: i64) {
        self.open_replacement().await.unwrap();
        write(self.fresh(), vec![harbour(age)], position).await.unwrap();
        self.swap().await.unwrap();
        self.open().await.unwrap();
    }
}

/// Applies changes and commits them.
pub(crate) async fn write(sink: &mut dyn Sink, changes: Vec<Change>, position: i64) -> Result<(), Failure> {
    sink.apply(changes).await?;
    sink.commit(&checkpoint(position), None).await
}

/// Puts document `a` in one of its states.
pub(crate) fn harbour(age: &str) -> Change {
    Change::Put(document("a", &format!("{age} harbour")))
}

pub(crate) async fn search(
    engine: &OpenSearch,
    scope: &Scope,
    keyword: &str,
) -> Result<Vec<String>, Failure> {
    let request = request(scope, &Query::parse(keyword), NEWEST, 100);
    let page = engine.view().search(&Arc::new(request)).await?;
    assert_eq!(page.total, page.hits.len() as u64);
    Ok(ids(page))
}

/// The states of document `a` that a replica finds which knows nothing yet.
pub(crate) async fn ages(installation: &Installation) -> Vec<&'static str> {
    let reader = installation.reader().await;
    let mut ages = Vec::new();
    for age in ["old", "new", "fresh"] {
        let found = search(&reader, &news(), &format!("{age} harbour")).await.unwrap();
        ages.extend(found.iter().map(|_| age));
    }
    ages
}
