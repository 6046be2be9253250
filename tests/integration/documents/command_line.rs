//! The command line page, from clap's command tree.

use std::fmt::Write as _;

use clap::{Arg, Command, CommandFactory as _, builder::Str};
use trawl::cli::Program;

use super::{assert_current, cell};

#[test]
fn command_line_page_is_current() {
    let mut program = Program::command();
    program.build();
    let mut page = String::new();
    describe_subcommands(&mut page, &program);
    assert_current("command-line.md", &page);
}

fn describe_subcommands(page: &mut String, command: &Command) {
    for command in command.get_subcommands().filter(|command| is_shown(command)) {
        let about =
            command.get_long_about().or(command.get_about()).map(ToString::to_string).unwrap_or_default();
        let about = about.split("\n\n").map(cell).collect::<Vec<_>>().join(". ");
        let separator = if page.is_empty() { "" } else { "\n" };
        writeln!(page, "{separator}## `{}`\n\n{about}.", command.get_bin_name().unwrap()).unwrap();
        let arguments: Vec<&Arg> = command
            .get_arguments()
            .filter(|argument| {
                !argument.is_hide_set() && !["help", "version"].contains(&argument.get_id().as_str())
            })
            .collect();
        if !arguments.is_empty() {
            page.push_str("\n| Option | Default | Meaning |\n|---|---|---|\n");
        }
        for argument in arguments {
            writeln!(page, "| {} | {} | {} |", spelling(argument), default(argument), meaning(argument))
                .unwrap();
        }
        if let Some(help) = command.get_after_long_help() {
            writeln!(page, "\n```text\n{help}\n```").unwrap();
        }
        describe_subcommands(page, command);
    }
}

fn is_shown(command: &Command) -> bool {
    !command.is_hide_set() && command.get_name() != "help"
}

fn spelling(argument: &Arg) -> String {
    let values: Vec<&str> = argument.get_value_names().into_iter().flatten().map(Str::as_str).collect();
    let values = if argument.get_action().takes_values() { values.join(" ") } else { String::new() };
    let long = argument.get_long().map(|long| format!("--{long}")).unwrap_or_default();
    let repeated =
        if argument.is_positional() && argument.get_action().takes_values() && is_repeated(argument) {
            "…"
        } else {
            ""
        };
    format!("`{}{repeated}`", format!("{long} {values}").trim())
}

fn is_repeated(argument: &Arg) -> bool {
    argument.get_num_args().is_some_and(|count| count.max_values() > 1)
}

fn default(argument: &Arg) -> String {
    let defaults: Vec<_> =
        argument.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    if argument.is_required_set() {
        return "required".to_owned();
    }
    let given = if argument.get_action().takes_values() { defaults.join(" ") } else { String::new() };
    if given.is_empty() { given } else { format!("`{given}`") }
}

fn meaning(argument: &Arg) -> String {
    let mut text = cell(&argument.get_help().map(ToString::to_string).unwrap_or_default());
    let values: Vec<String> =
        argument.get_possible_values().iter().map(|value| format!("`{}`", value.get_name())).collect();
    if argument.get_action().takes_values() && !values.is_empty() {
        write!(text, ": {}", values.join(", ")).unwrap();
    }
    if let Some(variable) = argument.get_env() {
        write!(text, "; or `{}`", variable.to_string_lossy()).unwrap();
    }
    text
}
