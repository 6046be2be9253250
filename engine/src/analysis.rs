//! Words of a document, the same in each engine.

use crate::document::{Audience, Document};
use crate::relevance::whole_title;
use crate::text::{EncodedWords, Folded, WHOLE_NAME, names_as_words, title_readings};

/// Half of a scope; the halves are disjoint, by [`Audience`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Half {
    /// Visible to the whole tenant.
    Open,
    /// Visible to its principals.
    Restricted,
}

/// A document's terms. Fields are encoded words (`text::encoding`); `None` without words.
#[derive(Debug)]
pub struct AnalysedDocument {
    /// Field of the texts.
    pub half: Half,
    /// Principals, with the scope's prefix.
    pub principals: Vec<String>,
    /// All texts; starts with the scope's marker.
    pub body: Option<String>,
    /// The title again, for scores only.
    pub title: Option<String>,
    /// The author's name, also as one word.
    pub author: Option<String>,
    /// Pinyin of the title, for corrections only; `None` for a name.
    pub readings: Option<String>,
}

impl AnalysedDocument {
    /// Analyses a document whose scope has this prefix.
    pub fn new(document: &Document, prefix: &str) -> Self {
        let (half, principals) = match &document.audience {
            Audience::Tenant => (Half::Open, Vec::new()),
            Audience::Principals(principals) => {
                let principals = principals.iter().map(|principal| principal_term(prefix, principal));
                (Half::Restricted, principals.collect())
            }
        };
        let mut title = EncodedWords::new(prefix);
        let folded_title = Folded::new(&document.title);
        title.add_folded(&document.title, &folded_title);
        let mut body = EncodedWords::new(prefix);
        body.add_marker();
        if document.title_is_name {
            body.add_name(&document.title);
        } else {
            body.add_text_of(&title);
            if let Some(whole) = whole_title(&document.title) {
                body.add_term(&whole);
            }
        }
        body.add_text(&document.sub_title);
        body.add_text(&document.brief);
        body.add_text(document.text.as_deref().unwrap_or_default());
        for name in &document.other_names {
            body.add_name(name);
        }
        if document.text.is_some() {
            title.add_headings(&document.title);
        }
        let mut author = EncodedWords::new(prefix);
        author.add_text(&document.author);
        for word in names_as_words(&document.author) {
            author.add_term(&format!("{WHOLE_NAME}{word}"));
        }
        let mut readings = EncodedWords::new(prefix);
        if !document.title_is_name {
            title_readings(&document.title, &folded_title, |reading| readings.add_term(reading));
        }
        Self {
            half,
            principals,
            body: body.finish(),
            title: title.finish(),
            author: author.finish(),
            readings: readings.finish(),
        }
    }
}

/// The term of a principal in a scope with this prefix.
pub fn principal_term(prefix: &str, principal: &str) -> String {
    format!("{prefix}{principal}")
}
