//! `highlight=true`: marks the matches in a complete page.

use std::sync::Arc;

use serde::Serialize;
use trawl_engine::{Extent, Highlighter, Query, Text, Texts};

use crate::{
    answer::SearchPage,
    error::{Error, Result},
    source::ResultItem,
};

/// Larger pages are marked on a blocking thread: they take a millisecond.
const INLINE_BYTES: usize = 64 << 10;

/// Texts as escaped HTML, with `<em>` around matches. Missing texts are absent.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Highlight {
    /// The title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The subtitle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sub_title: Option<String>,
    /// The brief, or its best passage of about 200 characters.
    ///
    /// It is whole where one item is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub brief: Option<String>,
    /// The part of the text, where one item is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// [`Error::Internal`] when marking panics.
pub(crate) async fn add(mut page: SearchPage, query: &Arc<Query>) -> Result<SearchPage> {
    let bytes: usize = page.shown().map(|item| item.json.len()).sum();
    if bytes <= INLINE_BYTES {
        mark_all(page.shown_mut(), query);
        return Ok(page);
    }
    let query = Arc::clone(query);
    let marking = tokio::task::spawn_blocking(move || {
        mark_all(page.shown_mut(), &query);
        page
    });
    marking.await.map_err(Error::internal)
}

fn mark_all<'a>(items: impl IntoIterator<Item = &'a mut ResultItem>, query: &Query) {
    let highlighter = Highlighter::new(query);
    for item in items {
        // `ContentItem` writes the JSON, so it has no `highlight` yet.
        let highlight = Highlight::from_item(item, &highlighter, Extent::Passage);
        if let Ok(highlight) = serde_json::to_string(&highlight) {
            item.add_field("highlight", &highlight);
        }
    }
}

impl Highlight {
    /// Marks a whole item and its text.
    pub(crate) fn of(item: &ResultItem, text: &str, highlighter: &Highlighter) -> Self {
        let text = highlighter.mark(text, Extent::Unbounded);
        Self { text, ..Self::from_item(item, highlighter, Extent::Unbounded) }
    }

    fn from_item(item: &ResultItem, highlighter: &Highlighter, brief: Extent) -> Self {
        let texts = Texts::read(&item.json);
        let html =
            |text: Option<Text<'_>>, extent| text.and_then(|Text(text)| highlighter.mark(&text, extent));
        let title = |Text(title): Text<'_>| {
            if item.title_is_name {
                highlighter.mark_name(&title)
            } else {
                highlighter.mark(&title, Extent::Whole)
            }
        };
        Self {
            title: texts.title.and_then(title),
            sub_title: html(texts.sub_title, Extent::Whole),
            brief: html(texts.brief, brief),
            text: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn marked(item: &Value, keyword: &str) -> Value {
        marked_as(item, false, keyword)
    }

    fn marked_as(item: &Value, title_is_name: bool, keyword: &str) -> Value {
        let json = item.to_string();
        let mut items = [ResultItem { json, title_is_name, ..ResultItem::default() }];
        mark_all(&mut items, &Query::parse(keyword));
        let mut marked: Value = serde_json::from_str(&items[0].json).unwrap();
        let highlight = marked.as_object_mut().unwrap().remove("highlight").unwrap();
        assert_eq!(marked, *item);
        highlight
    }

    #[test]
    fn present_texts_are_marked() {
        let item = json!({"id": "1", "title": "A \"red\" car", "subTitle": "", "brief": "Cars & vans\n", "author": "car"});
        let expected =
            json!({"title": "A &quot;red&quot; <em>car</em>", "brief": "<em>Cars</em> &amp; vans\n"});
        assert_eq!(marked(&item, "car"), expected);
        assert_eq!(
            marked(&json!({"title": "", "subTitle": "x", "brief": null}), "y"),
            json!({"subTitle": "x"})
        );
        assert_eq!(marked(&json!({"id": "1"}), "y"), json!({}));
    }

    #[test]
    fn names_are_marked_by_pinyin_and_other_texts_are_not() {
        let item = json!({"title": "张伟", "subTitle": "张伟"});
        for keyword in ["zhangwei", "zhang wei", "zw"] {
            let expected = json!({"title": "<em>张伟</em>", "subTitle": "张伟"});
            assert_eq!(marked_as(&item, true, keyword), expected, "{keyword}");
            assert_eq!(marked(&item, keyword), item, "{keyword}");
        }
        let last_names = json!({"title": "Sinéad <em>O&#39;Brien</em>"});
        assert_eq!(marked_as(&json!({"title": "Sinéad O'Brien"}), true, "obrien"), last_names);
    }
}
