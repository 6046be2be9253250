//! Archives of files, and books in the format EPUB.

use std::{
    collections::{BTreeSet, HashMap},
    io::Write,
};

use super::{
    Stop, TextWriter,
    encoding::decode_marked_up,
    kind::may_have_text,
    package::{Package, resolve},
    plain, read_inner,
    xml::{attribute, each_element},
};

/// Parts that a book lists.
const MAX_PAGES: usize = 20_000;

/// Names of the files, each followed by its text.
pub(super) fn archive<W: Write>(content: &[u8], text: &mut TextWriter<W>) -> Result<(), Stop> {
    let mut package = Package::open(content)?;
    for (place, name) in package.files() {
        text.push_line(&name)?;
        let read = package.read_at(place, text).and_then(|bytes| read_inner(&name, &bytes, text));
        text.pass(&name, read)?;
    }
    Ok(())
}

/// Pages in the order of a book's spine, then the others.
pub(super) fn book<W: Write>(content: &[u8], text: &mut TextWriter<W>) -> Result<(), Stop> {
    let mut package = Package::open(content)?;
    if package.has("meta-inf/encryption.xml") && package.has("meta-inf/rights.xml") {
        return Err(Stop::Unreadable(super::ENCRYPTED.to_owned()));
    }
    let mut pages = spine(&mut package, text);
    let is_page = |name: &str| [".xhtml", ".html", ".htm"].iter().any(|extension| name.ends_with(extension));
    let spine: BTreeSet<String> = pages.iter().cloned().collect();
    pages.extend(package.names().filter(|name| is_page(name) && !spine.contains(*name)).map(str::to_owned));
    for name in pages {
        let read = package.read(&name, text);
        let read =
            read.and_then(|bytes| if may_have_text(&bytes) { plain::html(&bytes, text) } else { Ok(()) });
        text.pass(&name, read)?;
        text.push("\n")?;
        text.flush()?;
    }
    Ok(())
}

/// Names of a book's parts, as its package orders them.
fn spine<W: Write>(package: &mut Package<'_>, text: &mut TextWriter<W>) -> Vec<String> {
    let mut root = None;
    let container = package.read("meta-inf/container.xml", text).unwrap_or_default();
    each_element(&decode_marked_up(&container), |name, element| {
        if name == "rootfile" && root.is_none() {
            root = attribute(element, "full-path").map(|path| resolve("", &path));
        }
    });
    let root = root.unwrap_or_default();
    let folder = root.rsplit_once('/').map_or("", |(folder, _)| folder);
    let listed = package.read(&root, text).unwrap_or_default();
    let (mut parts, mut order) = (HashMap::new(), Vec::new());
    each_element(&decode_marked_up(&listed), |name, element| match name {
        "item" if parts.len() < MAX_PAGES => {
            let target = attribute(element, "href").unwrap_or_default();
            let target = target.split('#').next().unwrap_or_default();
            parts.extend(attribute(element, "id").map(|id| (id, resolve(folder, target))));
        }
        "itemref" => {
            let part = attribute(element, "idref").and_then(|id| parts.remove(&id));
            order.extend(part.filter(|part| package.has(part)));
        }
        _ => {}
    });
    order
}
