//! The texts of a search content item, read from the JSON that it is answered as.

use std::borrow::Cow;

use serde::Deserialize;

/// The texts that a document is found by. What is missing, or is no text, is absent.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Texts<'a> {
    /// `title`.
    #[serde(borrow)]
    pub title: Option<Text<'a>>,
    /// `subTitle`.
    #[serde(borrow)]
    pub sub_title: Option<Text<'a>>,
    /// `brief`.
    #[serde(borrow)]
    pub brief: Option<Text<'a>>,
}

/// A text, borrowed where nothing in it is escaped.
#[derive(Debug, Deserialize)]
pub struct Text<'a>(#[serde(borrow)] pub Cow<'a, str>);

impl<'a> Texts<'a> {
    /// Reads the item; one that cannot be read has no texts.
    pub fn read(item: &'a str) -> Self {
        serde_json::from_str(item).unwrap_or_default()
    }

    /// The texts one after the other, as far as this many characters go.
    pub(crate) fn beginning(&self, mut characters: usize) -> impl Iterator<Item = &str> {
        [&self.title, &self.sub_title, &self.brief].into_iter().flatten().map(move |Text(text)| {
            let end = text.char_indices().nth(characters).map_or(text.len(), |(end, _)| end);
            characters -= text[..end].chars().count();
            &text[..end]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Texts;

    fn beginning(item: &str, characters: usize) -> Vec<String> {
        Texts::read(item).beginning(characters).map(str::to_owned).collect()
    }

    #[test]
    fn texts_are_read_as_far_as_is_asked() {
        let item = r#"{"id":"1","title":"a\nb","subTitle":null,"brief":"中文字"}"#;
        assert_eq!(beginning(item, 100), ["a\nb", "中文字"]);
        assert_eq!(beginning(item, 5), ["a\nb", "中文"]);
        assert_eq!(beginning(item, 2), ["a\n", ""]);
    }

    #[test]
    fn what_is_no_item_has_no_texts() {
        for item in ["", "7", "{\"title\":7}", "{\"other\":\"x\"}"] {
            assert_eq!(beginning(item, 100), Vec::<String>::new(), "{item}");
        }
    }
}
