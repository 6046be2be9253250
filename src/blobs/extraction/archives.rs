//! Archives of files, and books in the format EPUB.

use std::io::Write;

use super::{Stop, TextWriter, package::Package, plain, read_inner};

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

/// The pages of a book, by their names where its table of contents is unclear.
pub(super) fn book<W: Write>(content: &[u8], text: &mut TextWriter<W>) -> Result<(), Stop> {
    let mut package = Package::open(content)?;
    if package.has("meta-inf/encryption.xml") && package.has("meta-inf/rights.xml") {
        return Err(Stop::Unreadable(super::ENCRYPTED.to_owned()));
    }
    let is_page = |name: &str| [".xhtml", ".html", ".htm"].iter().any(|extension| name.ends_with(extension));
    let pages: Vec<(usize, String)> =
        package.files().into_iter().filter(|(_, name)| is_page(&name.to_lowercase())).collect();
    for (place, name) in pages {
        let read = package.read_at(place, text).and_then(|bytes| plain::html(&bytes, text));
        text.pass(&name, read)?;
        text.push("\n")?;
        text.flush()?;
    }
    Ok(())
}
