//! Items that several sources have.

mod address;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use self::address::normal;
use crate::{
    loop_guard::{Fingerprint, fingerprint},
    source::ResultItem,
};

/// Eight bytes each. Older items may be shown again.
pub(crate) const MAX_SEEN: usize = 2_000;

/// The handling of items that several sources have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum Duplicates {
    /// All are shown.
    #[default]
    Keep,
    /// One of each id is shown.
    ById,
    /// One of each target of `action` is shown.
    ByAction,
}

impl Duplicates {
    const ALL: [Self; 3] = [Self::Keep, Self::ById, Self::ByAction];

    /// Variant of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|duplicates| duplicates.name() == name)
    }

    /// Name in registrations.
    pub fn name(self) -> &'static str {
        match self {
            Self::Keep => "keep",
            Self::ById => "byId",
            Self::ByAction => "byAction",
        }
    }

    fn print_of(self, item: &ResultItem) -> Option<Fingerprint> {
        match self {
            Self::Keep => None,
            Self::ById => Some(fingerprint(&item.id)),
            Self::ByAction => target(&item.json).map(|target| fingerprint(&target)),
        }
    }
}

/// Target of an item's action, of the web client or else the first. It is a normalised address.
fn target(item: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct WithAction {
        action: Option<String>,
    }
    let action = serde_json::from_str::<WithAction>(item).ok()?.action?;
    let clients: BTreeMap<String, String> = serde_json::from_str(&action).ok()?;
    let web = clients.get("web").and_then(|lines| target_of_lines(lines));
    web.or_else(|| clients.values().find_map(|lines| target_of_lines(lines)))
}

/// Reads `[OpenUrl]` with `url=…`, or `[OpenApp]` with `appCode=…` and `appUrl=…`.
fn target_of_lines(lines: &str) -> Option<String> {
    let mut lines = lines.lines().map(str::trim).filter(|line| !line.is_empty());
    let tag = lines.next()?;
    let fields: Vec<(&str, &str)> = lines
        .filter_map(|line| line.split_once('='))
        .map(|(name, value)| (name.trim_end(), value.trim_start()))
        .collect();
    let find = |name: &str| {
        let found = fields.iter().find(|(field, _)| *field == name).map(|(_, value)| *value);
        found.filter(|value| !value.is_empty())
    };
    match tag {
        "[OpenUrl]" => Some(format!("url {}", normal(find("url")?))),
        // An app alone is no target.
        "[OpenApp]" => Some(format!("app {} {}", find("appCode")?, normal(find("appUrl")?))),
        _ => None,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SeenAt {
    Earlier,
    ThisPage(usize),
}

#[derive(Debug, Default)]
pub(crate) struct SeenItems {
    duplicates: Duplicates,
    places: HashMap<Fingerprint, SeenAt>,
    /// Oldest first.
    in_order: Vec<Fingerprint>,
}

impl SeenItems {
    pub(crate) fn new(duplicates: Duplicates, earlier: Vec<Fingerprint>) -> Self {
        if duplicates == Duplicates::Keep {
            return Self::default();
        }
        let places = earlier.iter().map(|print| (*print, SeenAt::Earlier)).collect();
        Self { duplicates, places, in_order: earlier }
    }

    pub(crate) fn print_of(&self, item: &ResultItem) -> Option<Fingerprint> {
        self.duplicates.print_of(item)
    }

    pub(crate) fn find(&self, print: Option<Fingerprint>) -> Option<SeenAt> {
        self.places.get(&print?).copied()
    }

    pub(crate) fn add(&mut self, print: Option<Fingerprint>, at: SeenAt) {
        if let Some(print) = print {
            self.places.insert(print, at);
            self.in_order.push(print);
        }
    }

    /// Notes an item above the page. Returns whether no equal one was shown.
    pub(crate) fn note_above(&mut self, item: &ResultItem) -> bool {
        let print = self.print_of(item);
        let is_new = self.find(print).is_none();
        if is_new {
            self.add(print, SeenAt::Earlier);
        }
        is_new
    }

    /// Oldest first.
    pub(crate) fn into_latest(mut self) -> Vec<Fingerprint> {
        self.in_order.split_off(self.in_order.len().saturating_sub(MAX_SEEN))
    }
}

pub(crate) fn note_also_in(item: &mut ResultItem, sources: &[&str]) {
    let Ok(sources) = serde_json::to_string(sources) else { return };
    item.add_field("alsoIn", &sources);
}
