use std::borrow::Cow;

use serde::Deserialize;

/// Matched texts; missing or malformed ones are `None`.
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

/// Borrowed unless it contains escapes.
#[derive(Debug, Deserialize)]
pub struct Text<'a>(#[serde(borrow)] pub Cow<'a, str>);

impl<'a> Texts<'a> {
    /// Reads an item; a malformed one has no texts.
    pub fn read(item: &'a str) -> Self {
        serde_json::from_str(item).unwrap_or_default()
    }

    /// Yields the texts in order, up to this many characters.
    pub fn beginning(&self, mut characters: usize) -> impl Iterator<Item = &str> {
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
    fn texts_are_cut_at_the_character_limit() {
        let item = r#"{"id":"1","title":"a\nb","subTitle":null,"brief":"中文字"}"#;
        assert_eq!(beginning(item, 100), ["a\nb", "中文字"]);
        assert_eq!(beginning(item, 5), ["a\nb", "中文"]);
        assert_eq!(beginning(item, 2), ["a\n", ""]);
    }

    #[test]
    fn invalid_item_has_no_texts() {
        for item in ["", "7", "{\"title\":7}", "{\"other\":\"x\"}"] {
            assert_eq!(beginning(item, 100), Vec::<String>::new(), "{item}");
        }
    }
}
