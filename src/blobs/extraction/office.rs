//! Word, Excel and `PowerPoint` since 2007: packages of XML parts (ECMA-376).
//!
//! The main part is found by its relationship. All other parts are told by their first element, so that text boxes,
//! charts, comments and notes are found wherever a program has put them.

use std::{collections::BTreeSet, io::Write, path::Path};

use super::{
    Stop, TextWriter,
    encoding::decode_marked_up_noted,
    package::{Package, Relationship, relationship_of},
    read_inner, sheets,
    xml::{ElementNames, PROPERTIES, each_element, read_xml},
};

const NAMES: ElementNames = ElementNames {
    // `text` and `author` of comments, `Data` of workbooks in one XML file.
    texts: &["t", "v", "text", "Data", "author"],
    lines: &["p", "br", "cr", "pt", "tx", "comment", "author", "cm", "threadedComment", "Cell", "Row"],
    spaces: &["tab", "ptab", "sym"],
    hyphens: &["noBreakHyphen"],
    asides: &["txbxContent", "rt"],
    // Fallbacks and moved text repeat text. Numbers of charts are not shown.
    hidden: &["Fallback", "moveFrom", "numCache", "numLit", "binData", "binaryData"],
    within: &[],
    labelled: None,
    titles: &[("comment", "author"), ("cmAuthor", "name"), ("author", "name"), ("person", "displayName")],
    shapes: &[],
};

/// Of masters and layouts of slides, what is not filled in.
const MASTER_NAMES: ElementNames = ElementNames { shapes: &["sp", "pic", "graphicFrame"], ..NAMES };

/// First elements of parts with text beside the main one.
const ROOTS: [&str; 16] = [
    "hdr",
    "ftr",
    "footnotes",
    "endnotes",
    "comments",
    "sld",
    "notes",
    "cmLst",
    "chartSpace",
    "userShapes",
    "dataModel",
    "wsDr",
    "ThreadedComments",
    "cmAuthorLst",
    "authorLst",
    "personList",
];

/// Parts of names in the order of their reading; the others follow by name.
const ORDER: [&str; 6] = ["slides/slide", "/header", "/footer", "/footnotes", "/endnotes", "/comments"];

/// Extensions of parts that are files of their own.
const FILES: [&str; 8] = ["emf", "htm", "html", "mht", "mhtml", "rtf", "txt", "wmf"];

pub(super) fn office<W: Write>(content: &[u8], text: &mut TextWriter<W>) -> Result<(), Stop> {
    let mut package = Package::open(content)?;
    let main = main_part(&mut package, text);
    let is_binary =
        Path::new(&main).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("bin"));
    let mut read = BTreeSet::from([main.clone()]);
    let main_read = if is_binary {
        sheets::binary::workbook(content, text)
    } else {
        read_main(&mut package, &main, &mut read, text)
    };
    text.pass(&main, main_read)?;
    let mut others: Vec<String> =
        package.names().filter(|name| !read.contains(*name)).map(str::to_owned).collect();
    others.sort_by_cached_key(|name| order_of(name));
    for name in others {
        let other_read = read_other(&mut package, &name, text);
        text.pass(&name, other_read)?;
    }
    Ok(())
}

/// Word and Excel documents in one XML file.
pub(super) fn flat<W: Write>(content: &[u8], text: &mut TextWriter<W>) -> Result<(), Stop> {
    let xml = decode_marked_up_noted(content, text);
    read_xml(&xml, &NAMES, text)
}

/// By relationship, else by its usual name.
fn main_part<W: Write>(package: &mut Package<'_>, text: &mut TextWriter<W>) -> String {
    let named = package
        .relationships("", text)
        .into_iter()
        .find(|relationship| relationship.kind == "officeDocument" && package.has(&relationship.target));
    let usual = ["word/document.xml", "ppt/presentation.xml", "xl/workbook.xml", "xl/workbook.bin"];
    named.map_or_else(
        || usual.into_iter().find(|name| package.has(name)).unwrap_or("word/document.xml").to_owned(),
        |relationship| relationship.target,
    )
}

fn read_main<W: Write>(
    package: &mut Package<'_>,
    main: &str,
    read: &mut BTreeSet<String>,
    text: &mut TextWriter<W>,
) -> Result<(), Stop> {
    let bytes = package.read(main, text)?;
    let xml = decode_marked_up_noted(&bytes, text);
    let parts = package.relationships(main, text);
    match package.root_of(main).as_deref() {
        Some("workbook") => sheets::workbook(package, &xml, &parts, read, text),
        Some("presentation") => {
            let mut layouts = BTreeSet::new();
            for slide in slides(&xml, &parts) {
                let slide_read = read_part(package, &slide, &NAMES, text);
                text.pass(&slide, slide_read)?;
                layouts.extend(related(package, &slide, "slideLayout", text));
                read.insert(slide);
            }
            let mut masters = BTreeSet::new();
            for layout in &layouts {
                masters.extend(related(package, layout, "slideMaster", text));
            }
            for part in masters.iter().chain(&layouts) {
                let part_read = read_part(package, part, &MASTER_NAMES, text);
                text.pass(part, part_read)?;
            }
            Ok(())
        }
        _ => {
            read_xml(&xml, &NAMES, text)?;
            text.push("\n")
        }
    }
}

/// Slides in the order of the show.
fn slides(xml: &str, parts: &[Relationship]) -> Vec<String> {
    let mut slides = Vec::new();
    each_element(xml, |name, element| {
        if name == "sldId" && slides.len() < parts.len() {
            slides.extend(relationship_of(element, parts).map(|part| part.target.clone()));
        }
    });
    slides
}

/// Parts of a kind that a part names.
fn related<W: Write>(
    package: &mut Package<'_>,
    part: &str,
    kind: &str,
    text: &mut TextWriter<W>,
) -> Vec<String> {
    let related = package.relationships(part, text).into_iter();
    related.filter(|part| part.kind == kind && package.has(&part.target)).map(|part| part.target).collect()
}

fn read_part<W: Write>(
    package: &mut Package<'_>,
    name: &str,
    names: &ElementNames,
    text: &mut TextWriter<W>,
) -> Result<(), Stop> {
    let bytes = package.read(name, text)?;
    let xml = decode_marked_up_noted(&bytes, text);
    let read = read_xml(&xml, names, text);
    text.push("\n")?;
    text.flush()?;
    read
}

fn read_other<W: Write>(package: &mut Package<'_>, name: &str, text: &mut TextWriter<W>) -> Result<(), Stop> {
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    if extension == "xml" {
        match package.root_of(name) {
            Some(root) if ROOTS.contains(&root.as_str()) => read_part(package, name, &NAMES, text)?,
            Some(root) if root == "coreProperties" => read_part(package, name, &PROPERTIES, text)?,
            _ => {}
        }
    } else if extension == "bin" && ["/comments", "/worksheets/"].iter().any(|part| name.contains(part)) {
        let bytes = package.read(name, text)?;
        sheets::binary::beside_cells(&bytes, text)?;
    } else if name.contains("/embeddings/") || FILES.contains(&extension) {
        let bytes = package.read(name, text)?;
        read_inner(name, &bytes, text)?;
    }
    Ok(())
}

/// Place in the order, folder and name before the number, number, name; pictures are last.
fn order_of(name: &str) -> (usize, String, u32, String) {
    let place = ORDER.iter().position(|part| name.contains(part));
    let place = place.unwrap_or(ORDER.len() + usize::from(name.contains("/media/")));
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let letters = stem.trim_end_matches(|character: char| character.is_ascii_digit());
    (place, letters.to_owned(), stem[letters.len()..].parse().unwrap_or_default(), name.to_owned())
}
