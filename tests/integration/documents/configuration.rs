//! The configuration page: doc comments of the settings, defaults of `serve --print-config`.

use std::{collections::HashMap, fmt::Write as _, fs, path::PathBuf};

use syn::{Attribute, Expr, Field, Fields, GenericArgument, Item, Lit, Meta, PathArguments, Type};
use toml::{Table, Value};

use super::{assert_current, cell, root};
use crate::util::program::{run, text, trawl};

#[tokio::test]
async fn configuration_page_is_current() {
    let empty = tempfile::tempdir().unwrap();
    let mut command = trawl(&["serve", "--print-config"]);
    command.current_dir(empty.path());
    let defaults: Table = text(&run(command).await.stdout).parse().unwrap();

    let types = read_types();
    let mut page = Page { types: &types, text: String::new() };
    page.section("", "Config", &Value::Table(defaults));
    assert_current("configuration.md", &page.text);
}

fn read_types() -> HashMap<String, Item> {
    let mut files: Vec<PathBuf> =
        ["src/config.rs", "search/src/settings.rs"].map(|file| root().join(file)).into();
    files.extend(fs::read_dir(root().join("src/config")).unwrap().map(|entry| entry.unwrap().path()));
    let items =
        files.iter().flat_map(|file| syn::parse_file(&fs::read_to_string(file).unwrap()).unwrap().items);
    items
        .filter_map(|item| match &item {
            Item::Struct(structure) => Some((structure.ident.to_string(), item)),
            Item::Enum(enumeration) => Some((enumeration.ident.to_string(), item)),
            _ => None,
        })
        .collect()
}

struct Page<'a> {
    types: &'a HashMap<String, Item>,
    text: String,
}

impl Page<'_> {
    /// A struct's settings as a table, then its sections.
    fn section(&mut self, path: &str, name: &str, defaults: &Value) {
        let Some(Item::Struct(section)) = self.types.get(name) else {
            panic!("{name} is no struct of src/config")
        };
        let Fields::Named(fields) = &section.fields else { panic!("{name} has no named fields") };
        let (sections, settings): (Vec<&Field>, Vec<&Field>) =
            fields.named.iter().partition(|field| self.section_of(field).is_some());
        if !settings.is_empty() {
            let title = if path.is_empty() { "Top level".to_owned() } else { format!("`[{path}]`") };
            self.heading(&title, &doc(&section.attrs));
            self.text.push_str("| Setting | Type | Default | Meaning |\n|---|---|---|---|\n");
        }
        for field in settings {
            let (name, kind, meaning) = (name_of(field), self.kind(&field.ty), cell(&doc(&field.attrs)));
            let default = defaults.get(&name).map(|value| format!("`{value}`")).unwrap_or_default();
            writeln!(self.text, "| `{name}` | {kind} | {default} | {meaning} |").unwrap();
        }
        if let [first, _, ..] = sections[..]
            && sections.iter().all(|field| field.ty == first.ty)
        {
            return self.alike(path, &section.attrs, &sections, defaults);
        }
        for field in sections {
            let name = name_of(field);
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            let path = if outermost(&field.ty) == "Vec" { format!("[{path}]") } else { path };
            let none = Value::Table(Table::new());
            let section = self.section_of(field).unwrap();
            self.section(&path, &section, defaults.get(&name).unwrap_or(&none));
        }
    }

    /// Sections with the same settings: one row each, then the settings.
    fn alike(&mut self, path: &str, attributes: &[Attribute], sections: &[&Field], defaults: &Value) {
        self.heading(&format!("`[{path}]`"), &doc(attributes));
        self.text.push_str("| Section | Default | Meaning |\n|---|---|---|\n");
        for field in sections {
            let (name, meaning) = (name_of(field), cell(&doc(&field.attrs)));
            writeln!(self.text, "| `{name}` | `{}` | {meaning} |", defaults[&name]).unwrap();
        }
        let Some(Item::Struct(settings)) = self.types.get(&innermost(&sections[0].ty)) else { return };
        self.text.push_str("\n| Setting of each | Type | Meaning |\n|---|---|---|\n");
        for field in &settings.fields {
            let (name, kind, meaning) = (name_of(field), self.kind(&field.ty), cell(&doc(&field.attrs)));
            writeln!(self.text, "| `{name}` | {kind} | {meaning} |").unwrap();
        }
    }

    fn heading(&mut self, title: &str, text: &str) {
        let separator = if self.text.is_empty() { "" } else { "\n" };
        writeln!(self.text, "{separator}## {title}\n\n{}.\n", cell(text)).unwrap();
    }

    fn section_of(&self, field: &Field) -> Option<String> {
        let name = innermost(&field.ty);
        matches!(self.types.get(&name), Some(Item::Struct(_))).then_some(name)
    }

    fn kind(&self, kind: &Type) -> String {
        let name = innermost(kind);
        let one = match name.as_str() {
            "bool" => "boolean",
            "u16" | "u32" | "u64" | "usize" => "integer",
            "f64" => "number",
            "Url" => "URL",
            "PathBuf" => "path",
            "SocketAddr" => "address:port",
            "SecretString" => "secret",
            "IpNet" => "network",
            _ => "text",
        };
        match self.types.get(&name) {
            Some(Item::Enum(choices)) => {
                let names = choices
                    .variants
                    .iter()
                    .map(|choice| format!("`{}`", choice.ident.to_string().to_lowercase()));
                names.collect::<Vec<_>>().join(" or ")
            }
            _ if outermost(kind) == "Vec" || name == "Scopes" => {
                format!("list of {one}s").replace("address:ports", "addresses")
            }
            _ => one.to_owned(),
        }
    }
}

fn name_of(field: &Field) -> String {
    field.ident.as_ref().unwrap().to_string()
}

fn innermost(kind: &Type) -> String {
    let Type::Path(path) = kind else { return String::new() };
    let last = path.path.segments.last().unwrap();
    if let PathArguments::AngleBracketed(arguments) = &last.arguments
        && let Some(GenericArgument::Type(inner)) = arguments.args.first()
    {
        return innermost(inner);
    }
    last.ident.to_string()
}

fn outermost(kind: &Type) -> String {
    let Type::Path(path) = kind else { return String::new() };
    path.path.segments.last().unwrap().ident.to_string()
}

fn doc(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter_map(|attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            Expr::Lit(literal) => match &literal.lit {
                Lit::Str(line) => Some(line.value()),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    });
    lines.collect::<Vec<_>>().join(" ")
}
