//! The answer: a search content item with details of the single item.

use serde::Serialize;
use serde_json::{Map, Value};
use trawl_search::Highlight;

use super::opening::Opening;
use crate::platform::{
    search::page::ContentItemSchema,
    shared::connections::{PersonRole, Relation},
};

/// An item as its source gave it, with its text and surroundings.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ItemAnswer {
    #[serde(flatten)]
    pub(super) item: Map<String, Value>,
    #[serde(flatten)]
    pub(super) details: ItemDetails,
}

/// A search content item, and what only a single item tells.
#[derive(utoipa::ToSchema)]
#[schema(as = Item)]
#[expect(dead_code, reason = "only described; `ItemAnswer` is written")]
pub(super) struct ItemSchema {
    #[schema(inline)]
    #[serde(flatten)]
    item: ContentItemSchema,
    #[schema(inline)]
    #[serde(flatten)]
    details: ItemDetails,
}

/// Details of a single item beside the search content item.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ItemDetails {
    /// Code of the module that was asked.
    pub(super) module: String,
    /// Id of the item's source.
    pub(super) source: String,
    /// Text from `offset` on: of a file, a message or a summary.
    ///
    /// Empty where there is none.
    pub(super) text: String,
    /// Bytes of the whole text in UTF-8.
    pub(super) text_length: usize,
    /// Matches of `keyword`; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) highlight: Option<Highlight>,
    /// The address of its click action that a browser may follow.
    #[schema(required)]
    pub(super) opens: Option<Opening>,
    /// People who have to do with it.
    pub(super) people: Vec<ItemPerson>,
    /// Items around it that the caller may see.
    pub(super) related: Vec<RelatedItem>,
}

/// A person who has to do with an item.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ItemPerson {
    pub(super) role: PersonRole,
    /// Name in the directory, else the name that the item states.
    pub(super) name: String,
    /// The item of the module `people`; null for a person whom the directory does not show.
    #[schema(required)]
    pub(super) user_id: Option<String>,
}

/// An item around another.
#[derive(Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub(super) struct RelatedItem {
    pub(super) relation: Relation,
    /// Code of a module that shows it.
    pub(super) module: String,
    /// Its id.
    pub(super) id: String,
    /// Its title, or the beginning of its summary.
    pub(super) title: String,
}
