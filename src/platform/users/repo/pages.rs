//! Pages of changed users, and pictures.

use crate::{
    platform::{
        shared::{directory_rows::DirectoryRow, patch::ChangesAfter},
        users::{forms::UserRead, picture::public_address, rules::StoredUser},
    },
    store::{self, Connection, FromRow, sql},
};

#[derive(Debug, FromRow)]
struct ListedUser {
    #[sqlx(flatten)]
    user: StoredUser,
    platform_org_id: Option<String>,
    work_status: Option<String>,
    updated_at: i64,
}

/// Returns changed users, oldest first; reads one index range.
pub(crate) async fn changed_users(
    reader: &Connection,
    tenant_id: i64,
    changes: ChangesAfter,
    kind: Option<i64>,
    public_url: &str,
) -> store::Result<Vec<UserRead>> {
    let mut values = vec![tenant_id.into(), changes.cursor.into()];
    values.extend(kind.map(Into::into));
    values.push(changes.limit.into());
    let rows = sql(page_query(kind.is_some()), values).fetch_all::<ListedUser>(reader).await?;
    Ok(rows.into_iter().map(|row| row.into_read(public_url)).collect())
}

fn page_query(of_a_kind: bool) -> String {
    // Password hashes stay in the database.
    let columns = StoredUser::COLUMNS.iter().map(|column| match *column {
        "password_hash" => "NULL AS password_hash".to_owned(),
        column => format!("users.{column}"),
    });
    let columns: Vec<String> = columns.collect();
    format!(
        "SELECT {}, users.work_status, users.updated_at, organizations.platform_org_id FROM users \
         LEFT JOIN organizations ON organizations.tenant_id = users.tenant_id AND organizations.org_id = users.org_id \
         WHERE users.tenant_id = ? AND users.updated_at > ?{} ORDER BY users.updated_at LIMIT ?",
        columns.join(", "),
        if of_a_kind { " AND users.type = ?" } else { "" }
    )
}

/// A person's stored avatar; see [`public_address`].
pub async fn find_avatar(
    reader: &Connection,
    tenant_id: i64,
    user_id: &str,
) -> store::Result<Option<String>> {
    let statement = sql(
        "SELECT picture FROM users WHERE tenant_id = ? AND user_id = ? AND picture <> ''",
        [tenant_id.into(), user_id.into()],
    );
    statement.fetch_optional_value(reader).await
}

/// Content type and bytes of a picture whose tenant is active.
pub(crate) async fn find_picture(reader: &Connection, id: &str) -> store::Result<Option<(String, Vec<u8>)>> {
    let statement = sql(
        "SELECT content_type, content FROM pictures JOIN tenants ON tenants.id = pictures.tenant_id \
         WHERE pictures.id = ? AND tenants.removed_at IS NULL AND NOT tenants.is_frozen",
        [id.into()],
    );
    statement.fetch_optional(reader).await
}

impl ListedUser {
    fn into_read(self, public_url: &str) -> UserRead {
        let Self { user, platform_org_id, work_status, updated_at } = self;
        let details = user.details.0;
        UserRead {
            user_id: user.user_id,
            platform_user_id: user.platform_user_id,
            user_num: details.user_num,
            login_id: user.login_id,
            name: user.name,
            full_name: details.full_name,
            sex: user.sex,
            mobile: user.mobile,
            email: details.email,
            telephone: details.telephone,
            home_telephone: details.home_telephone,
            address: details.address,
            birthday: details.birthday,
            description: details.description,
            post_description: details.post_description,
            picture: user.picture.map(|picture| public_address(public_url, &picture)),
            kind: user.kind,
            org_id: user.org_id,
            platform_org_id,
            deputy_org_ids: user.deputy_org_ids.0,
            password: (),
            order_no: user.order_no,
            secret_level: user.secret_level,
            status: user.status,
            work_status,
            is_hidden: user.is_hidden,
            is_deleted: user.is_deleted,
            hidden: user.is_hidden,
            deleted: user.is_deleted,
            extend_fields: details.extend_fields,
            last_updated_date: updated_at.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::store::{Store, sql, tests::query_plan};

    /// Cost depends on page size only.
    #[tokio::test]
    async fn page_is_one_index_range() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path(), 1).await.unwrap();
        for (of_a_kind, index) in
            [(false, "tenant_id=? AND updated_at>?"), (true, "tenant_id=? AND type=? AND updated_at>?")]
        {
            let text = super::page_query(of_a_kind);
            let values = vec![1.into(); if of_a_kind { 4 } else { 3 }];
            let plan = query_plan(store.reader(), sql(text, values)).await.join("; ");
            assert!(plan.contains(index) && !plan.contains("TEMP B-TREE"), "{plan}");
        }
        store.close().await.unwrap();
    }
}
