use std::collections::BTreeSet;

use serde::Deserialize;

use super::{
    repo::SHOWN,
    rules::{FEED, Favorite, Owner},
};
use crate::{
    error::{Error, Result},
    platform::shared::keyword_filter::fold_keyword,
    store::{self, Connection, Value, placeholders, sql},
};

const LIMIT: u64 = 100;
const MAX_LIMIT: u64 = 1_000;

/// Favorite list parameters; filters combine with AND.
#[derive(Clone, Debug, Default, Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct FavoriteListQuery {
    /// Content types 1 to 8, comma-separated; default all. 8 selects feed favorites of any type.
    #[param(example = "1,6")]
    content_types: Option<String>,
    /// `createdDate` of the previous page's last favorite.
    cursor: Option<i64>,
    /// Text in the content, search keyword, or source name, case-insensitive.
    keyword: Option<String>,
    /// Name of an assigned label.
    label_name: Option<String>,
    /// Page size; a shorter page is the last.
    #[param(value_type = Option<u16>, minimum = 1, maximum = 1000, default = 100)]
    limit: Option<i64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FavoriteFilter {
    content_types: BTreeSet<i64>,
    /// Exclusive.
    before: i64,
    keyword: Option<String>,
    label_name: Option<String>,
    limit: u64,
}

impl FavoriteFilter {
    pub(super) fn has_keyword(&self) -> bool {
        self.keyword.is_some()
    }
}

impl FavoriteListQuery {
    pub(super) fn checked(self, most_keyword_chars: usize) -> Result<FavoriteFilter> {
        let limit = match self.limit.map(u64::try_from) {
            None => LIMIT,
            Some(Ok(limit)) if (1..=MAX_LIMIT).contains(&limit) => limit,
            Some(_) => {
                return Err(Error::bad_request(format!(
                    "limit: must be 1 to {MAX_LIMIT}, not {}",
                    self.limit.unwrap_or_default()
                )));
            }
        };
        Ok(FavoriteFilter {
            content_types: read_content_types(self.content_types.as_deref().unwrap_or_default())?,
            before: self.cursor.unwrap_or(i64::MAX),
            keyword: fold_keyword(self.keyword, most_keyword_chars)?,
            label_name: self.label_name.filter(|name| !name.is_empty()),
            limit,
        })
    }
}

fn read_content_types(given: &str) -> Result<BTreeSet<i64>> {
    if given.trim().is_empty() {
        return Ok(BTreeSet::new());
    }
    let read = |number: &str| number.trim().parse().ok().filter(|number| (1..=FEED).contains(number));
    let types: Option<BTreeSet<i64>> = given.split(',').map(read).collect();
    types.ok_or_else(|| {
        Error::bad_request(format!("contentTypes: must be numbers of 1 to {FEED}, separated by commas"))
    })
}

pub(super) async fn read(
    reader: &Connection,
    owner: &Owner,
    filter: &FavoriteFilter,
) -> store::Result<Vec<Favorite>> {
    let whose = || [Value::from(owner.tenant_id), owner.user_id.as_str().into()];
    let mut text =
        format!("SELECT {SHOWN} FROM favorites WHERE tenant_id = ? AND user_id = ? AND created_at < ?");
    let mut values: Vec<Value> = whose().into();
    values.push(filter.before.into());
    let types = &filter.content_types;
    if types.is_empty() {
        text += " AND is_favorite";
    } else {
        let types_given = placeholders(types.len());
        text =
            format!("{text} AND (is_favorite AND content_type IN ({types_given}) OR ? AND is_feed_favorite)");
        values.extend(types.iter().map(|kind| Value::from(*kind)));
        values.push(types.contains(&FEED).into());
    }
    if let Some(label_name) = &filter.label_name {
        text += " AND sequence IN (SELECT favorite FROM labels_of_favorites WHERE label_id = \
                 (SELECT id FROM favorite_labels WHERE tenant_id = ? AND user_id = ? AND name = ?))";
        values.extend(whose());
        values.push(label_name.as_str().into());
    }
    if let Some(keyword) = &filter.keyword {
        text += " AND instr(folded, ?) > 0";
        values.push(keyword.as_str().into());
    }
    text += " ORDER BY created_at DESC LIMIT ?";
    values.push(filter.limit.into());
    sql(text, values).fetch_all::<Favorite>(reader).await
}
