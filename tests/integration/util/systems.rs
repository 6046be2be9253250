//! Real systems with a search of their own, each with 25 rows of the word [`KEYWORD`].

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::{Value, json};
use tempfile::TempDir;
use url::Url;

use super::{
    eventually,
    program::{Process, own_port},
};

pub(crate) const KEYWORD: &str = "quayside";
pub(crate) const ROWS: usize = 25;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/systems");

/// Stopped on drop.
pub(crate) struct System {
    pub(crate) address: Url,
    pub(crate) ids: Vec<String>,
    /// The authentication to register.
    pub(crate) auth: Value,
    place: Place,
}

enum Place {
    /// Processes of its own, in the order of their end.
    Processes(Vec<Process>, TempDir),
    /// An index of the node that `./tests/run` started.
    Index,
}

impl System {
    /// Returns the status that its source has from now on.
    pub(crate) async fn stop(self) -> &'static str {
        match self.place {
            Place::Processes(processes, directory) => {
                processes.into_iter().for_each(drop);
                drop(directory);
                "unavailable"
            }
            Place::Index => {
                client().delete(self.address).send().await.unwrap().error_for_status().unwrap();
                "error"
            }
        }
    }
}

fn client() -> reqwest::Client {
    reqwest::Client::builder().no_proxy().build().unwrap()
}

/// Returns the output.
#[track_caller]
fn run(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert!(output.status.success(), "{command:?}: {text:?}");
    let [said, _] = text;
    said
}

fn start(command: &mut Command) -> Process {
    let server = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    Process(server.unwrap_or_else(|error| panic!("{command:?}: {error}")))
}

async fn serve(command: &mut Command, address: &Url, ready: &str) -> Process {
    let server = start(command);
    let http = client();
    let ready = address.join(ready).unwrap();
    let answers =
        async || http.get(ready.clone()).send().await.ok().filter(|answer| answer.status().is_success());
    eventually("the system answers", answers).await;
    server
}

fn numbers() -> impl Iterator<Item = usize> {
    0..ROWS
}

/// A table with full-text search.
pub(crate) async fn datasette() -> System {
    const FILL: &str = "
import sqlite3, sys
table = sqlite3.connect(sys.argv[1])
table.execute('CREATE TABLE articles (id INTEGER PRIMARY KEY, title TEXT, body TEXT, published TEXT)')
rows = [(n, f'Plan {n}', 'The quayside', f'2024-01-{1 + n:02} 10:00:00') for n in range(int(sys.argv[2]))]
table.executemany('INSERT INTO articles VALUES (?, ?, ?, ?)', rows)
table.execute('CREATE VIRTUAL TABLE articles_fts USING fts5(title, body, content=\"articles\", content_rowid=\"id\")')
table.execute('INSERT INTO articles_fts (articles_fts) VALUES (\"rebuild\")')
table.commit()
";
    let directory = tempfile::tempdir().unwrap();
    let programs = Path::new(FOLDER).join("datasette/venv/bin");
    let file = directory.path().join("news.db");
    run(Command::new(programs.join("python")).args(["-c", FILL]).arg(&file).arg(ROWS.to_string()));
    let port = own_port();
    let address: Url = format!("http://127.0.0.1:{port}/news/articles.json").parse().unwrap();
    let mut command = Command::new(programs.join("datasette"));
    command.arg("serve").arg(&file).args(["--port", &port.to_string()]);
    let server = serve(&mut command, &address, "/-/versions.json").await;
    System {
        address,
        ids: numbers().map(|row| row.to_string()).collect(),
        auth: json!({"type": "NONE"}),
        place: Place::Processes(vec![server], directory),
    }
}

/// A private registry with packages.
pub(crate) async fn verdaccio() -> System {
    const CONFIGURATION: &str = "
storage: ./packages
uplinks: {}
packages:
  '**': { access: $all, publish: $anonymous }
log: { type: stdout, level: fatal }
";
    let directory = tempfile::tempdir().unwrap();
    let configuration = directory.path().join("config.yaml");
    std::fs::write(&configuration, CONFIGURATION).unwrap();
    let address: Url = format!("http://127.0.0.1:{}", own_port()).parse().unwrap();
    let mut command = Command::new("node");
    command.arg(Path::new(FOLDER).join("verdaccio/node_modules/verdaccio/bin/verdaccio"));
    command.arg("--config").arg(&configuration).args(["--listen", address.as_str()]);
    let server = serve(&mut command, &address, "/-/ping").await;
    let http = client();
    let names: Vec<String> = numbers().map(|number| format!("{KEYWORD}-{number:02}")).collect();
    for name in &names {
        let answer =
            http.put(address.join(name).unwrap()).json(&package(name, &address)).send().await.unwrap();
        assert!(answer.status().is_success(), "{}", answer.text().await.unwrap());
    }
    System {
        address,
        ids: names,
        auth: json!({"type": "NONE"}),
        place: Place::Processes(vec![server], directory),
    }
}

fn package(name: &str, address: &Url) -> Value {
    /// SHA-1 of `empty`.
    const CHECKSUM: &str = "ad87109bfff0765f4dd8cf4943b04d16a4070fea";
    let file = format!("{name}-1.0.0.tgz");
    let tarball = format!("{address}{name}/-/{file}");
    json!({
        "_id": name, "name": name, "dist-tags": {"latest": "1.0.0"},
        "versions": {"1.0.0": {
            "name": name, "version": "1.0.0", "description": "Moves boxes", "author": {"name": "Mei"},
            "dist": {"tarball": tarball, "shasum": CHECKSUM},
        }},
        "_attachments": {file: {
            "content_type": "application/octet-stream", "data": "ZW1wdHk=", "length": 5,
        }},
    })
}

/// A wiki over SQLite, served by PHP itself.
pub(crate) async fn mediawiki() -> System {
    const PROGRAMS: &str = "/usr/share/mediawiki";
    let directory = tempfile::tempdir().unwrap();
    let settings = directory.path().join("LocalSettings.php");
    let address: Url = format!("http://127.0.0.1:{}", own_port()).parse().unwrap();
    let maintain = |script: &str| {
        let mut command = Command::new("php");
        command.arg(format!("{PROGRAMS}/maintenance/{script}")).env("MW_CONFIG_FILE", &settings);
        command
    };
    run(maintain("install.php")
        .args(["--dbtype", "sqlite", "--pass", "a-long-password-1", "--scriptpath", ""])
        .args(["--server", address.as_str().trim_end_matches('/')])
        .arg("--dbpath")
        .arg(directory.path())
        .arg("--confpath")
        .arg(directory.path())
        .args(["Harbour", "Admin"]));
    let pages = directory.path().join("pages.xml");
    let page = |number: usize| {
        format!(
            "<page><title>Plan {number}</title><ns>0</ns><revision><timestamp>2024-01-{:02}T10:00:00Z</timestamp>\
             <contributor><username>Admin</username></contributor><model>wikitext</model>\
             <format>text/x-wiki</format><text>The '''quayside''' &amp;amp; more</text></revision></page>",
            1 + number
        )
    };
    let dump = numbers().map(page).collect::<String>();
    std::fs::write(&pages, format!("<mediawiki version=\"0.11\" xml:lang=\"en\">{dump}</mediawiki>"))
        .unwrap();
    run(maintain("importDump.php").arg(&pages));
    run(&mut maintain("rebuildtextindex.php"));
    let mut command = Command::new("php");
    let listen = format!("127.0.0.1:{}", address.port().unwrap());
    command.args(["-S", &listen, "-t", PROGRAMS]).env("MW_CONFIG_FILE", &settings);
    let server = serve(&mut command, &address, "/api.php?action=query&meta=siteinfo&format=json").await;
    // The main page has the first id.
    let ids = numbers().map(|number| (number + 2).to_string()).collect();
    System { address, ids, auth: json!({"type": "NONE"}), place: Place::Processes(vec![server], directory) }
}

/// A server of `MariaDB` whose `root` has no password; stopped on drop.
pub(crate) struct MariaDb {
    process: Process,
    directory: TempDir,
    pub(crate) port: u16,
}

impl MariaDb {
    pub(crate) fn socket(&self) -> PathBuf {
        self.directory.path().join("socket")
    }

    /// Runs statements as `root`, once the server is there.
    pub(crate) async fn run(&self, statements: &str) {
        let run = || {
            let socket = format!("--socket={}", self.socket().display());
            Command::new("mariadb").args(["--no-defaults", "--user=root", &socket, "-e", statements]).output()
        };
        eventually("MariaDB answers", async || run().unwrap().status.success().then_some(())).await;
    }
}

pub(crate) async fn mariadb() -> MariaDb {
    let directory = tempfile::tempdir().unwrap();
    let in_root = |option: &str, name: &str| format!("--{option}={}", directory.path().join(name).display());
    run(Command::new("mariadb-install-db")
        .args(["--no-defaults", "--skip-test-db", "--auth-root-authentication-method=normal"])
        .arg(in_root("datadir", "data")));
    let port = own_port();
    let mut database = Command::new("/usr/sbin/mariadbd");
    database.args(["--no-defaults", "--bind-address=127.0.0.1", "--user=root", &format!("--port={port}")]);
    database.arg(in_root("datadir", "data")).arg(in_root("socket", "socket"));
    let process = start(&mut database);
    let database = MariaDb { process, directory, port };
    database.run("SELECT 1").await;
    database
}

/// A blog over `MariaDB`, served by PHP itself.
pub(crate) async fn wordpress() -> System {
    const SETTINGS: &str = r"<?php
define('DB_NAME', 'blog'); define('DB_USER', 'root'); define('DB_PASSWORD', ''); define('DB_HOST', 'localhost:SOCKET');
define('DB_CHARSET', 'utf8mb4'); define('DB_COLLATE', ''); $table_prefix = 'wp_';
define('WP_HTTP_BLOCK_EXTERNAL', true); define('DISABLE_WP_CRON', true);
if (!defined('ABSPATH')) { define('ABSPATH', __DIR__ . '/'); }
require_once ABSPATH . 'wp-settings.php';
";
    const FILL: &str = r"<?php
[, $site, $address, $rows] = $argv;
define('WP_INSTALLING', true);
$_SERVER['HTTP_HOST'] = parse_url($address, PHP_URL_HOST);
require $site . '/wp-load.php';
require ABSPATH . 'wp-admin/includes/upgrade.php';
function wp_new_blog_notification() {}
wp_install('Harbour', 'admin', 'admin@example.org', true, '', 'a-long-password-1');
foreach (['siteurl' => $address, 'home' => $address, 'permalink_structure' => '/%postname%/'] as $name => $value) {
    update_option($name, $value);
}
for ($row = 0; $row < $rows; $row++) {
    $date = sprintf('2024-01-%02d 10:00:00', 1 + $row);
    echo wp_insert_post(['post_title' => 'Plan ' . $row, 'post_content' => 'The quayside', 'post_status' => 'publish',
        'post_author' => 1, 'post_date' => $date, 'post_date_gmt' => $date]), PHP_EOL;
}
";
    let database = mariadb().await;
    database.run("CREATE DATABASE blog").await;
    let path = |name: &str| database.directory.path().join(name);
    let address: Url = format!("http://127.0.0.1:{}", own_port()).parse().unwrap();
    let site = path("site");
    run(Command::new("cp").args(["-rL", "/usr/share/wordpress"]).arg(&site));
    let socket = database.socket().display().to_string();
    std::fs::write(site.join("wp-config.php"), SETTINGS.replace("SOCKET", &socket)).unwrap();
    std::fs::write(path("fill.php"), FILL).unwrap();
    let plain_address = address.as_str().trim_end_matches('/');
    let filled =
        run(Command::new("php").arg(path("fill.php")).arg(&site).args([plain_address, &ROWS.to_string()]));
    let mut command = Command::new("php");
    let listen = format!("127.0.0.1:{}", address.port().unwrap());
    command.args(["-S", &listen, "-t"]).arg(&site);
    let server = serve(&mut command, &address, "/wp-json/").await;
    let MariaDb { process, directory, .. } = database;
    System {
        address,
        ids: filled.split_whitespace().map(str::to_owned).collect(),
        auth: json!({"type": "NONE"}),
        place: Place::Processes(vec![server, process], directory),
    }
}

/// A tracker over SQLite that wants a key. It begins with the database of Debian's package.
pub(crate) async fn redmine() -> System {
    const INSTALLED: &str = "/var/lib/dbconfig-common/sqlite3/redmine/instances/default/redmine_default";
    const FILL: &str = "
Setting.rest_api_enabled = '1'
Setting.login_required = '1'
user = User.find_by_login('admin')
user.update_columns(must_change_passwd: false)
project = Project.new(name: 'Harbour', identifier: 'harbour')
project.enabled_module_names = %w[issue_tracking]
project.trackers = Tracker.all
project.save!
ENV['ROWS'].to_i.times do |row|
  issue = Issue.new(project: project, tracker: project.trackers.first, author: user, subject: \"Plan #{row}\",
    description: 'The quayside', status: IssueStatus.first, priority: IssuePriority.first)
  issue.save!
  time = Time.utc(2024, 1, 1 + row, 10)
  issue.update_columns(created_on: time, updated_on: time)
end
closed = Project.new(name: 'Docks', identifier: 'docks', is_public: false)
closed.enabled_module_names = %w[issue_tracking]
closed.trackers = Tracker.all
closed.save!
role = Role.givable.first
%w[mei omar].each do |login|
  person = User.new(firstname: login, lastname: 'Lin', mail: \"#{login}@example.com\")
  person.login = login
  person.password = person.password_confirmation = 'correct horse'
  person.save!
  Member.create!(project: closed, principal: person, roles: [role]) if login == 'omar'
end
Issue.new(project: closed, tracker: closed.trackers.first, author: user, subject: 'Mooring', status: IssueStatus.first,
  priority: IssuePriority.first).save!
puts user.api_key, project.issues.order(:id).pluck(:id)
";
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("redmine");
    run(Command::new("cp").args(["-r", "/usr/share/redmine"]).arg(&root));
    // The package's instance and its bundle are shared; these are the test's own.
    std::fs::remove_file(root.join("instances")).unwrap();
    std::fs::remove_file(root.join("Gemfile.lock")).unwrap();
    let instance = root.join("instances/default");
    for folder in ["config", "files", "log", "tmp"] {
        std::fs::create_dir_all(instance.join(folder)).unwrap();
    }
    let database = directory.path().join("database");
    std::fs::copy(INSTALLED, &database).unwrap();
    // Others of its threads may be writing.
    let settings = format!(
        "production: {{ adapter: sqlite3, database: {}, encoding: utf8, timeout: 60000 }}\n",
        database.display()
    );
    std::fs::write(instance.join("config/database.yml"), settings).unwrap();
    std::fs::write(instance.join("config/secret_key.txt"), "0123456789abcdef".repeat(4)).unwrap();
    let gems = std::fs::read_to_string(root.join("Gemfile")).unwrap();
    std::fs::write(root.join("Gemfile"), format!("{gems}\ngem \"webrick\"\n")).unwrap();
    std::fs::write(directory.path().join("fill.rb"), FILL).unwrap();

    let rails = |arguments: &[&str]| {
        let mut command = Command::new("ruby");
        command.arg("bin/rails").args(arguments).current_dir(&root);
        command.envs([("RAILS_ENV", "production"), ("ROWS", &ROWS.to_string())]);
        command
    };
    run(Command::new("bundle").args(["install", "--local", "--quiet"]).current_dir(&root));
    let said = run(&mut rails(&["runner", directory.path().join("fill.rb").to_str().unwrap()]));
    let mut lines = said.lines();
    let key = lines.next().unwrap();
    let address: Url = format!("http://127.0.0.1:{}", own_port()).parse().unwrap();
    let port = address.port().unwrap().to_string();
    let mut command = rails(&["server", "-e", "production", "-b", "127.0.0.1", "-u", "webrick", "-p", &port]);
    let server = serve(&mut command, &address, "/login").await;
    System {
        address,
        ids: lines.map(|id| format!("issue/{id}")).collect(),
        auth: json!({"type": "API_KEY", "header": "X-Redmine-API-Key", "key": key}),
        place: Place::Processes(vec![server], directory),
    }
}

/// An index of the shared node.
pub(crate) async fn opensearch(node: &str) -> System {
    let index = format!("papers-{}", uuid::Uuid::new_v4());
    let address: Url = format!("{node}/{index}").parse().unwrap();
    // The node creates no index by itself.
    let settings = json!({"settings": {"number_of_shards": 1, "number_of_replicas": 0}});
    client().put(address.clone()).json(&settings).send().await.unwrap().error_for_status().unwrap();
    let line = |number: usize| {
        let action = json!({"index": {"_id": number.to_string()}});
        let date = format!("2024-01-{:02}T10:00:00Z", 1 + number);
        let url = format!("https://intranet.example/{number}");
        let source =
            json!({"title": format!("Plan {number}"), "body": "The quayside", "date": date, "url": url});
        format!("{action}\n{source}\n")
    };
    let bulk = numbers().map(line).collect::<String>();
    let bulk = client()
        .post(format!("{address}/_bulk?refresh=true"))
        .header("content-type", "application/x-ndjson")
        .body(bulk);
    let answer: Value = bulk.send().await.unwrap().json().await.unwrap();
    assert_eq!(answer["errors"], false, "{answer}");
    System {
        address,
        ids: numbers().map(|row| row.to_string()).collect(),
        auth: json!({"type": "NONE"}),
        place: Place::Index,
    }
}
