//! Parameters as they are sent, and described.

use serde::Deserialize;
use trawl_search::SearchOrder;

use super::{boolean_or_text, number_or_text, text_or_blank};

/// The search condition.
#[derive(Clone, Debug, Default, Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase", default)]
#[into_params(parameter_in = Query)]
pub(in crate::platform::search) struct TermParameters {
    /// Words joined by AND, the last also as a prefix. Required.
    ///
    /// `"a phrase"`, `-word`, `author:NAME`; `*` alone finds everything.
    #[param(required = true)]
    pub(super) keyword: Option<String>,
    /// Items per page.
    ///
    /// By time, a page also holds all further items with the `displayTime` of its last one, so that this time as `cursor` loses
    /// none; only more than 10,000 of one time are cut, and the answer is `partial`. With `paging=cursor`, by relevance and after
    /// an opaque `cursor` a page holds `limit` items exactly. Pinned items come on top.
    #[serde(deserialize_with = "number_or_text")]
    #[param(value_type = Option<u16>, minimum = 1, maximum = 1000, default = 10)]
    pub(super) limit: Option<String>,
    /// The order: `time` is `displayTime` descending, then the source's place in the module, then `id`.
    #[param(inline, value_type = Option<SearchOrder>, default = "time")]
    pub(super) sort: Option<String>,
    /// Earliest `displayTime`, inclusive, epoch milliseconds.
    #[serde(deserialize_with = "number_or_text")]
    #[param(value_type = Option<i64>)]
    pub(super) from: Option<String>,
    /// Latest `displayTime`, exclusive, epoch milliseconds.
    #[serde(deserialize_with = "number_or_text")]
    #[param(value_type = Option<i64>)]
    pub(super) to: Option<String>,
    /// Only this author's items.
    pub(super) author: Option<String>,
    /// `true` adds texts as HTML, with `<em>` around matches (`highlight`).
    #[serde(deserialize_with = "boolean_or_text")]
    #[param(value_type = Option<bool>, default = false)]
    pub(super) highlight: Option<String>,
    /// `true` searches for the keyword as typed.
    ///
    /// No word is corrected, left out, optional, or has synonyms.
    #[serde(deserialize_with = "boolean_or_text")]
    #[param(value_type = Option<bool>, default = false)]
    pub(super) exact: Option<String>,
    /// `true` tells of each item why it was found (`explain`). Takes the scope `admin`, and a `limit` of at most 50.
    #[serde(deserialize_with = "boolean_or_text")]
    #[param(value_type = Option<bool>, default = false)]
    pub(super) explain: Option<String>,
    /// `true` tells that the keyword is not finished: sources with `whileTyping` false are `skipped`.
    #[serde(deserialize_with = "boolean_or_text")]
    #[param(value_type = Option<bool>, default = false)]
    pub(super) typing: Option<String>,
    /// Counts of all matches (`facets`): some of `module`, `source`, `author` and `time`, separated by commas.
    ///
    /// Each has at most 20 values; times by day, week, month or year, as they spread. External sources count only by what they
    /// state, and `facetsPartial` says so.
    #[param(example = "author,time")]
    pub(super) facets: Option<String>,
    /// The time zone of the periods that `facets=time` counts: an IANA name, or an offset such as `+08:00`; UTC if absent.
    #[param(example = "Asia/Shanghai")]
    pub(super) time_zone: Option<String>,
    /// The `x-trawl-position` of a write. The search waits until it finds what was written, at most nine tenths of `timeout`.
    ///
    /// If the index does not hold it by then, the answer is `partial`.
    #[serde(deserialize_with = "number_or_text")]
    #[param(value_type = Option<i64>, minimum = 0)]
    pub(super) after: Option<String>,
    /// The deadline in milliseconds.
    #[serde(deserialize_with = "number_or_text")]
    #[param(value_type = Option<u64>, minimum = 50, maximum = 10000, default = 2000)]
    pub(super) timeout: Option<String>,
}

/// How pages are cut.
#[derive(utoipa::ToSchema)]
#[schema(rename_all = "lowercase")]
#[expect(dead_code, reason = "only described")]
enum PagingParameter {
    Cursor,
}

/// The searched module and page.
#[derive(Clone, Debug, Default, Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase", default)]
#[into_params(parameter_in = Query)]
pub(in crate::platform::search) struct PlaceParameters {
    /// The module's id or code. Required.
    #[param(required = true)]
    pub(super) module_id: Option<String>,
    /// The `cursor` of the previous answer, with the same `keyword`, `moduleId`, `sort` and filters.
    ///
    /// Digits select items with an earlier `displayTime`, in epoch milliseconds, by time alone.
    #[serde(deserialize_with = "number_or_text")]
    pub(super) cursor: Option<String>,
    /// `cursor`: every page holds exactly `limit` items, from the first one on.
    #[param(inline, value_type = Option<PagingParameter>)]
    pub(super) paging: Option<String>,
    /// Only this source's items, by its id or name.
    pub(super) source: Option<String>,
    /// Whether the operator's pinned items stand above the first page: `true`, or `false` with `paging=cursor`, by default.
    #[serde(deserialize_with = "boolean_or_text")]
    #[param(value_type = Option<bool>)]
    pub(super) pinned: Option<String>,
}

/// The person to search as.
#[derive(Clone, Debug, Default, Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase", default)]
#[into_params(parameter_in = Query)]
pub(in crate::platform::search) struct PersonParameter {
    /// Searches as this person, by synchronised id; if absent, as an application without a person.
    pub(in crate::platform::search) user_id: Option<String>,
}

/// The best matches of all modules.
#[derive(Clone, Debug, Default, Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase", default)]
#[into_params(parameter_in = Query)]
pub(in crate::platform::search) struct TopParameter {
    /// The number of best matches of all modules together (`top`). Takes `sort=relevance`.
    #[serde(deserialize_with = "number_or_text")]
    #[param(value_type = Option<u16>, minimum = 1, maximum = 20)]
    pub(super) top: Option<String>,
}

/// The beginning to complete.
#[derive(Clone, Debug, Default, Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase", default)]
#[into_params(parameter_in = Query)]
pub(in crate::platform::search) struct SuggestionParameters {
    /// The text typed so far. A blank one has no completions. Required.
    #[serde(deserialize_with = "text_or_blank")]
    #[param(value_type = String, required = true)]
    pub(super) prefix: Option<String>,
    /// The id or code of the module to look in; every module if absent.
    pub(super) module_id: Option<String>,
    /// Maximum suggestions.
    #[param(value_type = Option<u16>, minimum = 1, maximum = 20, default = 8)]
    pub(super) limit: Option<String>,
}
