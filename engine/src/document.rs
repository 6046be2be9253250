use std::sync::Arc;

/// Longest id, in bytes.
pub const MAX_ID_BYTES: usize = 1_024;

/// Ends the scope in a term. Words never hold it, so no prefix begins another.
pub const SCOPE_END: char = '\0';

/// Module of a tenant.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Scope {
    /// Tenant's row id.
    pub tenant: i64,
    /// Such as `article`.
    pub module: String,
}

impl Scope {
    /// Creates a scope.
    pub fn new(tenant: i64, module: impl Into<String>) -> Self {
        Self { tenant, module: module.into() }
    }

    /// Start of every term of the scope; alone, the term of all its documents.
    pub fn prefix(&self) -> String {
        let mut prefix = tenant_prefix(self.tenant);
        prefix.extend(self.module.split(SCOPE_END));
        prefix.push(SCOPE_END);
        prefix
    }
}

fn tenant_prefix(tenant: i64) -> String {
    format!("{tenant:x}.")
}

/// First text with the tenant's prefix, and the first after them.
pub fn tenant_range(tenant: i64) -> [String; 2] {
    // The character after the dot.
    [tenant_prefix(tenant), format!("{tenant:x}/")]
}

/// Viewers of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Audience {
    /// Everybody.
    Tenant,
    /// Viewers with one of these, such as `u:42`; nobody if empty.
    Principals(Vec<String>),
}

impl Default for Audience {
    /// Nobody, so that a forgotten audience shows nothing.
    fn default() -> Self {
        Self::Principals(Vec::new())
    }
}

/// A document to index.
#[derive(Debug, Clone, Default)]
pub struct Document {
    /// Its tenant and module.
    pub scope: Scope,
    /// Unique within its scope; at most [`MAX_ID_BYTES`] bytes.
    pub id: String,
    /// Epoch milliseconds.
    pub display_time: i64,
    /// Plain text, matched with extra weight.
    pub title: String,
    /// The title is the name of a person or group.
    ///
    /// It also matches by pinyin (张三: `zhangsan`, `zhang san`, `san`, `zs`) and with joined words (`obrien`).
    /// A name equal to the query ranks before longer ones.
    pub title_is_name: bool,
    /// Names that are not shown, such as a login or a known id; matched like names.
    pub other_names: Vec<String>,
    /// Plain text.
    pub sub_title: String,
    /// Plain text.
    pub brief: String,
    /// Plain text, matched but not shown, such as a file's content.
    ///
    /// A title match of a document with a text outranks matches in texts. The text may be empty. Clones share it, as it may be large.
    pub text: Option<Arc<str>>,
    /// Name, matched by `author:` filters.
    pub author: String,
    /// Its viewers.
    pub audience: Audience,
    /// Item in JSON, returned verbatim.
    pub item: String,
}

impl Document {
    /// Its texts' size.
    pub fn bytes(&self) -> usize {
        let text = self.text.as_deref().map_or(0, str::len);
        self.title.len() + self.sub_title.len() + self.brief.len() + text + self.item.len()
    }
}

/// A change to the index.
#[derive(Debug, Clone)]
pub enum Change {
    /// Adds a document, or replaces one with its scope and id.
    Put(Document),
    /// Removes a document, if it exists.
    Remove {
        /// Document's scope.
        scope: Scope,
        /// Document's id.
        id: String,
    },
    /// Removes the documents of a scope whose [`Audience`] names this principal.
    RemoveSeenBy {
        /// Documents' scope.
        scope: Scope,
        /// Principal.
        principal: String,
    },
    /// Removes all documents of a tenant.
    RemoveTenant {
        /// Tenant's row id.
        tenant: i64,
    },
}

impl Change {
    /// Scope prefix and id, if one document changes.
    pub fn target(&self) -> Option<(String, &str)> {
        match self {
            Self::Put(document) => Some((document.scope.prefix(), &document.id)),
            Self::Remove { scope, id } => Some((scope.prefix(), id)),
            Self::RemoveSeenBy { .. } | Self::RemoveTenant { .. } => None,
        }
    }
}
