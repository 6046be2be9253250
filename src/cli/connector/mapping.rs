//! Mappings of files and of the gallery.

use std::{
    fs,
    io::{self, Write as _},
    path::Path,
};

use trawl_connectors::{
    DeclaredOrder, GalleryEntry, InterpreterPool, MappedCalls, Method, gallery, gallery_file, read_entry,
};
use url::Url;

use crate::confined::process::this_program;

/// An existing file goes before a name of the gallery. `acts_for_person` takes its headers of people.
pub(super) fn read(file: &Path, acts_for_person: bool) -> Result<GalleryEntry, String> {
    let failed = |reason: String| format!("{}: {reason}", file.display());
    let name = file.to_str().unwrap_or_default();
    let text = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) => match gallery_file(name) {
            Some(text) => text.to_owned(),
            None => return Err(failed(format!("{error}; `trawl connector gallery` lists the names"))),
        },
    };
    let mut entry = read_entry(name, &text).map_err(|error| failed(error.to_string()))?;
    if let Some(theirs) = entry.person.as_ref().filter(|_| acts_for_person) {
        entry.mapping.request.headers = Some(theirs.headers.clone());
    }
    Ok(entry)
}

pub(super) fn address(entry: &GalleryEntry) -> Result<Url, String> {
    let address = entry.address.parse();
    address.map_err(|_| "address: must be an absolute address, or give --url".to_owned())
}

pub(super) fn method(entry: &GalleryEntry) -> Method {
    if entry.method == Method::Post.name() { Method::Post } else { Method::Get }
}

pub(super) fn order(entry: &GalleryEntry) -> DeclaredOrder {
    if entry.order == "time" { DeclaredOrder::Time } else { DeclaredOrder::Relevance }
}

pub(super) async fn compile(entry: GalleryEntry) -> Result<MappedCalls, String> {
    let failed = |reason: String| format!("mapping: {reason}");
    let pool = InterpreterPool::new(this_program().map_err(|error| failed(error.to_string()))?);
    pool.compile(&entry.mapping).await.map_err(|error| failed(error.to_string()))?;
    Ok(MappedCalls::new(entry.mapping, pool))
}

pub(super) fn print_list() -> Result<(), String> {
    let written = gallery()
        .iter()
        .try_for_each(|entry| writeln!(io::stdout(), "{:18} {}: {}", entry.id, entry.name, entry.about));
    written.map_err(|error| error.to_string())
}

pub(super) fn print(name: &str) -> Result<(), String> {
    let unknown = || format!("{name}: is not in the gallery; `trawl connector gallery` lists it");
    let file = gallery_file(name).ok_or_else(unknown)?;
    write!(io::stdout(), "{file}").map_err(|error| error.to_string())
}
