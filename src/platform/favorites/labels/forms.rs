//! Label forms.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{
    json::{self, BoundedList},
    platform::shared::patch::{ID_BYTES, TextRule},
    store::FromRow,
};

pub(super) const MAX_LABELS: usize = 1_000;

const NAME_BYTES: usize = 256;
const REMARK_BYTES: usize = 4 << 10;

const NAMED_IDS: usize = 5;

/// A label (the document's "Label").
#[derive(Clone, Debug, PartialEq, Eq, FromRow, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Label {
    /// Label id.
    pub id: String,
    /// Label name, unique per owner.
    pub name: String,
    /// Remark.
    pub remark: Option<String>,
    /// Creation time: epoch milliseconds, as text.
    #[sqlx(rename = "created_at")]
    pub created_date: String,
}

/// A label to create; an empty text counts as absent.
#[derive(Clone, Debug, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LabelForm {
    /// Source id.
    pub source_id: Option<String>,
    /// 0 system, 1 user, 2 group, 3 application, 4 department, 5 service account, 6 enterprise.
    #[schema(minimum = 0, maximum = 6)]
    pub source_type: Option<i64>,
    /// Label name, unique per owner.
    pub name: String,
    /// Source name.
    pub source_name: Option<String>,
    /// Remark.
    pub remark: Option<String>,
}

impl LabelForm {
    pub(super) fn checked(mut self) -> Result<Self, String> {
        check_name(&self.name)?;
        if let Some(number) = self.source_type.filter(|number| !(0..=6).contains(number)) {
            return Err(format!("sourceType: must be 0 to 6, not {number}"));
        }
        let texts = [
            ("sourceId", &mut self.source_id, TextRule::Line(ID_BYTES)),
            ("sourceName", &mut self.source_name, TextRule::Line(NAME_BYTES)),
            ("remark", &mut self.remark, TextRule::Lines(REMARK_BYTES)),
        ];
        for (field, text, rule) in texts {
            *text = text.take().filter(|text| !text.is_empty());
            text.as_deref().map_or(Ok(()), |text| rule.check(field, text))?;
        }
        Ok(self)
    }
}

pub(super) fn check_name(name: &str) -> Result<(), String> {
    if name.trim().is_empty() {
        return Err("name: must not be blank".to_owned());
    }
    TextRule::Line(NAME_BYTES).check("name", name)
}

/// The labels of a favorite.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LabelListForm {
    /// Ids of the caller's labels; absent or null keeps the current ones.
    label_list: Option<LabelIds>,
}

/// Ids of labels; the tenant's setting may allow fewer.
pub(crate) type LabelIds = BoundedList<String, MAX_LABELS>;

pub(crate) fn read_label_list(body: &RawValue) -> Result<Option<LabelIds>, String> {
    if body.get().starts_with('[') {
        return json::read(body.get().as_bytes()).map(Some).map_err(|reason| format!("labelList: {reason}"));
    }
    json::read_object::<LabelListForm>(body.get().as_bytes()).map(|form| form.label_list)
}

pub(super) fn distinct(ids: LabelIds, limit: usize) -> Result<Vec<String>, String> {
    let mut met = HashSet::new();
    let ids: Vec<String> = ids.into_iter().filter(|id| met.insert(id.clone())).collect();
    if ids.len() > limit {
        return Err(format!(
            "labelList: a favorite may have at most {limit} labels in this enterprise, not {}",
            ids.len()
        ));
    }
    Ok(ids)
}

pub(super) fn check_known(ids: &[String], known: &HashSet<String>) -> Result<(), String> {
    let unknown: Vec<&str> = ids.iter().filter(|id| !known.contains(*id)).map(String::as_str).collect();
    if unknown.is_empty() {
        return Ok(());
    }
    let named = unknown.iter().take(NAMED_IDS).map(|id| id.chars().take(ID_BYTES).collect::<String>());
    let named = named.collect::<Vec<_>>().join(", ");
    let more = unknown.len().saturating_sub(NAMED_IDS);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    Err(format!("labelList: there are no labels with the ids {named}{more}"))
}
