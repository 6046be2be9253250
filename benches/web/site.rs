//! Servers with a search page and a person who can sign in.

use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
};

use secrecy::ExposeSecret;
use serde_json::{Value, json};
use trawl::auth::login;

use crate::{
    common::{
        data_directory::DataDirectory,
        load::{Connection, Target, block_on},
        server::Server,
    },
    corpus, texts,
};

const LOGIN: &str = "bench";
const PASSWORD: &str = "a bench to sit on";

const LAST_LINE: &str = "Stop with Ctrl-C";

pub(crate) struct Site {
    pub(crate) server: Server,
    pub(crate) login: String,
    pub(crate) password: String,
    /// Access token of requests that bypass the page.
    pub(crate) token: String,
    /// Texts that can be found.
    pub(crate) texts: Vec<String>,
    _prepared: Option<DataDirectory>,
}

impl Site {
    /// `trawl serve --demo`, used as its output says.
    pub(crate) fn demo() -> Self {
        let mut command = Command::new(Server::program());
        command.args(["serve", "--demo", "--listen", "127.0.0.1:0"]);
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap());
        let mut printed = String::new();
        while !printed.contains(LAST_LINE) {
            assert_ne!(lines.read_line(&mut printed).unwrap(), 0, "the demo ended: {printed}");
        }
        let between = |start: &str, end: &str| {
            let found = printed.split_once(start).and_then(|(_, rest)| rest.split_once(end));
            found.unwrap_or_else(|| panic!("no {start:?} in {printed}")).0.to_owned()
        };
        let address = between("\nOpen http://", "/ and").parse().unwrap();
        let kept = std::fs::read(between("with the token in ", ", as ")).unwrap();
        let kept: Value = serde_json::from_slice(&kept).unwrap();
        Self {
            server: Server { process, address },
            login: between("sign in as ", " with"),
            password: between("with the password ", "\n"),
            token: kept["token"].as_str().unwrap().to_owned(),
            texts: demo_texts(),
            _prepared: None,
        }
    }

    /// Half of the documents are Chinese, half English.
    pub(crate) fn with_documents(documents: usize) -> Self {
        let prepared = corpus::prepare(documents);
        let server = Server::trawl(prepared.directory.path(), &[]);
        let digest = login::digest(&PASSWORD.into());
        let person = json!([{
            "userId": LOGIN, "loginId": LOGIN, "name": "Bench", "sex": 1, "orgId": "",
            "password": digest.expose_secret(),
        }]);
        let target = Target {
            address: server.address,
            method: "PUT",
            path: "/v1/users/sync".to_owned(),
            token: Some(server.token(&prepared)),
            body: Some(person.to_string()),
            expected: r#""data":[]"#.to_owned(),
        };
        block_on(async { Connection::open(target.address).await.call(&target).await });
        let form = [
            ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
            ("subject_token_type", "urn:trawl:params:oauth:token-type:login-id"),
            ("subject_token", LOGIN),
        ];
        Self {
            token: server.grant(&prepared.registered, &form),
            server,
            login: LOGIN.to_owned(),
            password: PASSWORD.to_owned(),
            texts: [texts::english(), texts::chinese()]
                .map(|texts| texts.into_iter().take(documents / 2).collect::<Vec<String>>())
                .concat(),
            _prepared: Some(prepared),
        }
    }
}

/// Nearly all are visible to everybody.
fn demo_texts() -> Vec<String> {
    let lines = ["articles", "feeds"].map(|name| {
        let path = format!("{}/src/demo/data/{name}.jsonl", env!("CARGO_MANIFEST_DIR"));
        std::fs::read_to_string(path).unwrap()
    });
    let rows =
        lines.iter().flat_map(|text| text.lines()).map(|line| serde_json::from_str::<Value>(line).unwrap());
    let text = |row: &Value| ["title", "brief"].map(|name| row[name].as_str().unwrap_or_default().to_owned());
    rows.map(|row| text(&row).join(" ")).collect()
}
