//! Documents of all areas, by the module that they are found in.

use trawl_engine::Document;

use crate::{
    auth::tenants,
    error::Result,
    platform::{
        contents, departments, favorites, files, groups, robots, shared::connections::Connections, tasks,
        users,
    },
    store::{Connection, Store},
};

const SCAN_ROWS: u64 = 1_000;

/// An area whose items are found by search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Area {
    /// Departments.
    Departments,
    /// People.
    People,
    /// Items of `PUT /v1/contents`.
    Contents,
    /// To-dos and done tasks.
    Tasks,
    /// Favorites.
    Favorites,
    /// Groups.
    Groups,
    /// Messages of robots.
    Messages,
    /// Files.
    Files,
}

impl Area {
    /// All of them, in the order of a rebuild.
    pub const ALL: [Self; 8] = [
        Self::Departments,
        Self::People,
        Self::Contents,
        Self::Tasks,
        Self::Favorites,
        Self::Groups,
        Self::Messages,
        Self::Files,
    ];

    /// The area of a module code.
    pub fn of(module: &str) -> Self {
        match module {
            departments::documents::DEPARTMENT => Self::Departments,
            users::documents::PEOPLE => Self::People,
            tasks::documents::TODO | tasks::documents::DONE => Self::Tasks,
            favorites::documents::FAVORITE => Self::Favorites,
            groups::documents::GROUP => Self::Groups,
            robots::documents::MESSAGE => Self::Messages,
            files::FILE => Self::Files,
            _ => Self::Contents,
        }
    }

    /// Documents of the existing items with these ids.
    pub async fn find(
        self,
        reader: &Connection,
        public_url: &str,
        tenant_id: i64,
        module: &str,
        ids: &[String],
    ) -> Result<Vec<Document>> {
        match self {
            Self::Departments => departments::documents::find(reader, tenant_id, ids).await,
            Self::People => users::documents::find(reader, public_url, tenant_id, ids).await,
            Self::Contents => contents::documents::find(reader, tenant_id, module, ids).await,
            Self::Tasks => tasks::documents::find(reader, tenant_id, ids).await,
            Self::Favorites => favorites::documents::find(reader, tenant_id, ids).await,
            Self::Groups => groups::documents::find(reader, tenant_id, ids).await,
            Self::Messages => robots::documents::find(reader, tenant_id, ids).await,
            Self::Files => files::documents::find(reader, tenant_id, ids).await,
        }
    }

    /// People and items around an item.
    pub async fn connections(self, reader: &Connection, tenant_id: i64, id: &str) -> Result<Connections> {
        match self {
            Self::Departments => {
                let found = departments::connections::find(reader, tenant_id, id).await?;
                let people = users::connections::of_department(reader, tenant_id, id).await?;
                Ok(Connections { people, ..found })
            }
            Self::People => users::connections::find(reader, tenant_id, id).await,
            Self::Tasks => tasks::connections::find(reader, tenant_id, id).await,
            Self::Groups => {
                let found = groups::connections::find(reader, tenant_id, id).await?;
                Ok(Connections { related: robots::connections::of_group(reader, id).await?, ..found })
            }
            Self::Messages => robots::connections::find(reader, id).await,
            Self::Files => files::connections::find(reader, tenant_id, id).await,
            Self::Contents | Self::Favorites => Ok(Connections::default()),
        }
    }

    /// Its name in notes of a rebuild.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Departments => "departments",
            Self::People => "people",
            Self::Contents => "contents",
            Self::Tasks => "tasks",
            Self::Favorites => "favorites",
            Self::Groups => "groups",
            Self::Messages => "messages",
            Self::Files => "files",
        }
    }

    /// Items in a full scan.
    pub async fn count(self, store: &Store) -> Result<u64> {
        let count = match self {
            Self::Departments => departments::documents::count(store.index_reader()).await?,
            Self::People => users::documents::count(store.index_reader()).await?,
            Self::Contents => contents::documents::count(store.index_reader()).await?,
            Self::Tasks => tasks::documents::count(store.index_reader()).await?,
            Self::Favorites => favorites::documents::count(store.index_reader()).await?,
            Self::Groups => groups::documents::count(store.index_reader()).await?,
            Self::Messages => robots::documents::count(store.index_reader()).await?,
            Self::Files => files::documents::count(store.index_reader()).await?,
        };
        Ok(u64::try_from(count).unwrap_or_default())
    }

    /// Some documents after `sequence`, and the last sequence.
    pub async fn scan(
        self,
        reader: &Connection,
        public_url: &str,
        sequence: i64,
    ) -> Result<Option<(Vec<Document>, i64)>> {
        let scanned = match self {
            Self::Departments => departments::documents::scan(reader, sequence, SCAN_ROWS).await?,
            Self::People => users::documents::scan(reader, public_url, sequence, SCAN_ROWS).await?,
            Self::Contents => contents::documents::scan(reader, sequence, SCAN_ROWS).await?,
            Self::Tasks => tasks::documents::scan(reader, sequence, SCAN_ROWS).await?,
            Self::Favorites => favorites::documents::scan(reader, sequence, SCAN_ROWS).await?,
            Self::Groups => groups::documents::scan(reader, sequence, SCAN_ROWS).await?,
            Self::Messages => robots::documents::scan(reader, sequence, SCAN_ROWS).await?,
            Self::Files => {
                files::documents::scan(reader, sequence, files::documents::AT_A_TIME as u64).await?
            }
        };
        let Some((mut documents, last)) = scanned else { return Ok(None) };
        // Tenants removed after this check have an entry in the log, which is followed later.
        let removed = tenants::removed(reader).await?;
        documents.retain(|document| removed.binary_search(&document.scope.tenant).is_err());
        Ok(Some((documents, last)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{platform::contents::forms::owning_endpoint, registry::modules::DEFAULT_MODULES};

    /// Otherwise `PUT /v1/contents/CODE` would store items that no search finds.
    #[test]
    fn modules_of_other_areas_refuse_contents() {
        for (code, ..) in DEFAULT_MODULES {
            assert_eq!(Area::of(code) != Area::Contents, owning_endpoint(code).is_some(), "{code}");
        }
    }
}
