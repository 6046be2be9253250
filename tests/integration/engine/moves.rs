//! Moves between engines while the server runs, by the command line.

use serde_json::{Value, json};

use crate::util::{
    caller::Caller,
    eventually,
    items::{NEW_YEAR, item, many},
    opensearch::{self, environment_of, on_node},
    program::{Server, create_application, create_operator, run, text, trawl},
};

const ITEMS: usize = 3_000;

async fn index(server: &Server, operator: &Value, arguments: &[&str]) -> (i32, Value, String) {
    let mut command = trawl(&["index"]);
    command.args(arguments).args(["--json", "--server", &server.base]);
    command.args(["--client-id", operator["clientId"].as_str().unwrap()]);
    command.env("TRAWL_CLIENT_SECRET", operator["clientSecret"].as_str().unwrap());
    let output = run(command).await;
    let state = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
    (output.status.code().unwrap(), state, text(&output.stderr).to_owned())
}

/// `None` while the index is behind, or late.
async fn total(caller: &Caller) -> Option<u64> {
    let answer = caller.search(&[("moduleId", "article"), ("keyword", "harbour")]).await;
    if answer.status != 200 || answer.text.contains("the index is behind") {
        return None;
    }
    assert_eq!(answer.body["partial"], false, "{}", answer.text);
    Some(answer.total())
}

async fn wait_for_total(caller: &Caller, expected: usize) {
    eventually("all items", async || (total(caller).await == Some(expected as u64)).then_some(())).await;
}

#[tokio::test]
async fn index_moves_to_opensearch_and_back_while_searches_stay_complete() {
    let Some(_) = opensearch::node() else { return };
    let directory = tempfile::tempdir().unwrap();
    let mut engine = on_node(directory.path());
    engine.kind = trawl::config::EngineKind::Tantivy;
    let server = Server::launch_by(directory.path(), "127.0.0.1:0", environment_of(&engine), &[]).await;
    server.wait_until_ready().await;
    let application = create_application(directory.path(), "acme").await;
    let operator = create_operator(directory.path(), "acme").await;
    let acme = server.caller(&application).await;
    for batch in many("i", "harbour", ITEMS, 7).chunks(1_000) {
        acme.put("/v1/contents/article", &Value::from(batch)).await.ok();
    }
    wait_for_total(&acme, ITEMS).await;
    let (code, state, _) = index(&server, &operator, &["status"]).await;
    assert_eq!((code, &state["engine"]["kind"], &state["documents"]), (0, &"tantivy".into(), &ITEMS.into()));

    let mut written = ITEMS;
    for to in ["opensearch", "tantivy"] {
        let arguments = ["move", "--to", to];
        let moving = index(&server, &operator, &arguments);
        tokio::pin!(moving);
        let (code, state, said) = loop {
            tokio::select! {
                moved = &mut moving => break moved,
                () = write(&acme, &mut written) => {}
            }
        };
        assert_eq!(code, 0, "{said}");
        assert_eq!((&state["engine"]["kind"], &state["moving"]), (&to.into(), &Value::Null));
        assert!(said.contains(&format!("engine.kind = \"{to}\"")), "{said}");
        write(&acme, &mut written).await;
        let (code, _, said) = index(&server, &operator, &["move", "--to", to]).await;
        assert_eq!(code, 1);
        assert!(said.contains("answers searches already"), "{said}");
        let (code, state, _) = index(&server, &operator, &["rebuild"]).await;
        assert_eq!((code, &state["documents"]), (0, &written.into()));
        wait_for_total(&acme, written).await;
    }
}

/// One item, which is found, and with it all that were found before.
async fn write(acme: &Caller, written: &mut usize) {
    let item = item(&format!("w{written:05}"), "harbour", NEW_YEAR);
    acme.put("/v1/contents/article", &json!([item])).await.ok();
    *written += 1;
    wait_for_total(acme, *written).await;
}

#[tokio::test]
async fn move_without_a_cluster_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::launch_by(directory.path(), "127.0.0.1:0", Vec::new(), &[]).await;
    server.wait_until_ready().await;
    let operator = create_operator(directory.path(), "acme").await;
    let (code, _, said) = index(&server, &operator, &["move", "--to", "opensearch"]).await;
    assert_eq!(code, 1);
    assert!(said.contains("engine.opensearch.urls is not set"), "{said}");
    let (code, _, said) = index(&server, &operator, &["move", "--to", "solr"]).await;
    assert_eq!(code, 2);
    assert!(said.contains("tantivy, opensearch"), "{said}");
}
