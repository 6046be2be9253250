//! Folders over HTTP.

use serde_json::{Value, json};

use super::{answer::Answer, app::TestApp, caller::Caller};

impl Answer {
    /// A business failure: HTTP 200 with this code, a message that holds `named`, and nothing else (decisions 2.2).
    #[track_caller]
    pub(crate) fn refuses(self, code: u32, named: &str) -> Self {
        assert_eq!((self.status, &self.body["code"]), (200, &json!(code)), "{}", self.text);
        assert!(self.body["date"].as_i64().is_some_and(|date| date > 1_600_000_000_000), "{}", self.text);
        assert!(self.body["data"].is_null(), "{}", self.text);
        assert!(self.message().contains(named), "the message does not name {named:?}: {}", self.text);
        self
    }

    /// A success that tells the time as epoch milliseconds (decisions 2.1).
    #[track_caller]
    pub(crate) fn ok_timed(self) -> Self {
        assert!(self.body["date"].as_i64().is_some_and(|date| date > 1_600_000_000_000), "{}", self.text);
        self.ok()
    }

    /// The names of the elements of `data`.
    #[track_caller]
    pub(crate) fn names(&self) -> Vec<&str> {
        self.items().iter().map(|item| item["name"].as_str().unwrap()).collect()
    }
}

/// `POST /v1/directories/{operation}`.
pub(crate) async fn ask(caller: &Caller, operation: &str, body: Value) -> Answer {
    caller.post(&format!("/v1/directories/{operation}"), &body).await
}

/// Makes a folder in another one, or a first-level one of the caller's where there is none; answers its id.
pub(crate) async fn folder(caller: &Caller, parent_id: &str, name: &str) -> String {
    let made = ask(caller, "create", json!({"name": name, "parentId": parent_id})).await.ok_timed();
    made.data()["id"].as_str().unwrap().to_owned()
}

/// Gives users a right on a folder.
pub(crate) async fn give(caller: &Caller, folder: &str, role: &str, users: &[&str]) {
    let form = json!({"dirId": folder, "roleIds": [role], "authTarget": users, "targetType": 1});
    ask(caller, "authorize", form).await.ok_timed();
}

/// `GET /v1/directories/list` of a folder; of none, the uppermost ones.
pub(crate) async fn list(caller: &Caller, parent_id: &str) -> Answer {
    caller.get(&format!("/v1/directories/list?parentId={parent_id}")).await
}

/// `GET /v1/directories/file/list` of a folder.
pub(crate) async fn files(caller: &Caller, folder: &str) -> Answer {
    caller.get(&format!("/v1/directories/file/list?dirId={folder}")).await
}

/// Puts files of one version and of these sizes into a folder behind the server's back, `{prefix}0.txt` and so on, and counts their
/// bytes as commits do.
pub(crate) async fn put_files(app: &TestApp, folder: &str, prefix: &str, sizes: &[i64]) {
    let rows: Vec<Value> = sizes.iter().enumerate().map(|(number, size)| {
        json!({"id": format!("{prefix}{number}-{folder}"), "name": format!("{prefix}{number}.txt"), "size": size})
    }).collect();
    let (folder, rows) = (folder.to_owned(), Value::from(rows).to_string());
    let job = app.app.store.write(move |transaction| {
        use sea_orm::ConnectionTrait;
        use trawl::store::sql;
        Box::pin(async move {
            let tenant = "(SELECT tenant_id FROM directories WHERE id = ?1)";
            let of = |field: &str| format!("json_extract(file.value, '$.{field}')");
            let (id, name, size) = (of("id"), of("name"), of("size"));
            let hash = format!("substr(hex({name}) || '{}', 1, 64)", "0".repeat(64));
            for text in [
                format!(
                    "INSERT OR IGNORE INTO blobs (sha256, size, store, store_key, created_at) \
                     SELECT {hash}, {size}, 'local', {hash}, 1 FROM json_each(?2) AS file WHERE ?1 <> ''"
                ),
                format!(
                    "INSERT INTO files (id, tenant_id, directory_id, name, name_key, extension, version, sha256, size, stored_bytes, \
                       created_by, created_by_name, created_at, updated_at) \
                     SELECT {id}, {tenant}, ?1, {name}, {name}, 'txt', 1, {hash}, {size}, {size}, 'mei', 'mei', 1000, 2000 \
                     FROM json_each(?2) AS file"
                ),
                format!(
                    "INSERT INTO file_versions (file_id, version, tenant_id, sha256, size, created_by, created_at) \
                     SELECT {id}, 1, {tenant}, {hash}, {size}, 'mei', 1000 FROM json_each(?2) AS file"
                ),
                format!(
                    "UPDATE tenants SET file_bytes = file_bytes + (SELECT SUM({size}) FROM json_each(?2) AS file) WHERE id = {tenant}"
                ),
                format!(
                    "WITH RECURSIVE above (id, parent_id) AS (SELECT id, parent_id FROM directories WHERE id = ?1 \
                       UNION ALL SELECT next.id, next.parent_id FROM above JOIN directories AS next ON next.id = above.parent_id) \
                     UPDATE directories SET file_bytes = file_bytes + (SELECT SUM({size}) FROM json_each(?2) AS file) \
                     WHERE id IN (SELECT id FROM above WHERE parent_id IS NULL)"
                ),
            ] {
                transaction.execute_raw(sql(text, [folder.as_str().into(), rows.as_str().into()])).await?;
            }
            Ok(())
        })
    });
    job.await.unwrap();
}

/// The number that this query answers.
pub(crate) async fn number(app: &TestApp, query: &str) -> i64 {
    use sea_orm::ConnectionTrait;
    let row = app.app.store.reader().query_one_raw(trawl::store::sql(query, [])).await.unwrap();
    row.unwrap().try_get_by_index(0).unwrap()
}

/// The text that this query answers.
pub(crate) async fn text(app: &TestApp, query: &str) -> String {
    use sea_orm::ConnectionTrait;
    let row = app.app.store.reader().query_one_raw(trawl::store::sql(query, [])).await.unwrap();
    row.unwrap().try_get_by_index(0).unwrap()
}

/// Every permission that a folder gives, in one line.
pub(crate) fn allowed(folder: &Value) -> String {
    let permissions = folder["permissions"].as_object().unwrap();
    assert_eq!(permissions.len(), 11, "{folder}");
    let names =
        permissions.iter().filter(|(_, is_true)| is_true.as_bool().unwrap()).map(|(name, _)| name.as_str());
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    names.join(" ")
}
