//! One thing that several sources know is shown once, where a module says so: what makes two items the same, and
//! what was shown already.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};
use url::Url;

use super::{
    loops::{Fingerprint, fingerprint},
    source::Item,
};

/// Items of earlier pages that a chain remembers; one that was shown before these may come again. Eight bytes of the
/// cursor each.
pub(super) const MOST_REMEMBERED: usize = 2_000;

/// What a module does with items that more than one of its sources have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum Duplicates {
    /// It shows them all.
    #[default]
    Keep,
    /// Items of one id are one: for sources that know the same things by the same ids.
    ById,
    /// Items whose `action` opens the same place are one; those that open nothing are never.
    ByAction,
}

impl Duplicates {
    const ALL: [Self; 3] = [Self::Keep, Self::ById, Self::ByAction];

    /// The one of this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|duplicates| duplicates.name() == name)
    }

    /// Its name, as registrations write it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Keep => "keep",
            Self::ById => "byId",
            Self::ByAction => "byAction",
        }
    }

    /// What two items have in common when they are the same; `None` for one that is like no other.
    fn print_of(self, item: &Item) -> Option<Fingerprint> {
        match self {
            Self::Keep => None,
            Self::ById => Some(fingerprint(&item.id)),
            Self::ByAction => target(&item.json).map(|target| fingerprint(&target)),
        }
    }
}

/// What the action of an item opens: what the web client is told to open, else the first of the client kinds by name.
/// Addresses are compared in their normal form, so that `HTTPS://Wiki.example:443/a` is `https://wiki.example/a`.
fn target(item: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct WithAction {
        action: Option<String>,
    }
    let action = serde_json::from_str::<WithAction>(item).ok()?.action?;
    let clients: BTreeMap<String, String> = serde_json::from_str(&action).ok()?;
    let web = clients.get("web").and_then(|lines| opened_by(lines));
    web.or_else(|| clients.values().find_map(|lines| opened_by(lines)))
}

/// What one client's lines open: `[OpenUrl]` with `url=…`, or `[OpenApp]` with `appCode=…` and `appUrl=…`.
fn opened_by(lines: &str) -> Option<String> {
    let mut lines = lines.lines().map(str::trim).filter(|line| !line.is_empty());
    let tag = lines.next()?;
    let fields: Vec<(&str, &str)> = lines
        .filter_map(|line| line.split_once('='))
        .map(|(name, value)| (name.trim_end(), value.trim_start()))
        .collect();
    let find = |wanted: &str| {
        let found = fields.iter().find(|(name, _)| *name == wanted).map(|(_, value)| *value);
        found.filter(|value| !value.is_empty())
    };
    let normal = |address: &str| Url::parse(address).map_or_else(|_| address.to_owned(), String::from);
    match tag {
        "[OpenUrl]" => Some(format!("url {}", normal(find("url")?))),
        // The app alone is no place: what it opens there tells its items apart.
        "[OpenApp]" => Some(format!("app {} {}", find("appCode")?, normal(find("appUrl")?))),
        _ => None,
    }
}

/// Where an item was shown that is to come again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ShownAt {
    /// On an earlier page of the chain.
    Earlier,
    /// On this page, as its item of this number.
    ThisPage(usize),
}

/// What a chain of pages showed.
#[derive(Debug, Default)]
pub(super) struct Shown {
    duplicates: Duplicates,
    places: HashMap<Fingerprint, ShownAt>,
    /// Oldest first.
    in_turn: Vec<Fingerprint>,
}

impl Shown {
    /// What earlier pages showed, as their cursor has it.
    pub(super) fn new(duplicates: Duplicates, earlier: Vec<Fingerprint>) -> Self {
        if duplicates == Duplicates::Keep {
            return Self::default();
        }
        let places = earlier.iter().map(|print| (*print, ShownAt::Earlier)).collect();
        Self { duplicates, places, in_turn: earlier }
    }

    /// What an item has in common with those that are the same.
    pub(super) fn print_of(&self, item: &Item) -> Option<Fingerprint> {
        self.duplicates.print_of(item)
    }

    /// Where an item of this print was shown, if it was.
    pub(super) fn find(&self, print: Option<Fingerprint>) -> Option<ShownAt> {
        self.places.get(&print?).copied()
    }

    /// An item of this print is the page's item of this number.
    pub(super) fn show(&mut self, print: Option<Fingerprint>, number: usize) {
        if let Some(print) = print {
            self.places.insert(print, ShownAt::ThisPage(number));
            self.in_turn.push(print);
        }
    }

    /// What later pages have to know, oldest first.
    pub(super) fn into_remembered(mut self) -> Vec<Fingerprint> {
        self.in_turn.split_off(self.in_turn.len().saturating_sub(MOST_REMEMBERED))
    }
}

/// Writes into an item's JSON which other sources have it.
pub(super) fn note_also_in(item: &mut Item, sources: &[&str]) {
    let Ok(sources) = serde_json::to_string(sources) else { return };
    if item.json.ends_with('}') {
        item.json.pop();
        item.json.push_str(",\"alsoIn\":");
        item.json.push_str(&sources);
        item.json.push('}');
    }
}
