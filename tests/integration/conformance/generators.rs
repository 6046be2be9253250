//! Generators make clients of `/openapi.json`; each stores an item, and finds it with typed fields.

use std::{
    env,
    ffi::OsStr,
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::util::{
    app::{Application, TestApp},
    items::NEW_YEAR,
    program::{run, text},
};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/openapi");

/// A folder with the description of a server.
struct Workshop {
    acme: Application,
    _app: TestApp,
    folder: TempDir,
}

impl Workshop {
    async fn start() -> Self {
        let (app, acme) = TestApp::start_with_acme().await;
        let description = app.caller("").get("/openapi.json").await;
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("openapi.json"), description.text).unwrap();
        Self { acme, _app: app, folder }
    }

    /// Adds a file of `tests/openapi/clients`.
    fn add_client(&self, name: &str) {
        fs::copy(Path::new(FOLDER).join("clients").join(name), self.folder.path().join(name)).unwrap();
    }

    /// Runs an installed program in the folder; returns what it printed.
    async fn run(&self, program: impl AsRef<OsStr>, arguments: &[&str]) -> String {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&self.folder);
        command.env("BASE", &self.acme.caller.base);
        command.env("CLIENT_ID", &self.acme.client_id).env("CLIENT_SECRET", self.acme.secret());
        let said = format!("{command:?}");
        let output = run(command).await;
        let (printed, problems) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{said}\n{printed}{problems}");
        printed.to_owned()
    }

    /// Compiles and runs a client in TypeScript, strictly.
    async fn run_typescript(&self, name: &str) -> String {
        self.add_client(&format!("{name}.ts"));
        self.add_client("tsconfig.json");
        fs::write(self.folder.path().join("package.json"), r#"{"type": "module"}"#).unwrap();
        symlink(Path::new(FOLDER).join("node_modules"), self.folder.path().join("node_modules")).unwrap();
        self.run(npm("tsc"), &["--project", "."]).await;
        self.run("node", &[&format!("{name}.js")]).await
    }
}

/// A program of the npm packages.
fn npm(program: &str) -> PathBuf {
    installed(&Path::new("node_modules/.bin").join(program))
}

fn installed(program: &Path) -> PathBuf {
    let program = Path::new(FOLDER).join(program);
    assert!(program.exists(), "{} is not there; ./tests/run installs it", program.display());
    program
}

fn assert_found(printed: &str) {
    let found: Value = serde_json::from_str(printed).unwrap_or_else(|_| panic!("{printed}"));
    assert_eq!(found, json!(["n1", "Harbour dues", "builtin:article", NEW_YEAR, "ok", 1]));
}

#[tokio::test(flavor = "multi_thread")]
async fn client_of_openapi_typescript_works() {
    let workshop = Workshop::start().await;
    workshop.run(npm("openapi-typescript"), &["openapi.json", "--output", "schema.ts"]).await;
    assert_found(&workshop.run_typescript("openapi_typescript").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn client_of_hey_api_works() {
    let workshop = Workshop::start().await;
    workshop.add_client("hey_api.config.mjs");
    workshop.run(npm("openapi-ts"), &["--file", "hey_api.config.mjs", "--no-log-file"]).await;
    assert_found(&workshop.run_typescript("hey_api").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn client_of_openapi_python_client_works() {
    let workshop = Workshop::start().await;
    workshop.add_client("openapi_python_client.py");
    workshop.add_client("settings.yaml");
    let arguments = ["generate", "--path", "openapi.json", "--meta", "none", "--output-path", "api"];
    let strictly = ["--config", "settings.yaml", "--fail-on-warning"];
    let program = installed(Path::new("venv/bin/openapi-python-client"));
    workshop.run(program, &[&arguments[..], &strictly].concat()).await;
    let python = installed(Path::new("venv/bin/python3"));
    assert_found(&workshop.run(python, &["openapi_python_client.py"]).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn client_of_openapi_generator_works() {
    let jars = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tools/openapi");
    if !jars.join("installed").exists() {
        eprintln!("skipped: OpenAPI Generator needs Maven and a JDK");
        return;
    }
    let workshop = Workshop::start().await;
    workshop.add_client("OpenapiGenerator.java");
    let classes = format!("{}/*", jars.display());
    let program = ["-cp", &classes, "org.openapitools.codegen.OpenAPIGenerator", "generate"];
    let arguments = ["--input-spec", "openapi.json", "--generator-name", "java", "--library", "native"];
    let settings = ["--output", "api", "--additional-properties", "useSingleRequestParameter=true"];
    workshop.run("java", &[&program[..], &arguments, &settings].concat()).await;
    // What the client does not need must compile, too.
    let compiling = format!(
        "javac -nowarn -cp '{classes}' -sourcepath api/src/main/java -d classes *.java api/src/main/java/org/openapitools/client/*/*.java"
    );
    workshop.run("sh", &["-c", &compiling]).await;
    let classes = format!("classes:{classes}");
    assert_found(&workshop.run("java", &["-cp", &classes, "OpenapiGenerator"]).await);
}
