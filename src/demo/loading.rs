//! Loads the sample content through the interfaces of applications and people.

use std::collections::{BTreeSet, HashMap};

use futures::future::{try_join_all, try_join3};
use reqwest::Method;
use secrecy::SecretString;
use serde_json::{Value, json};

use super::{
    DemoError, PEOPLE_WITH_PASSWORD, PERSON,
    client::DemoClient,
    content::{
        Aged, AgedObjects, DemoFile, DemoFolder, DemoGroup, JsonObject, read, users, with_display_times,
    },
    history::{
        DEPARTMENTS, DONE_ITEMS, FAVORITES, FILE_VERSIONS, FILES, GROUPS, MESSAGES, PastRow, RowKind, TODOS,
        USERS,
    },
};

/// Sends everything; returns rows whose time is to be moved back.
pub(super) async fn load(
    server: &DemoClient,
    password: &SecretString,
    now: i64,
) -> Result<Vec<PastRow>, DemoError> {
    let loader = DemoLoader { server, now };
    let token = server.token(None).await?;
    let departments = read(include_str!("data/departments.jsonl"))?;
    server.send(Method::PUT, "/v1/organizations/sync", &token, &objects(&departments)).await?;
    let users = users(&PEOPLE_WITH_PASSWORD, password)?;
    server.send(Method::PUT, "/v1/users/sync", &token, &objects(&users)).await?;
    let articles = with_display_times(include_str!("data/articles.jsonl"), now)?;
    server.send(Method::PUT, "/v1/contents/article", &token, &articles).await?;
    let feeds = with_display_times(include_str!("data/feeds.jsonl"), now)?;
    server.send(Method::PUT, "/v1/contents/feed", &token, &feeds).await?;
    let todos = read(include_str!("data/todos.jsonl"))?;
    server.send(Method::POST, "/api/todo/batch_create", &token, &objects(&todos)).await?;
    let done_items = read(include_str!("data/done.jsonl"))?;
    server.send(Method::POST, "/api/done/batch_create", &token, &objects(&done_items)).await?;

    let groups: Vec<Aged<DemoGroup>> = read(include_str!("data/groups.jsonl"))?;
    let folders: Vec<DemoFolder> = read(include_str!("data/folders.jsonl"))?;
    let of_groups = groups.iter().map(|group| group.row.owner.as_str());
    let owners = of_groups.chain(folders.iter().map(|folder| folder.owner.as_str())).chain([PERSON]);
    let owners: BTreeSet<&str> = owners.collect();
    let tokens =
        owners.into_iter().map(async |login| Ok::<_, DemoError>((login, server.token(Some(login)).await?)));
    let tokens: HashMap<&str, SecretString> = try_join_all(tokens).await?.into_iter().collect();
    let token_of = |login: &str| {
        tokens
            .get(login)
            .ok_or_else(|| DemoError::Content(format!("{login} owns something but has no token")))
    };
    let groups =
        groups.iter().map(async |group| loader.create_group(token_of(&group.row.owner)?, group).await);
    let folders =
        folders.iter().map(async |folder| loader.create_folder(token_of(&folder.owner)?, folder).await);
    let (favorites, groups, folders) =
        try_join3(loader.add_favorites(token_of(PERSON)?), try_join_all(groups), try_join_all(folders))
            .await?;

    let sent = [
        (&DEPARTMENTS, &departments, "orgId"),
        (&USERS, &users, "userId"),
        (&TODOS, &todos, "appTaskId"),
        (&DONE_ITEMS, &done_items, "appTaskId"),
        (&FAVORITES, &favorites, "itemId"),
    ];
    let sent = sent
        .into_iter()
        .flat_map(|(kind, rows, key)| rows.iter().map(move |aged| loader.past(kind, &aged.row[key], aged)));
    Ok(sent.chain(groups.into_iter().flatten()).chain(folders.into_iter().flatten()).collect())
}

fn objects(rows: &AgedObjects) -> Vec<&JsonObject> {
    rows.iter().map(|aged| &aged.row).collect()
}

#[derive(Clone, Copy)]
struct DemoLoader<'a> {
    server: &'a DemoClient,
    now: i64,
}

impl DemoLoader<'_> {
    fn past<T>(self, kind: &'static RowKind, key: &Value, aged: &Aged<T>) -> PastRow {
        let key = key.as_str().unwrap_or_default().to_owned();
        PastRow { kind, key, time: aged.time(self.now) }
    }

    async fn add_favorites(self, token: &SecretString) -> Result<AgedObjects, DemoError> {
        let favorites: AgedObjects = read(include_str!("data/favorites.jsonl"))?;
        for favorite in &favorites {
            self.server.post("/v1/favorites", token, &favorite.row).await?;
        }
        Ok(favorites)
    }

    async fn create_group(
        self,
        token: &SecretString,
        group: &Aged<DemoGroup>,
    ) -> Result<Vec<PastRow>, DemoError> {
        let DemoGroup { form, robot, messages, .. } = &group.row;
        let id = self.server.post("/v1/groups", token, form).await?;
        let path = format!("/v1/groups/{}/robots", id.as_str().unwrap_or_default());
        let robot = self.server.post(&path, token, &json!({ "name": robot })).await?;
        let hook =
            format!("/notificationapi/hook/send?token={}", robot["token"].as_str().unwrap_or_default());
        let mut past = vec![self.past(&GROUPS, &id, group)];
        for message in messages {
            let sent = self.server.call(Method::POST, &hook, None, &message.row).await?;
            past.push(self.past(&MESSAGES, &sent["id"], message));
        }
        Ok(past)
    }

    async fn create_folder(
        self,
        token: &SecretString,
        folder: &DemoFolder,
    ) -> Result<Vec<PastRow>, DemoError> {
        let created =
            self.server.post("/v1/directories/create", token, &json!({ "name": folder.name })).await?;
        let directory_id = &created["id"];
        if !folder.readers.is_empty() {
            let form = json!({
                "dirId": directory_id, "roleIds": ["downloader"], "authTarget": folder.readers, "targetType": 2,
            });
            self.server.post("/v1/directories/authorize", token, &form).await?;
        }
        let files = folder.files.iter().map(|file| self.upload(token, directory_id, file));
        Ok(try_join_all(files).await?.into_iter().flatten().collect())
    }

    async fn upload(
        self,
        token: &SecretString,
        directory_id: &Value,
        file: &Aged<DemoFile>,
    ) -> Result<[PastRow; 2], DemoError> {
        let DemoFile { name, content } = &file.row;
        let form = json!({ "fileName": name, "fileSize": content.len() });
        let signed = self.server.post("/v1/stream/upload", token, &form).await?;
        self.server.put(signed["url"].as_str().unwrap_or_default(), content.clone()).await?;
        let form = json!({
            "uploadId": signed["uploadId"], "dirId": directory_id, "fileName": name, "fileSize": content.len(),
        });
        let created = self.server.post("/v1/stream/upload/commit", token, &form).await?;
        Ok([&FILES, &FILE_VERSIONS].map(|kind| self.past(kind, &created["id"], file)))
    }
}
