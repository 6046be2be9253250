//! Subscriptions as operators make and run them.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, ConnectOptions, Executor};
use sqlx_sqlite::SqliteConnectOptions;

use super::{app::TestApp, caller::Caller, eventually};

pub(crate) const SUBSCRIPTIONS: &str = "/admin/v1/subscriptions";

pub(crate) fn feed(id: &str, url: &str) -> Value {
    json!({"id": id, "name": id, "module": "article", "feed": {"url": url}})
}

/// Writes a file of SQLite with views of id, title and version.
pub(crate) async fn write_views(folder: &Path, views: &[(&str, &str)]) -> PathBuf {
    fs::create_dir(folder).unwrap();
    let file = folder.join("notes.db");
    let options = SqliteConnectOptions::new().filename(&file).create_if_missing(true);
    let mut database = options.connect().await.unwrap();
    for (name, columns) in views {
        let view = format!("CREATE VIEW {name} (id, title, version) AS {columns}");
        database.execute(AssertSqlSafe(view)).await.unwrap();
    }
    file
}

pub(crate) fn form_of_view(file: &Path, view: &str) -> Value {
    let sql = json!({
        "address": format!("sqlite:{}", file.display()), "cursorColumn": "version",
        "query": format!("SELECT id, title, version FROM {view}"),
    });
    json!({"id": view, "name": view, "module": "article", "sql": sql})
}

/// Counts of the last run.
pub(crate) fn counts(shown: &Value) -> Value {
    let run = &shown["lastRun"];
    json!([run["outcome"], run["received"], run["added"], run["changed"], run["removed"], run["refused"]])
}

impl Caller {
    /// Subscribes as an operator; waits for the first run.
    pub(crate) async fn subscribe(&self, form: &Value) -> Value {
        self.post(SUBSCRIPTIONS, form).await.ok();
        self.wait_for_runs(form["id"].as_str().unwrap(), 1).await
    }

    /// Starts a run as an operator; waits for its end.
    pub(crate) async fn run_subscription(&self, id: &str) -> Value {
        let asked = self.post_empty(&format!("{SUBSCRIPTIONS}/{id}/run")).await.ok();
        self.wait_for_runs(id, asked.data()["runs"].as_u64().unwrap() + 1).await
    }

    /// Replaces a subscription as an operator; waits for the run that follows.
    pub(crate) async fn replace_subscription(&self, form: &Value) -> Value {
        let id = form["id"].as_str().unwrap();
        let replaced = self.put(&format!("{SUBSCRIPTIONS}/{id}"), form).await.ok();
        self.wait_for_runs(id, replaced.data()["runs"].as_u64().unwrap() + 1).await
    }

    /// Reads a subscription as an operator.
    pub(crate) async fn subscription(&self, id: &str) -> Value {
        self.get(&format!("{SUBSCRIPTIONS}/{id}")).await.ok().data().clone()
    }

    pub(crate) async fn wait_for_runs(&self, id: &str, runs: u64) -> Value {
        eventually("a run of a subscription", async || {
            let shown = self.subscription(id).await;
            (shown["runs"].as_u64().unwrap() >= runs).then_some(shown)
        })
        .await
    }
}

impl TestApp {
    /// Titles of all items with this word, by a search.
    pub(crate) async fn titles(&self, caller: &Caller, keyword: &str) -> Vec<String> {
        self.wait_for_index().await;
        let parameters = [("moduleId", "article"), ("keyword", keyword), ("limit", "1000")];
        let answer = caller.search(&parameters).await.ok();
        let mut titles: Vec<String> =
            answer.items().iter().map(|item| item["title"].as_str().unwrap().to_owned()).collect();
        titles.sort();
        titles
    }
}
