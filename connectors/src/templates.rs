//! Sources to begin with, in several languages.

/// A source that keeps the contract, with its test and its check.
#[derive(Clone, Copy, Debug)]
pub struct Template {
    /// The language.
    pub language: &'static str,
    files: &'static [(&'static str, &'static str)],
    /// Shell commands that test the source, and build it where that is needed.
    test: &'static str,
    /// The shell command that runs it.
    start: &'static str,
}

const CHECK: &str = include_str!("../templates/check.sh");
const README: &str = include_str!("../templates/README.md");
const WORKFLOW: &str = include_str!("../templates/contract.yml");

macro_rules! files {
    ($folder:literal: $($path:literal)+) => {
        &[$(($path, include_str!(concat!("../templates/", $folder, "/", $path)))),+]
    };
}

/// All templates, by language.
pub const TEMPLATES: [Template; 5] = [
    Template {
        language: "go",
        files: files!("go": "go.mod" "source.go" "source_test.go"),
        test: "go test ./...\ngo build -o source .",
        start: "./source",
    },
    Template {
        language: "java",
        files: files!("java": "Source.java" "SourceTest.java"),
        test: "javac -d classes Source.java SourceTest.java\njava -ea -cp classes SourceTest",
        start: "java -cp classes Source",
    },
    Template {
        language: "node",
        files: files!("node": "source.mjs" "source.test.mjs"),
        test: "node --test",
        start: "node source.mjs",
    },
    Template {
        language: "python",
        files: files!("python": "source.py" "test_source.py"),
        test: "python3 -m unittest",
        start: "python3 source.py",
    },
    Template {
        language: "rust",
        files: files!("rust": "Cargo.toml" "src/main.rs"),
        test: "cargo test\ncargo build",
        start: "\"${CARGO_TARGET_DIR:-target}/debug/source\"",
    },
];

impl Template {
    /// Paths and contents of its files. `check.sh` is to be executable.
    pub fn files(&self) -> impl Iterator<Item = (&'static str, String)> {
        let check = CHECK.replace("\nTEST\n", &format!("\n{}\n", self.test));
        let check = check.replace("\nSTART >", &format!("\n{} >", self.start));
        let common = [
            ("README.md", README.to_owned()),
            ("check.sh", check),
            (".github/workflows/contract.yml", WORKFLOW.to_owned()),
        ];
        let own = self.files.iter().map(|(path, content)| (*path, (*content).to_owned()));
        own.chain(common)
    }
}
