//! Subscriptions as operators write and see them.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::{
    SubscriptionsState,
    repo::{SubscriptionRow, SubscriptionSettings},
    report::LastRun,
    secrets,
};
use crate::{
    error::{Error, Result},
    json,
    platform::{contents::forms::Visibility, shared::patch::Written},
    registry::forms::{number, required},
    store::Json,
};

pub use super::origins::{DatabaseKind, Feed, FeedForm, Folder, FolderForm, Origin, SqlForm, SqlQuery};

const NAME_BYTES: usize = 256;
const MODULE_BYTES: usize = 64;
/// Up to four weeks.
const INTERVAL_MINUTES: RangeInclusive<i64> = 1..=40_320;
const DEFAULT_INTERVAL_MINUTES: i64 = 60;
const KEEP_DAYS: RangeInclusive<i64> = 1..=36_500;

/// The form of a subscription. Exactly one kind of source is given, which stays.
#[derive(Clone, Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubscriptionForm {
    /// 1 to 64 of A-Z, a-z, 0-9, _ and -. Made up if absent; it stays.
    pub id: Option<String>,
    /// The name. Required.
    pub name: Option<String>,
    /// The code of a module with built-in content, to which the items go. Required; it stays.
    pub module: Option<String>,
    /// An RSS, Atom or JSON feed.
    #[serde(default, deserialize_with = "json::object")]
    pub feed: Option<FeedForm>,
    /// A folder of files on the server's machine.
    #[serde(default, deserialize_with = "json::object")]
    pub folder: Option<FolderForm>,
    /// A query in another database.
    #[serde(default, deserialize_with = "json::object")]
    pub sql: Option<SqlForm>,
    /// Minutes from one run to the next: 1 to 40320, 60 if absent.
    pub interval_minutes: Option<i64>,
    /// Days after which items are removed: 1 to 36500; absent for ever.
    ///
    /// They count from the item's time, or from its first fetch.
    pub keep_days: Option<i64>,
    /// Whether it runs by itself; true if absent.
    pub enabled: Option<bool>,
    /// Viewers of all items; the whole tenant if absent.
    #[serde(default, deserialize_with = "json::object")]
    pub visibility: Option<Visibility>,
}

/// A subscription and its last run.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Subscription {
    /// The id.
    pub id: String,
    /// The name.
    pub name: String,
    /// The code of the items' module.
    pub module: String,
    /// `feed`, `folder` or `sql`.
    pub kind: &'static str,
    /// The feed; null for another kind.
    pub feed: Option<Feed>,
    /// The folder; null for another kind.
    pub folder: Option<Folder>,
    /// The query; null for another kind.
    pub sql: Option<SqlQuery>,
    /// Minutes from one run to the next.
    pub interval_minutes: i64,
    /// Days after which items are removed; null for ever.
    pub keep_days: Option<i64>,
    /// Whether it runs by itself.
    pub enabled: bool,
    /// Viewers of all items; null for the whole tenant.
    pub visibility: Option<Visibility>,
    /// Present items.
    pub items: i64,
    /// Completed runs.
    pub runs: i64,
    /// Failed runs since the last one that succeeded.
    pub failures: i64,
    /// The last run; null before the first.
    pub last_run: Option<LastRun>,
    /// When it runs next, epoch milliseconds; null until an operator asks for a run.
    pub next_run_at: Option<i64>,
}

impl Subscription {
    pub(super) fn of(row: SubscriptionRow) -> Self {
        let SubscriptionSettings {
            id,
            name,
            module,
            origin,
            interval_minutes,
            keep_days,
            enabled,
            visibility,
            ..
        } = row.settings;
        let kind = origin.kind();
        let (feed, folder, sql) = match origin.0 {
            Origin::Feed(feed) => (Some(feed), None, None),
            Origin::Folder(folder) => (None, Some(folder), None),
            Origin::Sql(sql) => (None, None, Some(sql)),
        };
        Self {
            id,
            name,
            module,
            kind,
            feed,
            folder,
            sql,
            interval_minutes,
            keep_days,
            enabled,
            visibility: visibility.map(|Json(visibility)| visibility),
            items: row.items,
            runs: row.runs,
            failures: row.failures,
            last_run: row.last_run.map(|Json(run)| run),
            next_run_at: row.next_run_at,
        }
    }
}

impl SubscriptionForm {
    /// Whether a stored password stays.
    pub(super) fn keeps_password(&self) -> bool {
        self.sql.as_ref().is_some_and(|sql| matches!(sql.password, Written::Keep))
    }

    /// The settings of the subscription with this id.
    ///
    /// # Errors
    /// 400 for the first wrong field.
    pub(super) fn into_settings(
        self,
        tenant_id: i64,
        id: String,
        state: &SubscriptionsState,
    ) -> Result<SubscriptionSettings> {
        let (origin, password) = match (self.feed, self.folder, self.sql) {
            (Some(feed), None, None) => (Origin::Feed(feed.checked(&state.addresses)?), None),
            (None, Some(folder), None) => (Origin::Folder(folder.checked(&state.folders)?), None),
            (None, None, Some(sql)) => {
                let (sql, password) = sql.checked(&state.folders, &state.databases)?;
                (Origin::Sql(sql), password)
            }
            _ => return Err(Error::bad_request("feed: is required, or folder or sql, and only one of them")),
        };
        let seal = |password| secrets::seal(&state.keys.secrets, tenant_id, &id, &password);
        let secret_sealed = password.map(seal).transpose().map_err(Error::internal)?;
        let keep_days = self.keep_days.map(|days| number("keepDays", Some(days), 0, &KEEP_DAYS, "days"));
        if let Some(visibility) = &self.visibility {
            visibility.check().map_err(Error::bad_request)?;
        }
        Ok(SubscriptionSettings {
            id,
            name: required("name", self.name, NAME_BYTES)?,
            module: required("module", self.module, MODULE_BYTES)?,
            origin: Json(origin),
            secret_sealed,
            interval_minutes: number(
                "intervalMinutes",
                self.interval_minutes,
                DEFAULT_INTERVAL_MINUTES,
                &INTERVAL_MINUTES,
                "minutes",
            )?,
            keep_days: keep_days.transpose()?,
            enabled: self.enabled.unwrap_or(true),
            visibility: self.visibility.map(Json),
        })
    }
}
