//! Options, paths and programs that documents name exist.

use std::fs;

use clap::{Command, CommandFactory as _};
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use trawl::{cli::Program, server::routes::rules};

use super::{documents, root};

#[test]
fn commands_in_documents_exist() {
    let mut program = Program::command();
    program.build();
    let mut wrong = Vec::new();
    for document in documents() {
        for line in shell_lines(&fs::read_to_string(&document).unwrap()) {
            let words: Vec<&str> = line.split_whitespace().collect();
            for (position, word) in words.iter().enumerate() {
                let checked = match *word {
                    "trawl" if words[..position].iter().all(|word| word.contains('=')) => {
                        check_options(&program, &words[position + 1..])
                    }
                    "--" if words[0] == "cargo" && words[1] == "run" => {
                        check_options(&program, &words[position + 1..])
                    }
                    "--bench" | "--example" => check_target(words[position + 1]),
                    word if word.starts_with("./") => check_program(word),
                    _ => Ok(()),
                };
                wrong.extend(checked.err().map(|reason| format!("{}: {line}: {reason}", document.display())));
            }
            wrong.extend(
                check_path(&line).err().map(|reason| format!("{}: {line}: {reason}", document.display())),
            );
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Lines of `sh` blocks, continued ones joined, and inline code.
fn shell_lines(text: &str) -> Vec<String> {
    let (mut lines, mut is_shell) = (Vec::new(), false);
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(language))) => is_shell = &*language == "sh",
            Event::End(TagEnd::CodeBlock) => is_shell = false,
            Event::Text(code) if is_shell => {
                let joined = code.replace("\\\n", " ");
                lines.extend(
                    joined.lines().map(|line| line.split(" # ").next().unwrap_or_default().to_owned()),
                );
            }
            Event::Code(code) if code.starts_with("trawl ") || code.starts_with("cargo ") => {
                lines.push(code.into_string());
            }
            _ => {}
        }
    }
    lines.retain(|line| !line.starts_with('#'));
    lines
}

/// Follows the subcommands; every `--option` must be one of the last.
fn check_options(program: &Command, words: &[&str]) -> Result<(), String> {
    let mut command = program;
    for word in words.iter().take_while(|word| !matches!(**word, "|" | "&&" | ">" | "&")) {
        if let Some(option) = word.strip_prefix("--") {
            let name = option.split(['=', ')', '`']).next().unwrap_or_default();
            let is_known = ["help", "version"].contains(&name)
                || command.get_arguments().any(|argument| argument.get_long() == Some(name));
            if !is_known {
                return Err(format!("{} has no --{name}", command.get_name()));
            }
        } else if let Some(subcommand) = command.find_subcommand(word) {
            command = subcommand;
        } else if command.get_name() == "trawl" {
            return Err(format!("there is no command {word}"));
        }
    }
    Ok(())
}

fn check_target(name: &str) -> Result<(), String> {
    let places = ["benches", "index/benches", "opensearch/benches", "connectors/examples"];
    let exists = |place: &&str| {
        let folder = root().join(place);
        folder.join(name).is_dir() || folder.join(format!("{name}.rs")).is_file()
    };
    if places.iter().any(exists) { Ok(()) } else { Err(format!("there is no bench or example {name}")) }
}

fn check_program(word: &str) -> Result<(), String> {
    if root().join(word).exists() { Ok(()) } else { Err(format!("there is no {word}")) }
}

fn check_path(line: &str) -> Result<(), String> {
    for (_, rest) in line.match_indices("$BASE").map(|(place, base)| line.split_at(place + base.len())) {
        let path = rest.split(['?', '"', '\'', ' ', ')']).next().unwrap_or_default();
        if !path.is_empty() && !rules().any(|rule| fits(rule.path, path)) {
            return Err(format!("there is no operation {path}"));
        }
    }
    Ok(())
}

fn fits(pattern: &str, path: &str) -> bool {
    let (pattern, path): (Vec<&str>, Vec<&str>) = (pattern.split('/').collect(), path.split('/').collect());
    pattern.len() == path.len()
        && pattern.iter().zip(&path).all(|(pattern, part)| pattern.starts_with('{') || pattern == part)
}
