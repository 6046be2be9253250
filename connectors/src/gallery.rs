//! Mappings of systems that are in wide use.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::mapping::{Mapping, MappingError};

/// A system and its mapping.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GalleryEntry {
    /// The id, the name of its file.
    #[serde(default)]
    pub id: String,
    /// The name of the system.
    pub name: String,
    /// Its contents, and preparations by the operator.
    #[serde(default)]
    pub about: String,
    /// The address of the system's documentation of its search.
    #[serde(default)]
    pub documentation: String,
    /// Against what the mapping was tested.
    #[serde(default)]
    pub tested: String,
    /// An example of the address to register.
    pub address: String,
    /// `GET` or `POST`.
    pub method: String,
    /// `time` or `relevance`.
    pub order: String,
    /// Rows of one call.
    pub page_size: u32,
    /// Ways to authenticate, the usual one first.
    #[serde(default)]
    pub auth: Vec<GalleryAuth>,
    /// How the system is searched as the person; `None` where no service may act for others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person: Option<GalleryPerson>,
    /// The mapping.
    pub mapping: Mapping,
}

/// A way to authenticate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GalleryAuth {
    /// `OAUTH2_CLIENT`, `API_KEY`, `BASIC`, `BEARER` or `NONE`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The header of an `API_KEY`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    /// The query parameter of an `API_KEY`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameter: Option<String>,
    /// The token endpoint of `OAUTH2_CLIENT`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_url: Option<String>,
    /// The scopes of `OAUTH2_CLIENT`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// Where the system issues these credentials.
    #[serde(default)]
    pub from: String,
}

/// Headers that make a call that of the person who searches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GalleryPerson {
    /// `mapping.request.headers` in place of the entry's own.
    pub headers: String,
    /// Credentials that may act for others.
    pub needs: String,
}

macro_rules! files {
    ($($id:literal)*) => {
        [$(($id, include_str!(concat!("../gallery/", $id, ".toml")))),*]
    };
}

/// Files of the gallery, in order of names.
const FILES: [(&str, &str); 22] = files!(
    "bookstack" "confluence" "datasette" "discourse" "elasticsearch" "gitea" "github" "gitlab" "jira" "jira-data-center"
    "mattermost" "mediawiki" "meilisearch" "nextcloud" "redmine" "searxng" "sharepoint" "slack" "solr" "verdaccio" "wordpress"
    "zammad"
);

static ENTRIES: LazyLock<Vec<GalleryEntry>> = LazyLock::new(|| {
    // The tests read every file.
    FILES.iter().filter_map(|(id, file)| read_entry(id, file).ok()).collect()
});

/// All entries, by id.
pub fn gallery() -> &'static [GalleryEntry] {
    &ENTRIES
}

/// The file of an entry.
pub fn gallery_file(id: &str) -> Option<&'static str> {
    FILES.iter().find(|(name, _)| *name == id).map(|(_, file)| *file)
}

/// Reads an entry's file.
///
/// # Errors
/// A file that is no entry; the message names place or field.
pub fn read_entry(id: &str, file: &str) -> Result<GalleryEntry, MappingError> {
    let entry: GalleryEntry = toml::from_str(file)
        .map_err(|error| MappingError::new("file", error.to_string().trim().to_owned()))?;
    if !matches!(entry.method.as_str(), "GET" | "POST") {
        return Err(MappingError::new("method", "must be GET or POST"));
    }
    if !matches!(entry.order.as_str(), "time" | "relevance") {
        return Err(MappingError::new("order", "must be time or relevance"));
    }
    entry.mapping.check_form()?;
    if entry.person.as_ref().is_some_and(|person| !person.headers.contains("$person")) {
        return Err(MappingError::new("person.headers", "must name $person"));
    }
    Ok(GalleryEntry { id: id.to_owned(), ..entry })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_an_entry() {
        let mut before = "";
        for (id, file) in FILES {
            let entry = read_entry(id, file).unwrap_or_else(|error| panic!("{id}: {error}"));
            assert!(!entry.auth.is_empty() && entry.address.starts_with("https://"), "{id}");
            assert!(
                [&entry.about, &entry.documentation, &entry.tested].iter().all(|text| !text.is_empty()),
                "{id}"
            );
            assert!(before < id, "{id} is not in its place");
            before = id;
        }
        assert_eq!(gallery().len(), FILES.len());
    }

    #[test]
    fn unknown_method_or_order_is_refused() {
        let (id, file) = FILES[0];
        for (field, wrong) in [("method", "method = \"PUT\""), ("order", "order = \"newest\"")] {
            let lines = file.lines().map(|line| if line.starts_with(field) { wrong } else { line });
            let file: Vec<&str> = lines.collect();
            assert_eq!(read_entry(id, &file.join("\n")).unwrap_err().field, field);
        }
    }
}
