//! Reports, kept in `benches/results`.

use std::{fmt::Arguments, path::Path, process::Command};

/// Begins the part of a file that the READMEs take their tables from.
const HEADLINE: &str = "\n## Headline\n";

pub(crate) struct Report {
    name: String,
    text: String,
    is_kept: bool,
}

impl Report {
    /// A quick run is not kept.
    pub(crate) fn begin(name: &str, arguments: &[String], measured: &str) -> Self {
        let is_kept = !arguments.iter().any(|argument| argument == "quick");
        let mut report = Self { name: name.to_owned(), text: String::new(), is_kept };
        let bench = name.split('/').next().unwrap_or(name);
        let cores = std::thread::available_parallelism().map_or(0, usize::from);
        let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        writeln!(report, "# {name}\n");
        writeln!(
            report,
            "{}, revision {}: `cargo bench --bench {bench} -- {}` on {cores} cores, {}, load before: {}; {measured}.",
            output("date", &["-u", "+%Y-%m-%d %H:%M UTC"]),
            output("git", &["describe", "--always", "--dirty"]),
            arguments.join(" "),
            output("uname", &["-sr"]),
            load.trim(),
        );
        report
    }

    pub(crate) fn write_fmt(&mut self, text: Arguments<'_>) {
        print!("{text}");
        self.text.push_str(&text.to_string());
    }

    /// Writes the file above its old headline; a quick run writes none.
    pub(crate) fn finish(mut self) {
        println!();
        if self.is_kept {
            let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/results");
            let path = results.join(format!("{}.md", self.name));
            std::fs::create_dir_all(path.parent().unwrap_or(&path)).unwrap();
            let old = std::fs::read_to_string(&path).unwrap_or_default();
            if let Some((_, headline)) = old.split_once(HEADLINE) {
                self.text.push_str(HEADLINE);
                self.text.push_str(headline);
            }
            std::fs::write(path, self.text).unwrap();
        }
    }
}

fn output(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    output.map_or_else(|_| "?".to_owned(), |output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Three digits below 10, else one.
pub(crate) fn millis(value: f64) -> String {
    if value < 10.0 { format!("{value:.3}") } else { format!("{value:.1}") }
}
