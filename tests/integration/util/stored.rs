//! Rows of uploads and contents.

use serde_json::json;
use std::path::PathBuf;
use trawl::{
    blobs::{Download, Expected},
    identity::principals::user_principal,
    platform::folders::access::{FolderViewer, root_of},
    store::now_millis,
};

use super::{
    app::{Application, TestApp},
    items::user,
};

/// A late expiry, in epoch seconds.
pub(crate) const NEVER: i64 = 4_000_000_000;

#[derive(Clone, Debug)]
pub(crate) struct StoredFile {
    pub(crate) id: String,
    pub(crate) sha256: String,
    pub(crate) name: String,
    pub(crate) tenant_id: i64,
}

impl TestApp {
    pub(crate) fn files(&self) -> PathBuf {
        self.app.embedded.as_ref().unwrap().directory().to_owned()
    }

    /// Begins an upload, for a root if one is given.
    pub(crate) async fn upload(&self, of: &Application, user_id: &str, root_id: Option<&str>) -> String {
        let id = uuid::Uuid::now_v7().to_string();
        let values = vec![
            id.as_str().into(),
            of.tenant_id.into(),
            user_id.into(),
            root_id.map(str::to_owned).into(),
            now_millis().into(),
        ];
        let text = "INSERT INTO uploads (id, tenant_id, user_id, is_multipart, root_id, reserved_bytes, created_at) \
            VALUES (?, ?, ?, TRUE, ?, 0, ?)";
        self.execute_with(text, values).await;
        id
    }

    pub(crate) async fn part_address(&self, upload_id: &str, part_number: u32, most_bytes: u64) -> String {
        let expected = Expected { upload_id, part_number, most_bytes, expires_at: NEVER };
        let signed = self.app.blobs.sign_upload(expected).await.unwrap();
        assert_eq!((signed.method, signed.headers), ("PUT", None));
        signed.url
    }

    pub(crate) async fn root(&self, tenant_id: i64, user_id: &str) -> String {
        let user_id = user_id.to_owned();
        let job = self.app.store.write(move |transaction| {
            Box::pin(async move {
                let seer = FolderViewer { tenant_id, user_id: &user_id, principals: &[] };
                Ok(root_of(transaction, &seer, &user_principal(&user_id)).await?)
            })
        });
        job.await.unwrap()
    }

    /// Returns the SHA-256 of the content.
    pub(crate) async fn content(&self, of: &Application, user_id: &str, content: Vec<u8>) -> String {
        let upload = self.upload(of, user_id, None).await;
        let (address, size) = (self.part_address(&upload, 1, content.len() as u64).await, content.len());
        let sent = self.http.put(&address).body(content).send().await.unwrap();
        assert_eq!(sent.status(), 200);
        let parts = self.app.blobs.parts(&upload).await.unwrap();
        let composed = self.app.blobs.compose(&upload, &parts, None).await.unwrap();
        assert_eq!(composed.size, size as u64);
        let text = "INSERT INTO blobs (sha256, size, store, store_key, created_at) VALUES (?, ?, 'local', ?, ?) \
            ON CONFLICT DO NOTHING";
        let sha256 = composed.sha256.clone();
        let key = composed.store_key.clone();
        self.execute_with(
            text,
            vec![sha256.into(), i64::try_from(size).unwrap().into(), key.into(), now_millis().into()],
        )
        .await;
        self.app.blobs.keep(&upload, &composed).await.unwrap();
        self.execute_with("DELETE FROM uploads WHERE id = ?", vec![upload.as_str().into()]).await;
        self.app.blobs.discard(&upload).await.unwrap();
        composed.sha256
    }

    pub(crate) async fn file(
        &self,
        of: &Application,
        user_id: &str,
        name: &str,
        content: Vec<u8>,
    ) -> StoredFile {
        let size = i64::try_from(content.len()).unwrap();
        let sha256 = self.content(of, user_id, content).await;
        let root = self.root(of.tenant_id, user_id).await;
        let id = uuid::Uuid::now_v7().to_string();
        let values = vec![
            id.as_str().into(),
            of.tenant_id.into(),
            root.as_str().into(),
            name.into(),
            name.into(),
            sha256.as_str().into(),
            size.into(),
            size.into(),
            user_id.into(),
        ];
        let text = "INSERT INTO files (id, tenant_id, directory_id, name, name_key, extension, version, sha256, size, \
              stored_bytes, created_by, created_by_name, created_at, updated_at) \
            VALUES (?, ?, ?, ?, ?, '', 1, ?, ?, ?, ?, '', 1700000000000, 1700000000000)";
        self.execute_with(text, values).await;
        let text = "INSERT INTO file_versions (file_id, version, tenant_id, sha256, size, created_by, created_at) \
            SELECT id, version, tenant_id, sha256, size, created_by, created_at FROM files WHERE id = ?";
        self.execute_with(text, vec![id.as_str().into()]).await;
        self.execute_with(
            "UPDATE tenants SET file_bytes = file_bytes + ? WHERE id = ?",
            vec![size.into(), of.tenant_id.into()],
        )
        .await;
        self.execute_with(
            "UPDATE directories SET file_bytes = file_bytes + ? WHERE id = ?",
            vec![size.into(), root.into()],
        )
        .await;
        StoredFile { id, sha256, name: name.to_owned(), tenant_id: of.tenant_id }
    }

    pub(crate) async fn file_address(&self, file: &StoredFile, user_id: &str, expires_at: i64) -> String {
        let download = Download {
            file_id: file.id.clone(),
            version: 1,
            name: file.name.clone(),
            user_id: user_id.to_owned(),
            tenant_id: file.tenant_id,
            store_key: file.sha256.clone(),
            expires_at,
        };
        self.app.blobs.sign_download(&download).await.unwrap()
    }
}

pub(crate) async fn started() -> (TestApp, Application) {
    let (app, acme) = TestApp::start_with_acme().await;
    app.sync(&acme.caller, "users", &json!([user("mei", ""), user("lin", "")])).await;
    (app, acme)
}

pub(crate) fn bytes(count: usize) -> Vec<u8> {
    (0..count).map(|at| u8::try_from((at * 31 + at / 251 + (at >> 16) * 7) % 256).unwrap()).collect()
}
