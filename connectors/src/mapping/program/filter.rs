//! Compilation of one filter.

use jaq_core::load::{Arena, File, Loader};
use jaq_core::{Compiler, compile, data, load, native};
use jaq_json::Val;

use super::value::{as_text, shorten};
use crate::html::html_to_text;

pub(super) type Values = data::JustLut<Val>;

pub(super) const VARIABLES: [&str; 10] = [
    "$keyword", "$limit", "$cursor", "$offset", "$page", "$address", "$site", "$person", "$headers",
    "$answer",
];
const MUST_NOT_IMPORT: &str = "must not import modules or data";

/// # Errors
/// The fault with its place or name; continues a sentence after the field.
pub(super) fn compile_filter(text: &str) -> Result<jaq_core::Filter<Values>, String> {
    let defs = jaq_core::defs().chain(jaq_std::defs()).chain(jaq_json::defs());
    let funs = jaq_core::funs().chain(jaq_std::funs()).chain(jaq_json::funs()).chain([text_filter()]);
    let arena = Arena::default();
    let modules = Loader::new(defs).load(&arena, File { code: text, path: () }).map_err(|errors| {
        errors.into_iter().next().map_or_else(String::new, |(file, error)| describe_load(file.code, error))
    })?;
    let imported = load::import(&modules, |_| Err(String::new()));
    imported.map_err(|_| MUST_NOT_IMPORT.to_owned())?;
    let compiler = Compiler::default().with_funs(funs).with_global_vars(VARIABLES);
    compiler.compile(modules).map_err(|errors| {
        let first = errors.into_iter().flat_map(|(_, undefined)| undefined).next();
        first.map_or_else(String::new, |(name, undefined)| describe_undefined(name, &undefined))
    })
}

/// `text`: plain text of HTML; null stays.
fn text_filter() -> native::Fun<Values> {
    native::run(("text", native::v(0), |(_, value)| {
        let text = as_text(&value).map(|html| Val::from(html_to_text(&html)));
        native::bome(match (text, value) {
            (Some(text), _) => Ok(text),
            (None, Val::Null) => Ok(Val::Null),
            (None, value) => Err(jaq_core::Error::typ(value, "HTML")),
        })
    }))
}

fn describe_load(code: &str, error: load::Error<&str>) -> String {
    let place = |rest: &str| {
        let at = (rest.as_ptr() as usize).wrapping_sub(code.as_ptr() as usize);
        match code.get(at..).filter(|rest| !rest.is_empty()) {
            Some(rest) => format!("`{}`", shorten(rest.chars().take(20).collect())),
            None => "its end".to_owned(),
        }
    };
    match error {
        load::Error::Io(_) => MUST_NOT_IMPORT.to_owned(),
        load::Error::Lex(errors) => match errors.first() {
            Some((expected, found)) => {
                format!("is no jq filter: {} is expected at {}", expected.as_str(), place(found))
            }
            None => "is no jq filter".to_owned(),
        },
        load::Error::Parse(errors) => match errors.first() {
            Some((expected, found)) => {
                format!("is no jq filter: {} is expected at {}", expected.as_str(), place(found))
            }
            None => "is no jq filter".to_owned(),
        },
    }
}

fn describe_undefined(name: &str, undefined: &compile::Undefined) -> String {
    let known = match undefined {
        compile::Undefined::Var => format!("; the variables are {}", VARIABLES.join(", ")),
        _ => String::new(),
    };
    format!("uses the unknown {} `{}`{known}", undefined.as_str(), shorten(name.to_owned()))
}
