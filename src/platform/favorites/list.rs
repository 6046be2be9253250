//! `GET /v1/favorites`: which of a person's favorites a page holds.

use std::collections::BTreeSet;

use sea_orm::{ConnectionTrait, DbErr, FromQueryResult, Value};
use serde::Deserialize;
use serde_json::json;

use super::{
    model::{FEED, Favorite, Owner},
    repo::SHOWN,
};
use crate::{
    error::{Error, Result},
    platform::narrowing::fold_keyword,
    store::sql,
};

/// Favorites of a page where nothing is said, and at the most.
const LIMIT: u64 = 100;
const MOST: u64 = 1_000;

/// Which favorites; what is given narrows the list together.
#[derive(Clone, Debug, Default, Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct ListQuery {
    /// Content types, 1 to 8, separated by commas; all favorites where it is absent. 8 are the favorites of the feed, of whatever
    /// content type.
    #[param(example = "1,6")]
    content_types: Option<String>,
    /// `createdDate` of the last one of the page before: those below it.
    cursor: Option<i64>,
    /// What the content, the search keyword or the source's name or display name holds, in any case.
    keyword: Option<String>,
    /// The name of a label that they have.
    label_name: Option<String>,
    /// Favorites of a page; fewer are the last ones.
    #[param(value_type = Option<u16>, minimum = 1, maximum = 1000, default = 100)]
    limit: Option<i64>,
}

/// What a page holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    /// Favorites of these content types; without any, all of them.
    content_types: BTreeSet<i64>,
    /// Those that were created before this.
    before: i64,
    /// What one of their texts holds, folded.
    keyword: Option<String>,
    /// The name of a label.
    label_name: Option<String>,
    limit: u64,
}

impl Wanted {
    /// Whether every favorite of the person has to be looked into.
    pub(super) fn has_keyword(&self) -> bool {
        self.keyword.is_some()
    }
}

impl ListQuery {
    /// # Errors
    /// 400 that names the parameter.
    pub(super) fn checked(self, most_keyword_chars: usize) -> Result<Wanted> {
        let limit = match self.limit.map(u64::try_from) {
            None => LIMIT,
            Some(Ok(limit)) if (1..=MOST).contains(&limit) => limit,
            Some(_) => return Err(Error::bad_request(format!("limit: must be 1 to {MOST}"))),
        };
        Ok(Wanted {
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

/// The page: the newest first.
pub(super) async fn read<C: ConnectionTrait>(
    reader: &C,
    owner: &Owner,
    wanted: &Wanted,
) -> Result<Vec<Favorite>, DbErr> {
    let whose = || [Value::from(owner.tenant_id), owner.user_id.as_str().into()];
    let mut text =
        format!("SELECT {SHOWN} FROM favorites WHERE tenant_id = ? AND user_id = ? AND created_at < ?");
    let mut values: Vec<Value> = whose().into();
    values.push(wanted.before.into());
    let types = &wanted.content_types;
    if types.is_empty() {
        text += " AND is_favorite = 1";
    } else {
        text += " AND (is_favorite = 1 AND content_type IN (SELECT value FROM json_each(?)) OR ? AND is_feed_favorite = 1)";
        values.extend([json!(types).to_string().into(), types.contains(&FEED).into()]);
    }
    if let Some(label_name) = &wanted.label_name {
        text += " AND sequence IN (SELECT favorite FROM labels_of_favorites WHERE label_id = \
                 (SELECT id FROM favorite_labels WHERE tenant_id = ? AND user_id = ? AND name = ?))";
        values.extend(whose());
        values.push(label_name.as_str().into());
    }
    if let Some(keyword) = &wanted.keyword {
        text += " AND instr(folded, ?) > 0";
        values.push(keyword.as_str().into());
    }
    text += " ORDER BY created_at DESC LIMIT ?";
    values.push(wanted.limit.into());
    Favorite::find_by_statement(sql(text, values)).all(reader).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_types_are_numbers_with_commas_between_them() {
        assert_eq!(read_content_types(" ").unwrap(), BTreeSet::new());
        assert_eq!(read_content_types("8, 1,8").unwrap(), BTreeSet::from([1, 8]));
        for wrong in ["0", "9", "1,,2", "x", "1;2", "-1"] {
            assert!(read_content_types(wrong).unwrap_err().message.starts_with("contentTypes: "), "{wrong}");
        }
    }

    #[test]
    fn a_wrong_limit_is_refused() {
        for limit in [0, -1, 1_001, i64::MIN] {
            let query = ListQuery { limit: Some(limit), ..ListQuery::default() };
            assert!(query.checked(256).unwrap_err().message.starts_with("limit: "), "{limit}");
        }
        assert_eq!(ListQuery::default().checked(256).unwrap().limit, LIMIT);
    }
}
