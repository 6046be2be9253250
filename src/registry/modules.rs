//! Modules as registered, and their rules.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use trawl_engine::relevance::Recency;
use trawl_search::{Duplicates, Module, sources::builtin};

use super::{
    forms::{duplicates, is_code, number, optional, required},
    repo,
};
use crate::{
    error::{Error, Result},
    json::{self, BoundedList},
    store::Transaction,
};

const MAX_MODULES: usize = 1_000;
const MAX_SOURCES: usize = 200;
const NAME_BYTES: usize = 256;
/// A name, or a small image as a `data:` URL.
const ICON_BYTES: usize = 8 << 10;

const TYPES: [i64; 13] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 100, 101];

/// A module with its sources.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct RegisteredModule {
    /// The module.
    #[serde(flatten)]
    pub module: Module,
    /// Ids of external sources, or `builtin:CODE`.
    pub sources: Vec<String>,
    /// The handling of duplicates.
    pub duplicates: Duplicates,
    /// The gain of new items in `sort=relevance`.
    #[schema(value_type = RecencyForm)]
    pub recency: Recency,
}

impl From<Module> for RegisteredModule {
    fn from(module: Module) -> Self {
        let Module { duplicates, recency, .. } = module;
        Self { sources: module.sources.clone(), duplicates, recency, module }
    }
}

/// The form of a module.
#[derive(Clone, Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModuleForm {
    /// The id: 1 to 64 of A-Z, a-z, 0-9, _ and -; generated if absent.
    pub id: Option<String>,
    /// The code, unique in the tenant: 1 to 64 of a-z, 0-9, _ and -. Required.
    pub code: Option<String>,
    /// The name. Required.
    pub name: Option<String>,
    /// The name of an icon.
    pub icon: Option<String>,
    /// The place in lists, ascending; 0 if absent.
    pub order_no: Option<i64>,
    /// The type. Required. Contents: 1 article, 2 news, 3 to-do, 4 done, 5 feed. Directory: 6 people, 7 department,
    /// 8 group. Others: 9 file, 10 favorite, 11 message, 100 external, 101 mixed.
    #[serde(rename = "type")]
    pub kind: Option<i64>,
    /// The sources, 1 to 200: ids of external ones, or `builtin:CODE`. Required.
    ///
    /// Items of equal time keep the order of their sources.
    pub sources: Option<BoundedList<String, { MAX_SOURCES }>>,
    /// The handling of duplicates: `keep` (the default), `byId` or `byAction`. The item shown names its other
    /// sources in `alsoIn`.
    #[schema(value_type = Option<Duplicates>)]
    pub duplicates: Option<String>,
    /// The gain of new items in `sort=relevance`.
    #[serde(default, deserialize_with = "json::object")]
    pub recency: Option<RecencyForm>,
}

/// The gain of new items of a module, in `sort=relevance`.
#[derive(Clone, Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecencyForm {
    /// A new item's gain in percent of its score: 0 to 100, 15 if absent.
    #[schema(minimum = 0, maximum = 100)]
    pub percent: Option<i64>,
    /// The age that halves the gain, in days: 1 to 3650, 90 if absent.
    #[schema(minimum = 1, maximum = 3650)]
    pub half_life_days: Option<i64>,
}

impl RecencyForm {
    fn checked(&self) -> Result<Recency> {
        let Recency { percent, half_life_days } = Recency::DEFAULT;
        let (default, bounds) = (percent.into(), &Recency::PERCENT);
        let percent = number("recency.percent", self.percent, default, bounds, "percent")?;
        let (default, bounds) = (half_life_days.into(), &Recency::HALF_LIFE_DAYS);
        let days = number("recency.halfLifeDays", self.half_life_days, default, bounds, "days")?;
        Ok(Recency::new(percent, days))
    }
}

impl ModuleForm {
    /// The tenant's other modules are not checked yet.
    pub(super) fn checked(self, id: String) -> Result<Module> {
        let code = self.code.filter(|code| is_code(code)).ok_or_else(|| {
            Error::bad_request("code: is required and must be 1 to 64 of a-z, 0-9, _ and -")
        })?;
        let name = required("name", self.name, NAME_BYTES)?;
        let icon = optional("icon", self.icon, ICON_BYTES)?.unwrap_or_default();
        let kind = self.kind.filter(|kind| TYPES.contains(kind)).ok_or_else(|| {
            Error::bad_request("type: is required and must be 1 to 11, 100 (external) or 101 (mixed)")
        })?;
        let sources = Vec::from(self.sources.unwrap_or_default());
        check_sources(&sources)?;
        let duplicates = duplicates("duplicates", self.duplicates.as_deref())?;
        let recency = self.recency.unwrap_or_default().checked()?;
        let order_no = self.order_no.unwrap_or_default();
        Ok(Module { id, name, icon, code, order_no, kind, sources, duplicates, recency })
    }
}

fn check_sources(sources: &[String]) -> Result<()> {
    if sources.is_empty() {
        return Err(Error::bad_request(format!(
            "sources: must name 1 to {MAX_SOURCES} sources, external ones by their ids and built-in ones as \
             builtin:CODE"
        )));
    }
    let mut seen = HashSet::new();
    match sources.iter().position(|id| !seen.insert(id)) {
        Some(place) => Err(Error::bad_request(format!("sources[{place}]: is named twice"))),
        None => Ok(()),
    }
}

pub(super) fn check_sources_exist(module: &Module, registered: &[String]) -> Result<()> {
    let registered: HashSet<&String> = registered.iter().collect();
    let is_there = |id: &String| builtin::code_of(id).map_or_else(|| registered.contains(id), is_code);
    match module.sources.iter().position(|id| !is_there(id)) {
        Some(place) => Err(Error::bad_request(format!(
            "sources[{place}]: must be the id of a registered source, or builtin:CODE with a module's code"
        ))),
        None => Ok(()),
    }
}

/// # Errors
/// 409 for too many modules or a taken id or code: `moduleId` takes either.
pub(super) fn check_beside(module: &Module, others: &[Module]) -> Result<()> {
    if others.len() >= MAX_MODULES {
        return Err(Error::conflict(format!("the tenant already has {MAX_MODULES} modules, the maximum")));
    }
    for other in others {
        let taken = if other.id == module.id {
            "id: is taken by another module"
        } else if other.code == module.code {
            "code: is taken by another module"
        } else if other.code == module.id {
            "id: is another module's code, and `moduleId` accepts both"
        } else if other.id == module.code {
            "code: is another module's id, and `moduleId` accepts both"
        } else {
            continue;
        };
        return Err(Error::conflict(taken));
    }
    Ok(())
}

/// Modules of a new tenant: code, name, type (book: reference/search.md).
pub const DEFAULT_MODULES: [(&str, &str, i64); 11] = [
    ("article", "Articles", 1),
    ("news", "News", 2),
    ("todo", "To-do", 3),
    ("done", "Done", 4),
    ("feed", "Feeds", 5),
    ("people", "People", 6),
    ("department", "Departments", 7),
    ("group", "Groups", 8),
    ("file", "Files", 9),
    ("favorite", "Favorites", 10),
    ("message", "Messages", 11),
];

/// Stores the modules of a new tenant.
pub async fn create_default_modules(transaction: &Transaction, tenant_id: i64) -> Result<()> {
    for (place, (code, name, kind)) in (1..).zip(DEFAULT_MODULES) {
        let module = Module {
            id: uuid::Uuid::new_v4().to_string(),
            name: name.to_owned(),
            icon: code.to_owned(),
            code: code.to_owned(),
            order_no: place,
            kind,
            sources: vec![builtin::id_of(code)],
            duplicates: Duplicates::Keep,
            recency: Recency::DEFAULT,
        };
        repo::modules::put(transaction, tenant_id, &module).await?;
    }
    Ok(())
}
