use serde_json::{Value, json};

use super::{
    answer::Answer,
    app::TestApp,
    caller::Caller,
    database::{SqlValue, write},
};

impl Answer {
    /// Expects HTTP 200 with this code and a message that contains `named`.
    #[track_caller]
    pub(crate) fn fails_in_business(self, code: u32, named: &str) -> Self {
        assert_eq!((self.status, &self.body["code"]), (200, &json!(code)), "{}", self.text);
        assert!(self.body["date"].as_i64().is_some_and(|date| date > 1_600_000_000_000), "{}", self.text);
        assert!(self.body["data"].is_null(), "{}", self.text);
        assert!(self.message().contains(named), "the message lacks {named:?}: {}", self.text);
        self
    }

    /// Expects a success with an epoch timestamp.
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
    let tenant = "(SELECT tenant_id FROM directories WHERE id = ?1)";
    let insert_file = format!(
        "INSERT INTO files (id, tenant_id, directory_id, name, name_key, extension, version, sha256, size, stored_bytes, \
           created_by, created_by_name, created_at, updated_at) \
         VALUES (?2, {tenant}, ?1, ?3, ?3, 'txt', 1, ?4, ?5, ?5, 'mei', 'mei', 1000, 2000)"
    );
    let insert_version = format!(
        "INSERT INTO file_versions (file_id, version, tenant_id, sha256, size, created_by, created_at) \
         VALUES (?2, 1, {tenant}, ?3, ?4, 'mei', 1000)"
    );
    let mut statements = Vec::new();
    for (number, &size) in sizes.iter().enumerate() {
        let (id, name) = (format!("{prefix}{number}-{folder}"), format!("{prefix}{number}.txt"));
        let hash = format!("{:0<64}", hex::encode(&name));
        let [id, name, hash] = [id, name, hash].map(SqlValue::from);
        let insert_blob = "INSERT INTO blobs (sha256, size, store, store_key, created_at) \
            VALUES (?1, ?2, 'local', ?1, 1) ON CONFLICT DO NOTHING";
        statements.push((insert_blob.to_owned(), vec![hash.clone(), size.into()]));
        let values = vec![folder.into(), id.clone(), name, hash.clone(), size.into()];
        statements.push((insert_file.clone(), values));
        statements.push((insert_version.clone(), vec![folder.into(), id, hash, size.into()]));
    }
    let sums = [
        format!("UPDATE tenants SET file_bytes = file_bytes + ?2 WHERE id = {tenant}"),
        "WITH RECURSIVE above (id, parent_id) AS (SELECT id, parent_id FROM directories WHERE id = ?1 \
           UNION ALL SELECT next.id, next.parent_id FROM above JOIN directories AS next ON next.id = above.parent_id) \
         UPDATE directories SET file_bytes = file_bytes + ?2 WHERE id IN (SELECT id FROM above WHERE parent_id IS NULL)"
            .to_owned(),
    ];
    let bytes: i64 = sizes.iter().sum();
    statements.extend(sums.map(|text| (text, vec![folder.into(), bytes.into()])));
    write(&app.app.store, statements, Vec::new()).await;
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
