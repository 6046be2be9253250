//! Text of XML, by the names of its elements.

use std::{io::Write, mem::take};

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
    /// Elements that are lines of their own, or end one.
    pub(super) lines: &'static [&'static str],
    pub(super) spaces: &'static [&'static str],
    pub(super) hyphens: &'static [&'static str],
    /// Elements within a line whose text is shown behind it: notes, text boxes, ruby.
    pub(super) asides: &'static [&'static str],
    /// Elements without visible text, or whose text also appears elsewhere.
    pub(super) hidden: &'static [&'static str],
    /// Elements outside of which there is no text; empty if it is everywhere.
    pub(super) within: &'static [&'static str],
    /// Elements whose attribute `name` is shown, inside of another.
    pub(super) labelled: Option<(&'static str, &'static str)>,
    /// Elements and their attributes that are lines of their own: authors of comments.
    pub(super) titles: &'static [(&'static str, &'static str)],
    /// Shapes, hidden once a mark tells that they are placeholders.
    pub(super) shapes: &'static [&'static str],
}

/// Title, subject and keywords in the properties of a document.
pub(super) const PROPERTIES: ElementNames = ElementNames {
    texts: &["title", "subject", "keywords", "keyword"],
    lines: &["title", "subject", "keywords", "keyword"],
    spaces: &[],
    hyphens: &[],
    asides: &[],
    hidden: &[],
    within: &[],
    labelled: None,
    titles: &[],
    shapes: &[],
};

impl ElementNames {
    fn mark(&self, name: &str) -> &'static str {
        if self.spaces.contains(&name) {
            " "
        } else if self.hyphens.contains(&name) {
            "-"
        } else {
            ""
        }
    }
}

/// Nesting of the elements that matter.
#[derive(Default)]
struct Nesting {
    depth: usize,
    texts: usize,
    /// Texts within asides.
    aside_texts: usize,
    /// Lines that are open outside of asides.
    lines: usize,
    asides: usize,
    hidden: usize,
    within: usize,
    labelling: usize,
    is_placeholder: bool,
}

impl Nesting {
    fn enter(&mut self, name: &str, names: &ElementNames) -> Result<(), Stop> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Stop::Unreadable(format!("its elements are nested deeper than {MAX_DEPTH}")));
        }
        self.asides += usize::from(names.asides.contains(&name));
        *self.texts() += usize::from(names.texts.contains(&name));
        self.lines += usize::from(self.asides == 0 && names.lines.contains(&name));
        self.hidden += usize::from(names.hidden.contains(&name));
        self.within += usize::from(names.within.contains(&name));
        self.labelling += usize::from(names.labelled.is_some_and(|(outer, _)| outer == name));
        Ok(())
    }

    fn leave(&mut self, name: &str, names: &ElementNames) {
        self.depth = self.depth.saturating_sub(1);
        let left = |count: &mut usize, is_of: bool| *count = count.saturating_sub(usize::from(is_of));
        left(self.texts(), names.texts.contains(&name));
        left(&mut self.lines, self.asides == 0 && names.lines.contains(&name));
        left(&mut self.asides, names.asides.contains(&name));
        left(&mut self.hidden, names.hidden.contains(&name));
        left(&mut self.within, names.within.contains(&name));
        self.is_placeholder &= !names.shapes.contains(&name);
        left(&mut self.labelling, names.labelled.is_some_and(|(outer, _)| outer == name));
    }

    fn texts(&mut self) -> &mut usize {
        if self.asides > 0 { &mut self.aside_texts } else { &mut self.texts }
    }

    fn is_shown(&self, names: &ElementNames) -> bool {
        self.hidden == 0 && !self.is_placeholder && (names.within.is_empty() || self.within > 0)
    }
}

/// The line that is read, and the asides that follow it.
struct Lines<'t, W: Write> {
    text: &'t mut TextWriter<W>,
    is_begun: bool,
    aside: String,
}

impl<W: Write> Lines<'_, W> {
    fn push(&mut self, piece: &str, nesting: &Nesting) -> Result<(), Stop> {
        if nesting.asides > 0 {
            self.aside.push_str(piece);
            return Ok(());
        }
        self.is_begun |= !piece.is_empty();
        self.text.push(piece)
    }

    /// Ends the line, if it has begun.
    fn begin(&mut self, nesting: &Nesting) -> Result<(), Stop> {
        if nesting.asides > 0 {
            self.aside.push('\n');
        } else if self.is_begun {
            self.is_begun = false;
            self.text.push("\n")?;
        }
        Ok(())
    }

    fn end(&mut self, nesting: &Nesting) -> Result<(), Stop> {
        if nesting.asides > 0 || nesting.lines > 0 {
            return self.begin(nesting);
        }
        self.is_begun = false;
        self.text.push("\n")?;
        self.push_asides()
    }

    fn push_asides(&mut self) -> Result<(), Stop> {
        if self.aside.is_empty() { Ok(()) } else { self.text.push_line(&take(&mut self.aside)) }
    }
}

/// Writes the text of a document; its elements may be unclosed.
pub(super) fn read_xml<W: Write>(
    xml: &str,
    names: &ElementNames,
    text: &mut TextWriter<W>,
) -> Result<(), Stop> {
    let mut lines = Lines { text, is_begun: false, aside: String::new() };
    let read = read_lines(xml, names, &mut lines);
    lines.push_asides()?;
    read
}

fn read_lines<W: Write>(xml: &str, names: &ElementNames, lines: &mut Lines<'_, W>) -> Result<(), Stop> {
    let mut reader = lenient_reader(xml);
    let mut nesting = Nesting::default();
    loop {
        let is_text = *nesting.texts() > 0 && nesting.is_shown(names);
        match reader.read_event().map_err(Stop::unreadable)? {
            Event::Start(element) => {
                let name = local_name(&element);
                nesting.enter(name, names)?;
                nesting.is_placeholder |= is_placeholder(&element, names);
                if names.lines.contains(&name) && nesting.is_shown(names) {
                    lines.begin(&nesting)?;
                }
                if nesting.is_shown(names) {
                    lines.push(names.mark(name), &nesting)?;
                }
                lines.push(&title_of(&element, names).unwrap_or_default(), &nesting)?;
                if nesting.labelling > 0 && names.labelled.is_some_and(|(_, inner)| inner == name) {
                    lines.text.push_line(&attribute(&element, "name").unwrap_or_default())?;
                }
            }
            Event::End(element) => {
                let name = element.local_name();
                let name = name.as_ref();
                nesting.leave(name, names);
                if names.lines.contains(&name) && nesting.is_shown(names) {
                    lines.end(&nesting)?;
                } else if names.asides.contains(&name) && nesting.lines + nesting.asides == 0 {
                    lines.push_asides()?;
                }
            }
            Event::Empty(element) if nesting.is_shown(names) => {
                let name = local_name(&element);
                nesting.is_placeholder |= !names.shapes.contains(&name) && is_placeholder(&element, names);
                lines.push(&title_of(&element, names).unwrap_or_default(), &nesting)?;
                if names.lines.contains(&name) {
                    lines.push("\n", &nesting)?;
                } else {
                    lines.push(names.mark(name), &nesting)?;
                }
            }
            Event::Text(piece) if is_text => {
                lines.push(&piece.xml_content(XmlVersion::Implicit1_0), &nesting)?;
            }
            Event::CData(piece) if is_text => {
                lines.push(&piece.xml_content(XmlVersion::Implicit1_0), &nesting)?;
            }
            Event::GeneralRef(reference) if is_text => lines.push(&resolved(&reference), &nesting)?,
            Event::Eof => return Ok(()),
            _ => {}
        }
    }
}

fn title_of(element: &BytesStart<'_>, names: &ElementNames) -> Option<String> {
    let (_, shown) = names.titles.iter().find(|(name, _)| *name == local_name(element))?;
    Some(format!("{}\n", attribute(element, shown)?))
}

/// Whether a shape holds the place of another: `<p:ph>` in it, or `presentation:placeholder` of it.
fn is_placeholder(element: &BytesStart<'_>, names: &ElementNames) -> bool {
    match local_name(element) {
        "ph" => !names.shapes.is_empty(),
        name => {
            names.shapes.contains(&name)
                && attribute(element, "placeholder").is_some_and(|value| value == "true")
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

/// Reads the start of each element up to damage, by its local name.
pub(super) fn each_element(xml: &str, mut read: impl FnMut(&str, &BytesStart<'_>)) {
    let mut reader = lenient_reader(xml);
    while let Ok(event) = reader.read_event() {
        match event {
            Event::Start(element) | Event::Empty(element) => read(local_name(&element), &element),
            Event::Eof => break,
            _ => {}
        }
    }
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
