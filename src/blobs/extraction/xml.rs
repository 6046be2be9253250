//! Text of XML, by the names of its elements.

use std::io::Write;

use quick_xml::{
    Reader, XmlVersion,
    escape::resolve_predefined_entity,
    events::{BytesRef, BytesStart, Event},
};

use super::{Stop, TextWriter};

/// Depth beyond which a part is not read on.
pub(super) const MAX_DEPTH: usize = 64;

/// Local names of elements by what they mean for the text.
pub(super) struct ElementNames {
    /// Elements whose characters are text.
    pub(super) texts: &'static [&'static str],
    /// Elements that end a line.
    pub(super) lines: &'static [&'static str],
    pub(super) spaces: &'static [&'static str],
    pub(super) hyphens: &'static [&'static str],
    /// Elements without visible text, or whose text also appears elsewhere.
    pub(super) hidden: &'static [&'static str],
    /// Elements outside of which there is no text; empty if it is everywhere.
    pub(super) within: &'static [&'static str],
    /// Elements whose attribute `name` is shown, inside of another.
    pub(super) labelled: Option<(&'static str, &'static str)>,
}

/// Nesting of the elements that matter.
#[derive(Default)]
struct Place {
    depth: usize,
    texts: usize,
    hidden: usize,
    within: usize,
    labelling: usize,
}

impl Place {
    fn enter(&mut self, name: &str, names: &ElementNames) -> Result<(), Stop> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Stop::Unreadable(format!("its elements are nested deeper than {MAX_DEPTH}")));
        }
        self.texts += usize::from(names.texts.contains(&name));
        self.hidden += usize::from(names.hidden.contains(&name));
        self.within += usize::from(names.within.contains(&name));
        self.labelling += usize::from(names.labelled.is_some_and(|(outer, _)| outer == name));
        Ok(())
    }

    fn leave(&mut self, name: &str, names: &ElementNames) {
        self.depth = self.depth.saturating_sub(1);
        let left = |count: &mut usize, is_of: bool| *count = count.saturating_sub(usize::from(is_of));
        left(&mut self.texts, names.texts.contains(&name));
        left(&mut self.hidden, names.hidden.contains(&name));
        left(&mut self.within, names.within.contains(&name));
        left(&mut self.labelling, names.labelled.is_some_and(|(outer, _)| outer == name));
    }

    fn is_shown(&self, names: &ElementNames) -> bool {
        self.hidden == 0 && (names.within.is_empty() || self.within > 0)
    }
}

/// Writes the text of a document; its elements may be unclosed.
pub(super) fn read_xml<W: Write>(
    xml: &str,
    names: &ElementNames,
    text: &mut TextWriter<W>,
) -> Result<(), Stop> {
    let mut reader = lenient_reader(xml);
    let mut place = Place::default();
    loop {
        let is_text = place.texts > 0 && place.is_shown(names);
        match reader.read_event().map_err(Stop::unreadable)? {
            Event::Start(element) => {
                let name = local_name(&element);
                place.enter(name, names)?;
                if place.labelling > 0 && names.labelled.is_some_and(|(_, inner)| inner == name) {
                    text.push_line(&attribute(&element, "name").unwrap_or_default())?;
                }
            }
            Event::End(element) => {
                let name = element.local_name();
                let name = name.as_ref();
                place.leave(name, names);
                if names.lines.contains(&name) && place.is_shown(names) {
                    text.push("\n")?;
                }
            }
            Event::Empty(element) if place.is_shown(names) => {
                let name = local_name(&element);
                if names.lines.contains(&name) {
                    text.push("\n")?;
                } else if names.spaces.contains(&name) {
                    text.push(" ")?;
                } else if names.hyphens.contains(&name) {
                    text.push("-")?;
                }
            }
            Event::Text(piece) if is_text => text.push(&piece.xml_content(XmlVersion::Implicit1_0))?,
            Event::CData(piece) if is_text => text.push(&piece.xml_content(XmlVersion::Implicit1_0))?,
            Event::GeneralRef(reference) if is_text => text.push(&resolved(&reference))?,
            Event::Eof => return Ok(()),
            _ => {}
        }
    }
}

pub(super) fn lenient_reader(xml: &str) -> Reader<&[u8]> {
    let mut reader = Reader::from_str(xml);
    // Unclosed elements must not use memory.
    reader.config_mut().check_end_names = false;
    reader.config_mut().allow_unmatched_ends = true;
    reader.config_mut().allow_dangling_amp = true;
    reader
}

/// The local name of the first element.
pub(super) fn root_name(xml: &str) -> Option<String> {
    let mut reader = lenient_reader(xml);
    loop {
        match reader.read_event().ok()? {
            Event::Start(element) | Event::Empty(element) => return Some(local_name(&element).to_owned()),
            Event::Eof => return None,
            _ => {}
        }
    }
}

pub(super) fn local_name<'e>(element: &'e BytesStart<'_>) -> &'e str {
    let name = element.name().into_inner();
    name.rsplit_once(':').map_or(name, |(_, local)| local)
}

/// An attribute by its local name.
pub(super) fn attribute(element: &BytesStart<'_>, name: &str) -> Option<String> {
    let mut attributes = element.attributes();
    attributes.with_checks(false);
    let found =
        attributes.filter_map(Result::ok).find(|attribute| attribute.key.local_name().as_ref() == name)?;
    Some(found.normalized_value(XmlVersion::Implicit1_0).ok()?.into_owned())
}

/// The characters of a reference; none if it is unknown.
pub(super) fn resolved(reference: &BytesRef<'_>) -> String {
    if let Ok(Some(character)) = reference.resolve_char_ref() {
        return character.to_string();
    }
    resolve_predefined_entity(&reference.xml10_content()).unwrap_or_default().to_owned()
}
