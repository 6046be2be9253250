//! What a search module is: as callers see it, as operators register it, and what it has to be (decisions 4.1, 4.2,
//! 7.2).

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::{
    forms::{duplicates, is_code, optional, required},
    repo,
};
use crate::{
    error::{Error, Result},
    search::{Duplicates, builtin},
    store::Transaction,
};

/// Modules that one tenant may have.
const MOST_MODULES: usize = 1_000;
/// Sources that one module may have.
const MOST_SOURCES: usize = 200;
/// Bytes of a name.
const NAME_BYTES: usize = 256;
/// Bytes of an icon: a name, or a small image as an address.
const ICON_BYTES: usize = 8 << 10;

/// The types of decisions 4.2.
const TYPES: [i64; 13] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 100, 101];

/// A search module, as `POST /modules` lists it (decisions 4.1).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Module {
    /// The module's id.
    pub id: String,
    /// A name for people.
    pub name: String,
    /// The name of an icon.
    pub icon: String,
    /// The code, unique in its tenant, which `moduleId` takes too.
    pub code: String,
    /// Modules are listed by this, ascending.
    pub order_no: i64,
    /// 1 article, 2 news, 3 to-do, 4 done, 5 feed, 6 people, 7 department, 8 group, 9 file, 10 favorite, 11 message,
    /// 100 external, 101 mixed.
    #[serde(rename = "type")]
    pub kind: i64,
    /// Its sources by their places: an external one's id, or `builtin:CODE`.
    #[serde(skip)]
    pub sources: Vec<String>,
    /// What it does with items that several of its sources have.
    #[serde(skip)]
    pub duplicates: Duplicates,
}

/// A module as an operator sees it: with its sources (decisions 7.2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct RegisteredModule {
    /// The module.
    #[serde(flatten)]
    pub module: Module,
    /// Its sources by their places: an external one's id, or `builtin:CODE`.
    pub sources: Vec<String>,
    /// What it does with items that several of its sources have.
    pub duplicates: Duplicates,
}

impl From<Module> for RegisteredModule {
    fn from(module: Module) -> Self {
        Self { sources: module.sources.clone(), duplicates: module.duplicates, module }
    }
}

/// A module as it is registered (decisions 7.2).
#[derive(Clone, Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModuleForm {
    /// The id: 1 to 64 of A-Z, a-z, 0-9, _ and -; one is made when absent.
    pub id: Option<String>,
    /// The code, unique in the tenant: 1 to 64 of a-z, 0-9, _ and -. Required.
    pub code: Option<String>,
    /// A name for people. Required.
    pub name: Option<String>,
    /// The name of an icon.
    pub icon: Option<String>,
    /// Modules are listed by this, ascending; 0 when absent.
    pub order_no: Option<i64>,
    /// 1 article, 2 news, 3 to-do, 4 done, 5 feed, 6 people, 7 department, 8 group, 9 file, 10 favorite, 11 message,
    /// 100 external, 101 mixed. Required.
    #[serde(rename = "type")]
    pub kind: Option<i64>,
    /// The sources, 1 to 100: an external one's id, or `builtin:CODE`. Of equal times the earlier source's items
    /// come first. Required.
    pub sources: Option<Vec<String>>,
    /// What is done with items that several sources have: `keep` (they are all shown, the default), `byId` (items of one
    /// id are shown once), `byAction` (items whose `action` opens the same place are). The one that is shown says in
    /// `alsoIn` which other sources have it.
    #[schema(value_type = Option<Duplicates>)]
    pub duplicates: Option<String>,
}

impl ModuleForm {
    /// The module that the form describes, as far as it can be checked without the tenant's other ones.
    ///
    /// # Errors
    /// 400 that names the field.
    pub(super) fn checked(self, id: String) -> Result<Module> {
        let code = self.code.filter(|code| is_code(code)).ok_or_else(|| {
            Error::bad_request("code: is required and must be 1 to 64 of a-z, 0-9, _ and -")
        })?;
        let name = required("name", self.name, NAME_BYTES)?;
        let icon = optional("icon", self.icon, ICON_BYTES)?.unwrap_or_default();
        let kind = self.kind.filter(|kind| TYPES.contains(kind)).ok_or_else(|| {
            Error::bad_request("type: is required and must be 1 to 11, 100 (external) or 101 (mixed)")
        })?;
        let sources = self.sources.unwrap_or_default();
        check_sources(&sources)?;
        let duplicates = duplicates("duplicates", self.duplicates.as_deref())?;
        let order_no = self.order_no.unwrap_or_default();
        Ok(Module { id, name, icon, code, order_no, kind, sources, duplicates })
    }
}

fn check_sources(sources: &[String]) -> Result<()> {
    if sources.is_empty() || sources.len() > MOST_SOURCES {
        let found = sources.len();
        return Err(Error::bad_request(format!(
            "sources: must name 1 to {MOST_SOURCES} sources, external ones by their ids and built-in ones as \
             builtin:CODE, not {found}"
        )));
    }
    let mut seen = HashSet::new();
    match sources.iter().position(|id| !seen.insert(id)) {
        Some(place) => Err(Error::bad_request(format!("sources[{place}]: is named twice"))),
        None => Ok(()),
    }
}

/// # Errors
/// 400 that names the source which is neither registered nor built-in.
pub(super) fn check_sources_exist(module: &Module, registered: &[String]) -> Result<()> {
    let registered: HashSet<&String> = registered.iter().collect();
    let is_there =
        |id: &String| id.strip_prefix(builtin::ID_PREFIX).map_or_else(|| registered.contains(id), is_code);
    match module.sources.iter().position(|id| !is_there(id)) {
        Some(place) => Err(Error::bad_request(format!(
            "sources[{place}]: must be the id of a registered source, or builtin:CODE with a module's code"
        ))),
        None => Ok(()),
    }
}

/// # Errors
/// 409 when the tenant's other modules leave no room for this one, or share its id or code: `moduleId` takes
/// either, so that no module may be called as another one is.
pub(super) fn check_beside(module: &Module, others: &[Module]) -> Result<()> {
    if others.len() >= MOST_MODULES {
        return Err(Error::conflict(format!(
            "a tenant may have {MOST_MODULES} modules, and has them already"
        )));
    }
    for other in others {
        let taken = if other.id == module.id {
            "id: is taken by another module"
        } else if other.code == module.code {
            "code: is taken by another module"
        } else if other.code == module.id {
            "id: is another module's code, and `moduleId` takes either"
        } else if other.id == module.code {
            "code: is another module's id, and `moduleId` takes either"
        } else {
            continue;
        };
        return Err(Error::conflict(taken));
    }
    Ok(())
}

/// The built-in modules that every tenant starts with: code, name, type (decisions 4.2).
const DEFAULT_MODULES: [(&str, &str, i64); 11] = [
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

/// Stores the modules that a tenant starts with.
pub async fn create_default_modules(transaction: &Transaction, tenant_id: i64) -> Result<()> {
    for (place, (code, name, kind)) in (1..).zip(DEFAULT_MODULES) {
        let module = Module {
            id: uuid::Uuid::new_v4().to_string(),
            name: name.to_owned(),
            icon: code.to_owned(),
            code: code.to_owned(),
            order_no: place,
            kind,
            sources: vec![format!("{}{code}", builtin::ID_PREFIX)],
            duplicates: Duplicates::Keep,
        };
        repo::modules::put(transaction, tenant_id, &module).await?;
    }
    Ok(())
}
