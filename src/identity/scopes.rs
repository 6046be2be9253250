//! Scopes of applications.

use std::{collections::BTreeSet, fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// A permission of an application or user token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum TokenScope {
    /// Read users and departments.
    #[serde(rename = "directory:read")]
    DirectoryRead,
    /// Synchronise users and departments.
    #[serde(rename = "directory:write")]
    DirectoryWrite,
    /// Register, freeze and delete tenants.
    #[serde(rename = "tenants")]
    Tenants,
    /// To-do and done items.
    #[serde(rename = "tasks")]
    Tasks,
    /// Search.
    #[serde(rename = "contents:read")]
    ContentsRead,
    /// Write articles, news and feeds.
    #[serde(rename = "contents:write")]
    ContentsWrite,
    /// Favorites, badges, groups, robots.
    #[serde(rename = "collab")]
    Collab,
    /// Folders and files.
    #[serde(rename = "files")]
    Files,
    /// Request tokens of people.
    #[serde(rename = "act-as-user")]
    ActAsUser,
    /// Operate the server.
    #[serde(rename = "admin")]
    Admin,
}

impl TokenScope {
    /// Every scope, in order.
    pub const ALL: [Self; 10] = [
        Self::DirectoryRead,
        Self::DirectoryWrite,
        Self::Tenants,
        Self::Tasks,
        Self::ContentsRead,
        Self::ContentsWrite,
        Self::Collab,
        Self::Files,
        Self::ActAsUser,
        Self::Admin,
    ];

    /// The scope's name in tokens and requests.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::DirectoryRead => "directory:read",
            Self::DirectoryWrite => "directory:write",
            Self::Tenants => "tenants",
            Self::Tasks => "tasks",
            Self::ContentsRead => "contents:read",
            Self::ContentsWrite => "contents:write",
            Self::Collab => "collab",
            Self::Files => "files",
            Self::ActAsUser => "act-as-user",
            Self::Admin => "admin",
        }
    }
}

impl fmt::Display for TokenScope {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl FromStr for TokenScope {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|scope| scope.as_str() == text).ok_or_else(|| {
            let known = Self::ALL.map(Self::as_str).join(", ");
            format!("{text:?} is not a scope; the scopes are {known}")
        })
    }
}

/// A set of scopes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Scopes(BTreeSet<TokenScope>);

impl Scopes {
    /// Whether the set holds `scope`.
    pub fn allow(&self, scope: TokenScope) -> bool {
        self.0.contains(&scope)
    }

    /// The scopes of the application's user tokens (book: how-to/sign-in.md).
    #[must_use]
    pub fn for_user(&self) -> Self {
        self.0
            .iter()
            .copied()
            .filter(|scope| !matches!(scope, TokenScope::ActAsUser | TokenScope::Tenants | TokenScope::Admin))
            .collect()
    }

    /// The set without this scope.
    #[must_use]
    pub fn without(mut self, scope: TokenScope) -> Self {
        self.0.remove(&scope);
        self
    }

    /// The names, in order.
    pub fn names(&self) -> Vec<String> {
        self.0.iter().map(ToString::to_string).collect()
    }

    /// The first scope missing from `others`.
    pub fn first_outside(&self, others: &Self) -> Option<TokenScope> {
        self.0.difference(&others.0).next().copied()
    }

    /// The intersection of both sets.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        self.0.intersection(&other.0).copied().collect()
    }

    /// Parses a space-separated list (RFC 6749 §3.3); fails with the unknown name.
    pub fn parse(text: &str) -> Result<Self, String> {
        text.split_ascii_whitespace().map(TokenScope::from_str).collect()
    }
}

impl FromIterator<TokenScope> for Scopes {
    fn from_iter<I: IntoIterator<Item = TokenScope>>(scopes: I) -> Self {
        Self(scopes.into_iter().collect())
    }
}

impl fmt::Display for Scopes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.0.iter().map(|scope| scope.as_str()).collect();
        formatter.write_str(&names.join(" "))
    }
}
