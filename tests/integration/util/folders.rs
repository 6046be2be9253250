use serde_json::{Value, json};

use super::{answer::Answer, app::TestApp, caller::Caller, database::write};

impl Answer {
    /// HTTP 200 with this code and a message that contains `named` (decisions 2.2).
    #[track_caller]
    pub(crate) fn fails_in_business(self, code: u32, named: &str) -> Self {
        assert_eq!((self.status, &self.body["code"]), (200, &json!(code)), "{}", self.text);
        assert!(self.body["date"].as_i64().is_some_and(|date| date > 1_600_000_000_000), "{}", self.text);
        assert!(self.body["data"].is_null(), "{}", self.text);
        assert!(self.message().contains(named), "the message lacks {named:?}: {}", self.text);
        self
    }

    /// A success with an epoch timestamp (decisions 2.1).
    #[track_caller]
    pub(crate) fn ok_epoch(self) -> Self {
        assert!(self.body["date"].as_i64().is_some_and(|date| date > 1_600_000_000_000), "{}", self.text);
        self.ok()
    }

    #[track_caller]
    pub(crate) fn names(&self) -> Vec<&str> {
        self.items().iter().map(|item| item["name"].as_str().unwrap()).collect()
    }
}

pub(crate) async fn ask(caller: &Caller, operation: &str, body: Value) -> Answer {
    caller.post(&format!("/v1/directories/{operation}"), &body).await
}

pub(crate) async fn folder(caller: &Caller, parent_id: &str, name: &str) -> String {
    let made = ask(caller, "create", json!({"name": name, "parentId": parent_id})).await.ok_epoch();
    made.data()["id"].as_str().unwrap().to_owned()
}

pub(crate) async fn nested_folders(caller: &Caller) -> [String; 3] {
    let top = folder(caller, "", "Top").await;
    let middle = folder(caller, &top, "Middle").await;
    let bottom = folder(caller, &middle, "Bottom").await;
    [top, middle, bottom]
}

pub(crate) async fn give(caller: &Caller, folder: &str, role: &str, users: &[&str]) {
    let form = json!({"dirId": folder, "roleIds": [role], "authTarget": users, "targetType": 1});
    ask(caller, "authorize", form).await.ok_epoch();
}

pub(crate) async fn list(caller: &Caller, parent_id: &str) -> Answer {
    caller.get(&format!("/v1/directories/list?parentId={parent_id}")).await
}

pub(crate) async fn files(caller: &Caller, folder: &str) -> Answer {
    caller.get(&format!("/v1/directories/file/list?dirId={folder}")).await
}

/// Files `{prefix}0.txt`… of these sizes, with their byte counts.
pub(crate) async fn put_files(app: &TestApp, folder: &str, prefix: &str, sizes: &[i64]) {
    let rows: Vec<Value> = sizes.iter().enumerate().map(|(number, size)| {
        json!({"id": format!("{prefix}{number}-{folder}"), "name": format!("{prefix}{number}.txt"), "size": size})
    }).collect();
    let rows = Value::from(rows).to_string();
    let tenant = "(SELECT tenant_id FROM directories WHERE id = ?1)";
    let of = |field: &str| format!("json_extract(file.value, '$.{field}')");
    let (id, name, size) = (of("id"), of("name"), of("size"));
    let hash = format!("substr(hex({name}) || '{}', 1, 64)", "0".repeat(64));
    let texts = [
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
    ];
    let statements = texts.map(|text| (text, vec![folder.into(), rows.as_str().into()]));
    write(&app.app.store, statements.into(), Vec::new()).await;
}

pub(crate) fn allowed(folder: &Value) -> String {
    let permissions = folder["permissions"].as_object().unwrap();
    assert_eq!(permissions.len(), 11, "{folder}");
    let names =
        permissions.iter().filter(|(_, is_true)| is_true.as_bool().unwrap()).map(|(name, _)| name.as_str());
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    names.join(" ")
}
