//! Favorite forms, and the rules of the favorites and feed lists.
//!
//! - `contentTypes=8` lists the feed of every content type. Search excludes feed-only entries.
//! - Adding joins the favorites, with `syncBlogFavor` also the feed; a favorite conflicts. A feed-only entry takes the new content
//!   and time.
//! - Removing leaves the favorites, with `syncBlogFavor` also the feed. An entry on neither list is deleted.
//! - Content type 8 is always on both lists or neither.

use serde::{Deserialize, Serialize};

use super::labels::forms::{Label, LabelIds};
use crate::{
    auth::caller::Caller,
    error::Result,
    platform::shared::{
        keyword_filter,
        patch::{ID_BYTES, TextRule, check_id_of},
    },
    store::FromRow,
};

/// Module code.
pub const FAVORITE: &str = "favorite";

/// Content type of the feed.
pub const FEED: i64 = 8;

const NAME_BYTES: usize = 1 << 10;
const KEYWORD_BYTES: usize = 4 << 10;
const CONTENT_BYTES: usize = 16 << 10;

pub(super) const MAX_FAVORITES: u64 = 10_000;

#[derive(Clone, Debug)]
pub(super) struct Owner {
    pub(super) tenant_id: i64,
    pub(super) user_id: String,
}

impl Owner {
    /// 403 for an application token.
    pub(super) fn of(caller: &Caller) -> Result<Self> {
        let user = caller.require_user()?;
        Ok(Self { tenant_id: caller.tenant.id, user_id: user.person.user_id.clone() })
    }
}

/// A favorite (the document's "Favorite").
#[derive(Clone, Debug, PartialEq, Eq, FromRow, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Favorite {
    /// Resource id.
    pub item_id: String,
    /// Source id.
    pub source_id: Option<String>,
    /// 0 system, 1 user, 2 group, 3 application, 4 department, 5 service account, 6 enterprise.
    pub source_type: Option<i64>,
    /// Source name.
    pub source_name: Option<String>,
    /// Source display name.
    pub source_display_name: Option<String>,
    /// 1 text, 2 voice, 3 picture, 4 video. Others: 5 the service, 6 document, 7 cloud drive, 8 feed.
    pub content_type: i64,
    /// Content.
    pub content: Option<String>,
    /// Creation time, epoch milliseconds; strictly increasing per owner.
    #[sqlx(rename = "created_at")]
    pub created_date: i64,
}

/// A favorite with its labels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LabelledFavorite {
    /// The favorite.
    #[serde(flatten)]
    pub favorite: Favorite,
    /// Labels in the order given.
    pub label_list: Vec<Label>,
}

/// A favorite to add; an empty text counts as absent.
#[derive(Clone, Debug, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FavoriteForm {
    /// Resource id.
    pub item_id: String,
    /// Source id.
    pub source_id: Option<String>,
    /// 0 system, 1 user, 2 group, 3 application, 4 department, 5 service account, 6 enterprise.
    #[schema(minimum = 0, maximum = 6)]
    pub source_type: Option<i64>,
    /// Source name.
    pub source_name: Option<String>,
    /// Source display name.
    pub source_display_name: Option<String>,
    /// 1 text, 2 voice, 3 picture, 4 video. Others: 5 the service, 6 document, 7 cloud drive, 8 feed; default 1.
    #[schema(minimum = 1, maximum = 8)]
    pub content_type: Option<i64>,
    /// Content.
    pub content: Option<String>,
    /// Additional search keyword.
    pub keyword: Option<String>,
    /// Ids of the caller's labels.
    pub label_list: Option<LabelIds>,
    /// Whether to add it to the feed favorites too.
    pub sync_blog_favor: Option<bool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FavoriteLists {
    pub(super) is_favorite: bool,
    pub(super) is_feed_favorite: bool,
}

impl FavoriteForm {
    pub(super) fn checked(mut self) -> Result<Self, String> {
        check_id_of("itemId", &self.item_id)?;
        for (field, number, range) in
            [("sourceType", self.source_type, 0..=6), ("contentType", self.content_type, 1..=FEED)]
        {
            if let Some(number) = number.filter(|number| !range.contains(number)) {
                return Err(format!("{field}: must be {} to {}, not {number}", range.start(), range.end()));
            }
        }
        let texts = [
            ("sourceId", &mut self.source_id, TextRule::Line(ID_BYTES)),
            ("sourceName", &mut self.source_name, TextRule::Line(NAME_BYTES)),
            ("sourceDisplayName", &mut self.source_display_name, TextRule::Line(NAME_BYTES)),
            ("keyword", &mut self.keyword, TextRule::Lines(KEYWORD_BYTES)),
            ("content", &mut self.content, TextRule::Lines(CONTENT_BYTES)),
        ];
        for (field, text, rule) in texts {
            *text = text.take().filter(|text| !text.is_empty());
            text.as_deref().map_or(Ok(()), |text| rule.check(field, text))?;
        }
        Ok(self)
    }

    pub(super) fn content_type(&self) -> i64 {
        self.content_type.unwrap_or(1)
    }

    /// `None` if already a favorite.
    pub(super) fn lists(&self, known: Option<FavoriteLists>) -> Option<FavoriteLists> {
        let was_of_feed = match known {
            Some(FavoriteLists { is_favorite: true, .. }) => return None,
            Some(FavoriteLists { is_feed_favorite, .. }) => is_feed_favorite,
            None => false,
        };
        let comes_to_feed = self.content_type() == FEED || self.sync_blog_favor == Some(true);
        Some(FavoriteLists { is_favorite: true, is_feed_favorite: was_of_feed || comes_to_feed })
    }

    pub(super) fn folded(&self) -> String {
        let texts = [&self.content, &self.keyword, &self.source_name, &self.source_display_name];
        keyword_filter::fold_all(texts.into_iter().flatten().map(String::as_str))
    }
}

impl FavoriteLists {
    /// `None` if it was not a favorite.
    pub(super) fn without(self, content_type: i64, from_feed_too: bool) -> Option<Self> {
        let both = from_feed_too || content_type == FEED;
        if !self.is_favorite && !both {
            return None;
        }
        Some(Self { is_favorite: false, is_feed_favorite: self.is_feed_favorite && !both })
    }

    pub(super) fn is_none(self) -> bool {
        !self.is_favorite && !self.is_feed_favorite
    }
}
