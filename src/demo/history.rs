//! Times of rows whose interface states none.

use crate::{
    error::Result,
    platform::{
        departments::documents::DEPARTMENT,
        favorites::rules::FAVORITE,
        files::FILE,
        groups::documents::GROUP,
        robots::documents::MESSAGE,
        tasks::documents::{DONE, TODO},
        users::documents::PEOPLE,
    },
    store::{Store, sql},
};

/// A kind of row, and the statement that changes its time.
pub(super) struct RowKind {
    module: &'static str,
    /// Takes time, tenant and key; returns the id of the document.
    update: &'static str,
}

impl RowKind {
    const fn new(module: &'static str, update: &'static str) -> Self {
        Self { module, update }
    }
}

pub(super) const DEPARTMENTS: RowKind = RowKind::new(
    DEPARTMENT,
    "UPDATE organizations SET created_at = ?1 WHERE tenant_id = ?2 AND org_id = ?3 RETURNING org_id",
);

pub(super) const USERS: RowKind = RowKind::new(
    PEOPLE,
    "UPDATE users SET created_at = ?1 WHERE tenant_id = ?2 AND user_id = ?3 RETURNING user_id",
);

pub(super) const TODOS: RowKind = RowKind::new(
    TODO,
    "UPDATE tasks SET created_at = ?1 WHERE tenant_id = ?2 AND app_task_id = ?3 RETURNING id",
);

pub(super) const DONE_ITEMS: RowKind = RowKind::new(
    DONE,
    "UPDATE tasks SET created_at = ?1, ended_at = ?1 WHERE tenant_id = ?2 AND app_task_id = ?3 RETURNING id",
);

pub(super) const FAVORITES: RowKind = RowKind::new(
    FAVORITE,
    "UPDATE favorites SET created_at = ?1 WHERE tenant_id = ?2 AND item_id = ?3 RETURNING id",
);

pub(super) const GROUPS: RowKind =
    RowKind::new(GROUP, "UPDATE groups SET created_at = ?1 WHERE tenant_id = ?2 AND id = ?3 RETURNING id");

pub(super) const MESSAGES: RowKind = RowKind::new(
    MESSAGE,
    "UPDATE messages SET created_at = ?1 WHERE tenant_id = ?2 AND id = ?3 RETURNING id",
);

pub(super) const FILES: RowKind = RowKind::new(
    FILE,
    "UPDATE files SET created_at = ?1, updated_at = ?1 WHERE tenant_id = ?2 AND id = ?3 RETURNING id",
);

pub(super) const FILE_VERSIONS: RowKind = RowKind::new(
    FILE,
    "UPDATE file_versions SET created_at = ?1 WHERE tenant_id = ?2 AND file_id = ?3 RETURNING file_id",
);

/// A stored row, and the time at which it began in the story.
pub(super) struct PastRow {
    pub(super) kind: &'static RowKind,
    pub(super) key: String,
    pub(super) time: i64,
}

/// Moves the rows to their times, and records each as changed.
pub(super) async fn move_rows(store: &Store, tenant_id: i64, rows: Vec<PastRow>) -> Result<()> {
    let job = store.write_for(tenant_id, move |transaction| {
        Box::pin(async move {
            for PastRow { kind, key, time } in rows {
                let statement = sql(kind.update, [time.into(), tenant_id.into(), key.into()]);
                for id in statement.fetch_values::<String>(transaction).await? {
                    transaction.record_change(tenant_id, kind.module, &id);
                }
            }
            Ok(())
        })
    });
    job.await
}
