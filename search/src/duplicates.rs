//! Items that several sources have.

mod address;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap, hash_map::Entry};

use serde::{Deserialize, Serialize};

use self::address::{normal, part};
use crate::{
    loop_guard::{Fingerprint, fingerprint},
    source::{ResultItem, SourceFingerprint},
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

    fn print_of(self, item: &ResultItem) -> Option<ItemPrint> {
        match self {
            Self::Keep => None,
            Self::ById => Some(ItemPrint::of_whole(&item.id)),
            Self::ByAction => target(&item.json).map(|target| target.print()),
        }
    }
}

/// Prints of an item.
///
/// Between sources, all parts of a page are the page. Within a source, each part is an item of its own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ItemPrint {
    own: Fingerprint,
    /// Its page, shown by a part of it.
    of_parts: Fingerprint,
    /// Its page as a whole, if it is a part.
    whole: Option<Fingerprint>,
}

impl ItemPrint {
    fn of_whole(whole: &str) -> Self {
        Self { own: fingerprint(whole), of_parts: fingerprint(&format!("parts {whole}")), whole: None }
    }

    fn of_part(whole: &str, part: &str) -> Self {
        let page = Self::of_whole(whole);
        Self { own: fingerprint(&format!("{whole}#{part}")), whole: Some(page.own), ..page }
    }
}

/// Normalised address, and the part of its page.
struct Target {
    whole: String,
    part: Option<String>,
}

impl Target {
    fn print(&self) -> ItemPrint {
        match &self.part {
            Some(part) => ItemPrint::of_part(&self.whole, part),
            None => ItemPrint::of_whole(&self.whole),
        }
    }
}

/// Target of an item's action, of the web client or else the first.
fn target(item: &str) -> Option<Target> {
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
fn target_of_lines(lines: &str) -> Option<Target> {
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
    let (kind, address) = match tag {
        "[OpenUrl]" => ("url".to_owned(), find("url")?),
        // An app alone is no target.
        "[OpenApp]" => (format!("app {}", find("appCode")?), find("appUrl")?),
        _ => return None,
    };
    Some(Target { whole: format!("{kind} {}", normal(address)), part: part(address) })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SeenAt {
    Earlier,
    ThisPage(usize),
}

/// All of a print but its last byte, in whose place stands that of the source.
type Place = [u8; 7];

#[derive(Debug, Default)]
pub(crate) struct SeenItems {
    duplicates: Duplicates,
    places: HashMap<Place, (u8, SeenAt)>,
    /// Oldest first.
    in_order: Vec<Fingerprint>,
}

fn split(print: Fingerprint) -> (Place, u8) {
    let [place @ .., source] = print;
    (place, source)
}

impl SeenItems {
    pub(crate) fn new(duplicates: Duplicates, earlier: Vec<Fingerprint>) -> Self {
        if duplicates == Duplicates::Keep {
            return Self::default();
        }
        let places = earlier.iter().map(|print| {
            let (place, source) = split(*print);
            (place, (source, SeenAt::Earlier))
        });
        Self { duplicates, places: places.collect(), in_order: earlier }
    }

    pub(crate) fn print_of(&self, item: &ResultItem) -> Option<ItemPrint> {
        self.duplicates.print_of(item)
    }

    /// Finds where an equal item was shown.
    pub(crate) fn find(&self, print: Option<&ItemPrint>, source: SourceFingerprint) -> Option<SeenAt> {
        let print = print?;
        let find = |print: Fingerprint| self.places.get(&split(print).0).copied();
        let own = find(print.own).map(|(_, seen_at)| seen_at);
        own.or_else(|| {
            let mut elsewhere = [Some(print.of_parts), print.whole].into_iter().flatten().filter_map(find);
            let other = elsewhere.find(|(shown_by, _)| *shown_by != source.short());
            other.map(|(_, seen_at)| seen_at)
        })
    }

    pub(crate) fn add(&mut self, print: Option<&ItemPrint>, source: SourceFingerprint, at: SeenAt) {
        let Some(print) = print else { return };
        let of_parts = print.whole.map(|_| print.of_parts);
        for (place, _) in [Some(print.own), of_parts].into_iter().flatten().map(split) {
            if let Entry::Vacant(vacant) = self.places.entry(place) {
                vacant.insert((source.short(), at));
                let mut print = Fingerprint::default();
                let bytes = place.into_iter().chain([source.short()]);
                print.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
                self.in_order.push(print);
            }
        }
    }

    /// Notes an item above the page. Returns whether no equal one was shown.
    pub(crate) fn note_above(&mut self, item: &ResultItem, source: SourceFingerprint) -> bool {
        let print = self.print_of(item);
        let is_new = self.find(print.as_ref(), source).is_none();
        if is_new {
            self.add(print.as_ref(), source, SeenAt::Earlier);
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
