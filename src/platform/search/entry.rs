//! One module's part of an answer for all, or their best matches.

use serde::Serialize;
use trawl_search::{AnswerReservation, Module, ModuleAnswer, SearchFailure};

use super::page::{FacetCounts, PageAccount, say_no_source, write_page};
use crate::error::{Error, Result};

pub(super) struct AnswerEntry {
    /// Place by `orderNo`; `None` for the best matches of all modules.
    pub(super) place: Option<usize>,
    pub(super) text: String,
    pub(super) partial: bool,
    /// Held as long as the text.
    pub(super) reservation: AnswerReservation,
}

#[derive(Serialize)]
struct FailedModule<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    module: Option<&'a Module>,
    code: u16,
    message: String,
    data: [(); 0],
    #[serde(flatten)]
    account: PageAccount,
}

impl AnswerEntry {
    pub(super) fn write(answer: ModuleAnswer) -> Result<Self> {
        let ModuleAnswer { place, module, result, reservation } = answer;
        let partial = result.as_ref().map_or(true, |page| page.partial);
        let module = place.map(|_| &*module);
        let text = match (result, module) {
            (Ok(page), Some(module)) => {
                let module = serde_json::to_string(module).map_err(Error::internal)?;
                write_page(&format!(r#"{{"module":{module},"#), page)?
            }
            (Ok(page), None) => write_page("{", page)?,
            (Err(failure), module) => write_failed(module, failure)?,
        };
        Ok(Self { place, text, partial, reservation })
    }
}

/// Writes a failed module, whose `code` distinguishes it from an empty one.
fn write_failed(module: Option<&Module>, failure: SearchFailure) -> Result<String> {
    let (code, message, sources) = match failure {
        SearchFailure::NoSource { all_timed_out, sources, .. } => {
            let (status, message) = say_no_source("the module", all_timed_out);
            (status.as_u16(), message, sources)
        }
        SearchFailure::Refused(error) => {
            let error = Error::from(error);
            error.log();
            (error.kind.status(), error.message, Vec::new())
        }
    };
    let account = PageAccount {
        total: 0,
        count: 0,
        cursor: None,
        partial: true,
        corrected: None,
        corrections: Vec::new(),
        relaxed: None,
        counts: FacetCounts::default(),
        sources,
    };
    let failed = FailedModule { module, code, message, data: [], account };
    serde_json::to_string(&failed).map_err(Error::internal)
}
