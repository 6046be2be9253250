//! `OpenDocument`: texts, sheets, slides and drawings (ISO/IEC 26300).

use std::io::Write;

use super::{
    ENCRYPTED, Stop, TextWriter,
    encoding::decode_marked_up_noted,
    package::Package,
    read_inner,
    xml::{ElementNames, PROPERTIES, read_xml},
};

const BODY: ElementNames = ElementNames {
    // `creator` of a comment.
    texts: &["p", "h", "ruby-text", "creator"],
    lines: &["p", "h", "line-break", "creator"],
    spaces: &["s", "tab"],
    hyphens: &[],
    asides: &["note", "annotation", "frame", "custom-shape", "rect", "ellipse", "ruby-text"],
    hidden: &["tracked-changes", "note-citation", "binary-data"],
    within: &[],
    labelled: Some(("spreadsheet", "table")),
    titles: &[],
    shapes: &[],
};

/// Of the styles, headers and footers of pages are shown, and what each slide repeats.
const STYLES: ElementNames = ElementNames {
    hidden: &["page-number", "date-time", "notes"],
    within: &[
        "header",
        "header-left",
        "header-first",
        "footer",
        "footer-left",
        "footer-first",
        "master-page",
    ],
    shapes: &["frame", "custom-shape"],
    ..BODY
};

const BODY_PART: &str = "content.xml";
const STYLES_PART: &str = "styles.xml";
const PROPERTIES_PART: &str = "meta.xml";

/// Endings of pictures with words.
const PICTURES: [&str; 3] = [".emf", ".pdf", ".wmf"];

pub(super) fn open_document<W: Write>(content: &[u8], text: &mut TextWriter<W>) -> Result<(), Stop> {
    let mut package = Package::open(content)?;
    let manifest = package.read("META-INF/manifest.xml", text).unwrap_or_default();
    if String::from_utf8_lossy(&manifest).contains("encryption-data") {
        return Err(Stop::Unreadable(ENCRYPTED.to_owned()));
    }
    // Charts and formulas are documents in folders of their own.
    let objects = package.names().filter(|name| name.ends_with("/content.xml")).map(str::to_owned);
    let parts: Vec<String> = [BODY_PART, STYLES_PART]
        .into_iter()
        .filter(|name| package.has(name))
        .map(str::to_owned)
        .chain(objects)
        .chain(package.has(PROPERTIES_PART).then(|| PROPERTIES_PART.to_owned()))
        .collect();
    for part in parts {
        let names = match part.as_str() {
            STYLES_PART => &STYLES,
            PROPERTIES_PART => &PROPERTIES,
            _ => &BODY,
        };
        let read = package.read(&part, text).and_then(|bytes| {
            let xml = decode_marked_up_noted(&bytes, text);
            read_xml(&xml, names, text)
        });
        text.pass(&part, read)?;
        text.push("\n")?;
        text.flush()?;
    }
    let is_picture =
        |name: &str| name.starts_with("pictures/") && PICTURES.iter().any(|ending| name.ends_with(ending));
    let pictures: Vec<String> = package.names().filter(|name| is_picture(name)).map(str::to_owned).collect();
    for picture in pictures {
        let read = package.read(&picture, text).and_then(|bytes| read_inner(&picture, &bytes, text));
        text.pass(&picture, read)?;
    }
    Ok(())
}

/// A document in one piece of XML.
pub(super) fn flat<W: Write>(content: &[u8], text: &mut TextWriter<W>) -> Result<(), Stop> {
    let xml = decode_marked_up_noted(content, text);
    read_xml(&xml, &BODY, text)
}
