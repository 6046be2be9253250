//! Documents of all areas, by the module that they are found in.

use trawl_engine::Document;

use crate::{
    auth::tenants,
    error::Result,
    platform::{
        contents, departments, favorites, files, groups, robots,
        shared::{
            connections::Connections,
            documents::{DocumentRows, Selection},
        },
        tasks, users,
    },
    store::{Connection, Store, sql},
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

    /// The rows of which its documents are made.
    const fn rows(self) -> DocumentRows {
        match self {
            Self::Departments => departments::documents::ROWS,
            Self::People => users::documents::ROWS,
            Self::Contents => contents::documents::ROWS,
            Self::Tasks => tasks::documents::ROWS,
            Self::Favorites => favorites::documents::ROWS,
            Self::Groups => groups::documents::ROWS,
            Self::Messages => robots::documents::ROWS,
            Self::Files => files::documents::ROWS,
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
        self.read(reader, public_url, Selection::Items { tenant_id, module, ids }).await
    }

    async fn read(
        self,
        reader: &Connection,
        public_url: &str,
        selection: Selection<'_>,
    ) -> Result<Vec<Document>> {
        match self {
            Self::Departments => departments::documents::read(reader, selection).await,
            Self::People => users::documents::read(reader, public_url, selection).await,
            Self::Contents => contents::documents::read(reader, selection).await,
            Self::Tasks => tasks::documents::read(reader, selection).await,
            Self::Favorites => favorites::documents::read(reader, selection).await,
            Self::Groups => groups::documents::read(reader, selection).await,
            Self::Messages => robots::documents::read(reader, selection).await,
            Self::Files => files::documents::read(reader, selection).await,
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
        match self {
            Self::Tasks => tasks::documents::count(store.index_reader()).await,
            // All their rows have documents; the database counts them without the joins.
            Self::Contents | Self::Files => {
                let text = format!("SELECT COUNT(*) AS found FROM {}", self.rows().table);
                Ok(sql(text, []).count(store.index_reader()).await?)
            }
            _ => Ok(self.rows().count(store.index_reader()).await?),
        }
    }

    /// Some documents after `sequence`, and the last sequence.
    pub async fn scan(
        self,
        reader: &Connection,
        public_url: &str,
        sequence: i64,
    ) -> Result<Option<(Vec<Document>, i64)>> {
        let limit = if self == Self::Files { files::documents::AT_A_TIME as u64 } else { SCAN_ROWS };
        let Some(last) = self.rows().batch_end(reader, sequence, limit).await? else { return Ok(None) };
        let mut documents = self.read(reader, public_url, Selection::Sequences(sequence, last)).await?;
        // Tenants removed after this check have an entry in the log, which is followed later.
        let removed = tenants::removed(reader).await?;
        documents.retain(|document| removed.binary_search(&document.scope.tenant).is_err());
        Ok(Some((documents, last)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        platform::contents::forms::owning_endpoint,
        registry::modules::DEFAULT_MODULES,
        store::{ROWS_PER_STATEMENT, tests::plan_of_find},
    };

    /// Otherwise `PUT /v1/contents/CODE` would store items that no search finds.
    #[test]
    fn modules_of_other_areas_refuse_contents() {
        for (code, ..) in DEFAULT_MODULES {
            assert_eq!(Area::of(code) != Area::Contents, owning_endpoint(code).is_some(), "{code}");
        }
    }

    /// A unary plus keeps SQLite from an index of the tenant.
    #[tokio::test]
    async fn many_items_are_found_by_their_ids() {
        let by_id = Area::ALL.map(Area::rows).into_iter().filter(|rows| rows.tenant.starts_with('+'));
        for rows in by_id {
            for count in [1, 2, 30, ROWS_PER_STATEMENT] {
                let plan = plan_of_find(&rows.select_items(), &[1.into()], count).await;
                let first = plan.first().unwrap();
                let start = format!("SEARCH {} USING INDEX", rows.table);
                assert!(first.starts_with(&start) && first.ends_with("(id=?)"), "{count}: {plan:?}");
            }
        }
    }
}
