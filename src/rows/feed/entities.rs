//! Entities that a document type declares inside of it.

use std::borrow::Cow;
use std::collections::HashMap;

/// Bytes that all references together may become.
const MAX_EXPANDED_BYTES: usize = 1 << 20;
const MAX_ENTITIES: usize = 256;
const MAX_NAME_BYTES: usize = 64;

/// Names and texts; a reference within a text is not followed.
#[derive(Default)]
pub(super) struct Entities {
    texts: HashMap<String, String>,
    expanded: usize,
}

impl Entities {
    /// Takes `<!ENTITY name "text">` from a document type.
    pub(super) fn declare(&mut self, doctype: &str) {
        for declaration in doctype.split("<!ENTITY").skip(1).take(MAX_ENTITIES) {
            let mut parts = declaration.splitn(3, ['"', '\'']);
            let (Some(name), Some(text)) = (parts.next(), parts.next()) else { continue };
            let name = name.trim();
            // Others are outside of the document, or of the document type alone.
            if !name.is_empty() && !name.contains(char::is_whitespace) {
                self.texts.entry(name.to_owned()).or_insert_with(|| text.to_owned());
            }
        }
    }

    /// Replaces references to declared entities, as far as their size allows.
    pub(super) fn resolve<'t>(&mut self, text: &'t str) -> Cow<'t, str> {
        if self.texts.is_empty() || !text.contains('&') {
            return text.into();
        }
        let (mut resolved, mut rest) = (String::with_capacity(text.len()), text);
        while let Some((before, behind)) = rest.split_once('&') {
            resolved.push_str(before);
            rest = behind;
            let end = behind.bytes().take(MAX_NAME_BYTES).position(|byte| byte == b';');
            let reference = end.and_then(|end| Some((self.texts.get(&behind[..end])?, &behind[end + 1..])));
            match reference {
                Some((text, behind)) if self.expanded + text.len() <= MAX_EXPANDED_BYTES => {
                    self.expanded += text.len();
                    resolved.push_str(text);
                    rest = behind;
                }
                _ => resolved.push('&'),
            }
        }
        resolved.push_str(rest);
        resolved.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declared_entities_are_replaced_once() {
        let mut entities = Entities::default();
        entities.declare("<!DOCTYPE rss [<!ENTITY a \"A &b;\"><!ENTITY b 'B'>\n<!ENTITY % p \"P\"><!ENTITY x SYSTEM \"file:///x\">]>");
        assert_eq!(entities.resolve("&a; &b;&c; &p; &x; & &amp;"), "A &b; B&c; &p; &x; & &amp;");
    }

    #[test]
    fn growth_of_all_references_is_bounded() {
        let mut entities = Entities::default();
        entities.declare(&format!("<!ENTITY a \"{}\">", "x".repeat(1000)));
        let resolved = entities.resolve(&"&a;".repeat(100_000)).into_owned();
        assert!(resolved.len() < MAX_EXPANDED_BYTES + 300_000);
    }
}
