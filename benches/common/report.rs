//! The head of a run, and figures as the tables show them.

use std::process::Command;

/// Says what was run where, without which no figure means anything, and how it was measured.
pub(crate) fn head(bench: &str, title: &str, arguments: &[String], measured: &str) {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    println!("# {title}\n");
    println!("- date: {}", output("date", &["-u", "+%Y-%m-%d %H:%M UTC"]));
    println!("- command: cargo bench --bench {bench} -- {}", arguments.join(" "));
    println!("- revision: {}", output("git", &["describe", "--always", "--dirty"]));
    println!("- machine: {cores} cores, {}", output("uname", &["-sr"]));
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    println!("- load of the machine before the run: {}", load.trim());
    println!("- randomness: none; ids, times and slow calls are functions of a number");
    println!("- measured {measured}\n");
}

fn output(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    output.map_or_else(|_| "?".to_owned(), |output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Milliseconds with as many digits as they deserve.
pub(crate) fn millis(value: f64) -> String {
    if value < 10.0 { format!("{value:.3}") } else { format!("{value:.1}") }
}
