//! What a favorite is, what may be kept of one, and what becomes of its two marks.
//!
//! A favorite may be one of its owner's favorites, one of his favorites of the feed, or both (`syncBlogFavor`, decisions 9.3):
//!
//! - Without `contentTypes` the list holds favorites; `contentTypes=8` lists those of the feed, of whatever content type.
//!   What is one of the feed alone is listed there only, and not found by search.
//! - Adding makes it a favorite, with `syncBlogFavor` one of the feed too. What is a favorite already is a conflict, marks and
//!   all; what is one of the feed alone becomes a favorite again, with what is sent now and a new time, and stays one of the feed.
//! - Removing takes the first mark, with `syncBlogFavor` both. What has none left is gone.
//! - What comes from the feed (content type 8) is one of the feed by its nature: both marks come and go together.

use sea_orm::FromQueryResult;
use serde::{Deserialize, Serialize};

use super::labels::model::Label;
use crate::{
    auth::caller::Caller,
    error::Result,
    platform::{
        common::{ID_BYTES, TextRule, check_id_of},
        narrowing,
    },
};

/// The content type of what comes from the feed.
pub const FEED: i64 = 8;

/// Bytes of the names of a source, of a favorite's search keyword, and of its content.
const NAME_BYTES: usize = 1 << 10;
const KEYWORD_BYTES: usize = 4 << 10;
const CONTENT_BYTES: usize = 16 << 10;

/// Favorites of one person at the most: a keyword is looked for in each.
pub(super) const MOST_FAVORITES: u64 = 10_000;

/// Whose favorites, of which tenant.
#[derive(Clone, Debug)]
pub(super) struct Owner {
    pub(super) tenant_id: i64,
    /// The id on the synchronising side.
    pub(super) user_id: String,
}

impl Owner {
    /// The person who calls.
    ///
    /// # Errors
    /// 403 for an application token.
    pub(super) fn of(caller: &Caller) -> Result<Self> {
        let user = caller.require_user()?;
        Ok(Self { tenant_id: caller.tenant.id, user_id: user.person.user_id.clone() })
    }
}

/// A favorite (the document's "Favorite").
#[derive(Clone, Debug, PartialEq, Eq, FromQueryResult, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Favorite {
    /// Favorited resource id.
    pub item_id: String,
    /// Source id.
    pub source_id: Option<String>,
    /// 0 system, 1 user, 2 group, 3 application, 4 department, 5 service account, 6 enterprise.
    pub source_type: Option<i64>,
    /// Source name.
    pub source_name: Option<String>,
    /// Source display name.
    pub source_display_name: Option<String>,
    /// 1 text, 2 voice, 3 picture, 4 video, 5 the service, 6 document, 7 cloud drive, 8 feed.
    pub content_type: i64,
    /// Favorited content.
    pub content: Option<String>,
    /// Creation time, epoch milliseconds; strictly increasing over its owner's favorites.
    #[sea_orm(from_alias = "created_at")]
    pub created_date: i64,
}

/// A favorite with its labels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LabelledFavorite {
    /// The favorite.
    #[serde(flatten)]
    pub favorite: Favorite,
    /// Its labels, in the order in which they were given.
    pub label_list: Vec<Label>,
}

/// What is to become a favorite; an empty text is as good as none.
#[derive(Clone, Debug, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FavoriteForm {
    /// Favorited resource id.
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
    /// 1 text, 2 voice, 3 picture, 4 video, 5 the service, 6 document, 7 cloud drive, 8 feed; default 1.
    #[schema(minimum = 1, maximum = 8)]
    pub content_type: Option<i64>,
    /// Favorited content.
    pub content: Option<String>,
    /// What else it is found by.
    pub keyword: Option<String>,
    /// Ids of the caller's labels.
    pub label_list: Option<Vec<String>>,
    /// Whether it becomes one of his favorites of the feed too.
    pub sync_blog_favor: Option<bool>,
}

/// Which of the two lists a favorite stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Marks {
    pub(super) is_favorite: bool,
    pub(super) is_feed_favorite: bool,
}

impl FavoriteForm {
    /// Checks every field; empty texts are absent afterwards.
    ///
    /// # Errors
    /// A message that names the field.
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

    /// Its content type.
    pub(super) fn content_type(&self) -> i64 {
        self.content_type.unwrap_or(1)
    }

    /// What is marked once it is added; `known` is how it stood before. `None` where it is a favorite already.
    pub(super) fn marks(&self, known: Option<Marks>) -> Option<Marks> {
        let was_of_feed = match known {
            Some(Marks { is_favorite: true, .. }) => return None,
            Some(Marks { is_feed_favorite, .. }) => is_feed_favorite,
            None => false,
        };
        let comes_to_feed = self.content_type() == FEED || self.sync_blog_favor == Some(true);
        Some(Marks { is_favorite: true, is_feed_favorite: was_of_feed || comes_to_feed })
    }

    /// What a list's keyword is looked for in.
    pub(super) fn folded(&self) -> String {
        let texts = [&self.content, &self.keyword, &self.source_name, &self.source_display_name];
        narrowing::fold_all(texts.into_iter().flatten().map(String::as_str))
    }
}

impl Marks {
    /// What is left when it is removed, perhaps neither; `None` where it is not among the favorites that are meant.
    pub(super) fn without(self, content_type: i64, from_feed_too: bool) -> Option<Self> {
        let both = from_feed_too || content_type == FEED;
        if !self.is_favorite && !both {
            return None;
        }
        Some(Self { is_favorite: false, is_feed_favorite: self.is_feed_favorite && !both })
    }

    /// Whether nothing is left.
    pub(super) fn is_none(self) -> bool {
        !self.is_favorite && !self.is_feed_favorite
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAVORITE: Marks = Marks { is_favorite: true, is_feed_favorite: false };
    const OF_FEED: Marks = Marks { is_favorite: false, is_feed_favorite: true };
    const BOTH: Marks = Marks { is_favorite: true, is_feed_favorite: true };
    const NONE: Marks = Marks { is_favorite: false, is_feed_favorite: false };

    fn form(content_type: Option<i64>, sync_blog_favor: Option<bool>) -> FavoriteForm {
        serde_json::from_value(serde_json::json!({
            "itemId": "a", "contentType": content_type, "syncBlogFavor": sync_blog_favor,
        }))
        .unwrap()
    }

    #[test]
    fn adding_marks_a_favorite_and_where_it_is_asked_for_one_of_the_feed() {
        assert_eq!(form(Some(1), None).marks(None), Some(FAVORITE));
        assert_eq!(form(Some(1), Some(false)).marks(None), Some(FAVORITE));
        assert_eq!(form(Some(1), Some(true)).marks(None), Some(BOTH));
        assert_eq!(form(Some(FEED), Some(false)).marks(None), Some(BOTH));
        assert_eq!(form(None, None).marks(Some(OF_FEED)), Some(BOTH));
        for known in [FAVORITE, BOTH] {
            assert_eq!(form(None, Some(true)).marks(Some(known)), None);
        }
    }

    #[test]
    fn removing_takes_one_mark_or_both() {
        assert_eq!(FAVORITE.without(1, false), Some(NONE));
        assert_eq!(FAVORITE.without(1, true), Some(NONE));
        assert_eq!(BOTH.without(1, false), Some(OF_FEED));
        assert_eq!(BOTH.without(1, true), Some(NONE));
        assert_eq!(BOTH.without(FEED, false), Some(NONE));
        assert_eq!(OF_FEED.without(1, false), None);
        assert_eq!(OF_FEED.without(1, true), Some(NONE));
    }

    #[test]
    fn a_wrong_field_is_named() {
        let check = |json: &str| serde_json::from_str::<FavoriteForm>(json).unwrap().checked();
        assert!(check(r#"{"itemId":""}"#).unwrap_err().starts_with("itemId:"));
        assert!(check(r#"{"itemId":"a","sourceType":7}"#).unwrap_err().starts_with("sourceType:"));
        assert!(check(r#"{"itemId":"a","contentType":0}"#).unwrap_err().starts_with("contentType:"));
        assert!(check(r#"{"itemId":"a","sourceName":"a\nb"}"#).unwrap_err().starts_with("sourceName:"));
        let long = format!(r#"{{"itemId":"a","content":"{}"}}"#, "x".repeat(CONTENT_BYTES + 1));
        assert!(check(&long).unwrap_err().starts_with("content:"));
        assert_eq!(check(r#"{"itemId":"a","content":""}"#).unwrap().content, None);
    }
}
