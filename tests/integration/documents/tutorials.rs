//! Every shell block of the tutorials, run against a real server.

use std::{fs, process::Command};

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

use super::book;
use crate::util::program::{own_address, run, text};

/// Ends a script's programs with it, and the script with an HTTP failure. Late sources are asked again.
const PRELUDE: &str = "set -euo pipefail\n\
    trap 'kill $(jobs -p)' EXIT\n\
    curl() { command curl --fail --retry 9 --retry-delay 1 --noproxy '*' \"$@\"; }\n\
    wait_for() { until command curl -s --noproxy '*' -o /dev/null \"http://$1/\"; do sleep 0.05; done; }\n";

#[tokio::test]
async fn first_search_runs_as_written() {
    let server = own_address();
    let mut script = PRELUDE.to_owned();
    for (language, code) in blocks("tutorials/first-search.md") {
        let start = format!(
            "trawl serve --demo --data demo --listen {server} > demo.log 2> /dev/null &\n\
             until grep -q 'Stop with Ctrl-C' demo.log; do sleep 0.05; done\n"
        );
        let code = code.replace("cargo run --release -- serve --demo --data demo\n", &start);
        script += if language == "sh" { &code } else { "" };
    }
    let printed = printed_by(&script.replace("127.0.0.1:8080", &server)).await;
    assert!(printed.contains("\"partial\": false"), "{printed}");
    assert!(printed.contains("event: done"), "{printed}");
}

#[tokio::test]
async fn connector_and_module_tutorials_run_as_written() {
    let (server, source) = (own_address(), own_address());
    let (mut steps, mut expected) = (vec![PRELUDE.to_owned()], Vec::new());
    let pages = ["tutorials/first-connector.md", "tutorials/first-federated-module.md"];
    for (language, code) in pages.map(blocks).concat() {
        steps.push(match language.as_str() {
            "python" => format!("cat > notes.py <<'END'\n{code}END\n"),
            "sh" if code.starts_with("python3") => {
                format!("python3 notes.py 2> /dev/null & SOURCE=$!\nwait_for {source}\n")
            }
            "sh" if code.contains("trawl serve") => {
                format!("{} --listen {server} > /dev/null 2>&1 &\nwait_for {server}\n", code.trim_end())
            }
            // The reader has ended the source before.
            "sh" if code.contains("keyword=report") => {
                format!("kill $SOURCE\nwait $SOURCE || true\n{code}")
            }
            // A reader is slower than the index.
            "sh" if code.contains("trawl import") => format!(
                "{code}until curl -s http://{server}/readyz | jq -e '.indexPosition == .storePosition' > /dev/null; \
                 do sleep 0.05; done\n"
            ),
            "sh" => code,
            "json" => {
                expected.extend(code.lines().map(str::to_owned));
                continue;
            }
            _ => continue,
        });
    }
    let script = steps.concat();
    let port = source.rsplit_once(':').unwrap().1;
    let script =
        script.replace("127.0.0.1:9100", &source).replace("9100", port).replace("127.0.0.1:8080", &server);
    let printed = printed_by(&script).await;
    for line in expected.iter().map(String::as_str).chain(["true", "52"]) {
        assert!(printed.lines().any(|printed| printed == line), "{line} is not in:\n{printed}");
    }
}

#[test]
fn chinese_tutorials_have_the_same_commands() {
    for name in ["first-search.md", "first-connector.md", "first-federated-module.md"] {
        assert_eq!(blocks(&format!("zh/{name}")), blocks(&format!("tutorials/{name}")), "{name}");
    }
}

fn blocks(page: &str) -> Vec<(String, String)> {
    let (mut found, mut open) = (Vec::new(), None);
    for event in Parser::new(&fs::read_to_string(book().join(page)).unwrap()) {
        match (event, &mut open) {
            (Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(language))), _) => {
                open = Some((language.to_string(), String::new()));
            }
            (Event::Text(code), Some((_, block))) => block.push_str(&code),
            (Event::End(TagEnd::CodeBlock), _) => found.extend(open.take()),
            _ => {}
        }
    }
    found
}

/// Returns the standard output of a script, run in its own folder.
async fn printed_by(script: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let programs = std::path::Path::new(env!("CARGO_BIN_EXE_trawl")).parent().unwrap();
    let path = std::env::var("PATH").unwrap();
    let mut command = Command::new("bash");
    command
        .args(["-c", script])
        .current_dir(folder.path())
        .env("PATH", format!("{}:{path}", programs.display()));
    let output = run(command).await;
    assert!(output.status.success(), "{}\n{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout).to_owned()
}
