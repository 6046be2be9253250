//! `trawl connector new`: each template passes its own test and the check.

use std::{path::Path, process::Command};

use trawl_connectors::TEMPLATES;

use crate::util::program::{run, text, trawl};

/// Programs that a language needs.
fn programs(language: &str) -> &'static [&'static str] {
    match language {
        "go" => &["go"],
        "java" => &["java", "javac"],
        "node" => &["node"],
        "python" => &["python3"],
        "rust" => &["cargo"],
        _ => panic!("no test knows {language}"),
    }
}

fn is_installed(program: &str) -> bool {
    Command::new("sh").args(["-c", &format!("command -v {program}")]).output().unwrap().status.success()
}

/// Runs the check of a new source as its author would.
fn check(directory: &Path) -> (bool, String) {
    let program = Path::new(env!("CARGO_BIN_EXE_trawl")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let output = Command::new(directory.join("check.sh"))
        .env("PATH", path)
        .env("SOURCE_API_KEY", "a-key-for-this-check")
        // The build of the Rust template is kept between runs.
        .env("CARGO_TARGET_DIR", program.parent().unwrap().join("templates"))
        .output()
        .unwrap();
    (output.status.success(), format!("{}{}", text(&output.stdout), text(&output.stderr)))
}

#[tokio::test]
async fn source_of_every_template_passes_its_test_and_the_check() {
    for template in TEMPLATES {
        let language = template.language;
        let missing = programs(language).iter().find(|program| !is_installed(program));
        if let Some(program) = missing {
            eprintln!("skipped: {language} needs {program}");
            continue;
        }
        let parent = tempfile::tempdir().unwrap();
        let directory = parent.path().join("source");
        let output =
            run(trawl(&["connector", "new", "--language", language, directory.to_str().unwrap()])).await;
        assert!(output.status.success(), "{language}: {}", text(&output.stderr));

        let checked = directory.clone();
        let (passed, said) = tokio::task::spawn_blocking(move || check(&checked)).await.unwrap();
        assert!(passed && said.contains("46 kept, 0 broken, 2 undecided"), "{language}: {said}");
        let report = std::fs::read_to_string(directory.join("contract.xml")).unwrap();
        let report = quick_junit::Report::deserialize_from_str(&report).unwrap();
        assert_eq!((report.test_suites[0].failures, report.test_suites[0].tests), (0, 48), "{language}");
    }
}

#[tokio::test]
async fn existing_directory_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let output =
        run(trawl(&["connector", "new", "--language", "go", directory.path().to_str().unwrap()])).await;
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("exists"), "{}", text(&output.stderr));
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}
