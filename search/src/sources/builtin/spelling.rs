use std::sync::Arc;

use trawl_engine::{
    Scope,
    correction::{KnownWords, UnknownWords},
};

use super::{BuiltinSource, ServedIndex, ServedView};
use crate::request::Viewer;

/// Corrects words that no built-in content of a tenant shows.
#[derive(Default)]
pub(crate) struct Spelling {
    /// `None` without built-in content.
    served: Option<Arc<ServedIndex>>,
    scopes: Arc<[Arc<Scope>]>,
}

impl Spelling {
    pub(crate) fn of<'a>(sources: impl Iterator<Item = &'a BuiltinSource>) -> Self {
        let mut served = None;
        let scopes = sources.map(|source| {
            served.get_or_insert_with(|| Arc::clone(&source.served));
            Arc::clone(&source.scope)
        });
        let scopes = scopes.collect();
        Self { served, scopes }
    }

    /// An incomplete index tells of no word that it is found nowhere.
    pub(crate) async fn unknown_words(
        &self,
        viewer: &Viewer,
        keyword: &str,
        known: &KnownWords,
    ) -> UnknownWords {
        let served = self.served.as_ref().and_then(|served| served.view(viewer).ok());
        let Some(ServedView { view, incomplete: None, .. }) = served else { return UnknownWords::default() };
        match view.unknown_words(&self.scopes, &viewer.principals, &known.left_out_of(keyword)).await {
            Ok(UnknownWords { correction, uncorrected }) => {
                let correction =
                    correction.and_then(|found| found.without(keyword, |word| known.contains(word)));
                UnknownWords { correction, uncorrected }
            }
            Err(failure) => {
                // The search itself tells of it.
                tracing::debug!(%failure, "words could not be looked up; none is corrected");
                UnknownWords::default()
            }
        }
    }
}
