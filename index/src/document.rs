//! What is indexed: documents, where they live, who may see them, and changes to them.

use std::sync::Arc;

/// The longest id, in bytes, that can be indexed.
pub const MAX_ID_BYTES: usize = 1_024;

/// Ends the scope in a term. No word holds it, so no scope's terms are a prefix of another's.
pub(crate) const SCOPE_END: char = '\0';

/// Where a document lives: a module of a tenant.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Scope {
    /// The tenant's row id.
    pub tenant: i64,
    /// The module's code, such as `article`.
    pub module: String,
}

impl Scope {
    /// The module with the code `module` of the tenant `tenant`.
    pub fn new(tenant: i64, module: impl Into<String>) -> Self {
        Self { tenant, module: module.into() }
    }

    /// What every term of this scope begins with; also, alone, the term that every document of the scope carries.
    pub(crate) fn prefix(&self) -> String {
        let module: String = self.module.chars().filter(|&character| character != SCOPE_END).collect();
        format!("{}{module}{SCOPE_END}", tenant_prefix(self.tenant))
    }
}

/// What every term of every scope of this tenant begins with, and no other one.
pub(crate) fn tenant_prefix(tenant: i64) -> String {
    format!("{tenant:x}.")
}

/// Who may see a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Audience {
    /// Everybody in the tenant.
    Tenant,
    /// Viewers who carry one of these principals, opaque strings such as `u:42`. An empty list is nobody.
    Principals(Vec<String>),
}

/// A document as it is indexed.
#[derive(Debug, Clone)]
pub struct Document {
    /// Where it lives.
    pub scope: Scope,
    /// Unique within its scope; at most [`MAX_ID_BYTES`] bytes.
    pub id: String,
    /// Epoch milliseconds.
    pub display_time: i64,
    /// Plain text; matched, and weighs more than the rest in relevance order.
    pub title: String,
    /// The title is the name of somebody or of a group: it is also matched by its pinyin, in full and by initials (张三:
    /// `zhangsan`, `zhang san`, `san`, `zs`), and by words that it joins as one (`obrien`). In relevance order a name that is
    /// all of what was typed comes before longer ones. [`Highlighter::mark_name`](crate::Highlighter::mark_name) shows where.
    pub title_is_name: bool,
    /// Further names that it goes by and does not show, such as a login; matched as a title that is a name, and never
    /// highlighted.
    pub other_names: Vec<String>,
    /// Plain text; matched.
    pub sub_title: String,
    /// Plain text; matched.
    pub brief: String,
    /// Plain text that it holds and does not show, such as the content of a file; matched, and never highlighted. In relevance
    /// order a word in the title of such a document, be its text empty, comes before any number of the same word in a text.
    /// Shared by clones, as it may be large.
    pub text: Option<Arc<str>>,
    /// A name; matched by `author:NAME` and [`Request::author`](crate::Request::author) only.
    pub author: String,
    /// Who may see it.
    pub audience: Audience,
    /// The item as it is answered, in JSON; kept and given back verbatim, never looked into.
    pub item: String,
}

impl Document {
    /// The bytes of its larger texts, by which its size is told from that of others.
    pub(crate) fn bytes(&self) -> usize {
        let text = self.text.as_deref().map_or(0, str::len);
        self.title.len() + self.sub_title.len() + self.brief.len() + text + self.item.len()
    }
}

/// A change to the index.
#[derive(Debug, Clone)]
pub enum Change {
    /// Adds a document, or puts it in the place of the one with the same scope and id.
    Put(Document),
    /// Removes a document; one that is not there is no error.
    Remove {
        /// Where it lives.
        scope: Scope,
        /// Its id there.
        id: String,
    },
    /// Removes every document of a scope that names this principal in its [`Audience`]; of those that the whole tenant sees none.
    RemoveSeenBy {
        /// Where they live.
        scope: Scope,
        /// The principal.
        principal: String,
    },
    /// Removes every document of every scope of a tenant.
    RemoveTenant {
        /// The tenant's row id.
        tenant: i64,
    },
}

impl Change {
    /// The scope's prefix and the id of the document that is changed, where it is one document.
    pub(crate) fn target(&self) -> Option<(String, &str)> {
        match self {
            Self::Put(document) => Some((document.scope.prefix(), &document.id)),
            Self::Remove { scope, id } => Some((scope.prefix(), id)),
            Self::RemoveSeenBy { .. } | Self::RemoveTenant { .. } => None,
        }
    }
}
