//! Characters of embedded fonts that tell only their collection, such as Adobe-Japan1.

use std::collections::HashMap;

use hayro_interpret::{
    font::Glyph,
    hayro_cmap::{BfString, CMap, CidFamily, load_embedded},
    hayro_syntax::{
        object::{Array, Dict, Name, Object, String as PdfString},
        page::Page,
    },
};

/// Fonts of a page without a map to Unicode whose codes are numbers of a collection.
pub(super) struct CollectionFonts<'a> {
    fonts: Dict<'a>,
    /// By name, once a glyph needs them.
    maps: Option<HashMap<String, CMap>>,
}

impl<'a> CollectionFonts<'a> {
    pub(super) fn of(page: &Page<'a>) -> Self {
        Self { fonts: page.resources().fonts.clone(), maps: None }
    }

    pub(super) fn character_of(&mut self, glyph: &Glyph<'_>) -> Option<BfString> {
        let Glyph::Outline(glyph) = glyph else { return None };
        let fonts = &self.fonts;
        let maps = self.maps.get_or_insert_with(|| maps_of(fonts));
        if maps.is_empty() {
            return None;
        }
        let name = glyph.font_data()?.postscript_name?;
        maps.get(&name)?.lookup_bf_string(glyph.char_code())
    }
}

fn maps_of(fonts: &Dict<'_>) -> HashMap<String, CMap> {
    fonts.keys().filter_map(|name| map_of(&fonts.get::<Dict<'_>>(name)?)).collect()
}

fn map_of(font: &Dict<'_>) -> Option<(String, CMap)> {
    let Some(Object::Name(encoding)) = font.get::<Object<'_>>(b"Encoding") else { return None };
    if font.contains_key(b"ToUnicode") || ![&b"Identity-H"[..], b"Identity-V"].contains(&encoding.as_ref()) {
        return None;
    }
    let descendant = font.get::<Array<'_>>(b"DescendantFonts")?.iter::<Dict<'_>>().next()?;
    let info = descendant.get::<Dict<'_>>(b"CIDSystemInfo")?;
    let text = |key: &[u8]| info.get::<PdfString<'_>>(key);
    let family = CidFamily::from_registry_ordering(&text(b"Registry")?, &text(b"Ordering")?);
    let map = CMap::parse(load_embedded(family.ucs2_cmap()?)?, load_embedded)?;
    let name = font.get::<Name<'_>>(b"BaseFont")?;
    let name = name.as_str();
    // Fonts of which only used glyphs are embedded have six letters before their name.
    let name = name.split_once('+').filter(|(prefix, _)| prefix.len() == 6).map_or(name, |(_, name)| name);
    Some((name.to_owned(), map))
}
