//! `highlight=true`: what of each answered item matches, beside the item as its source gave it (decisions 5.7).
//!
//! It is done once for each item that is answered, after the page is complete, and changes nothing else of it.

use std::sync::Arc;

use serde::Serialize;
use trawl_index::{Extent, Highlighter, Query, Text, Texts};

use super::{answer::Answer, source::Item};
use crate::error::{Error, Result};

/// Items that hold more than this together are marked on a thread that may block: it takes about a millisecond.
const AT_ONCE_BYTES: usize = 64 << 10;

/// The texts of an item as HTML, with `<em>` and `</em>` around what matches, and everything else escaped. Texts that the
/// item does not have are absent; those in which nothing matches are there without marks.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Highlight {
    /// The title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The subtitle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sub_title: Option<String>,
    /// The brief, or about 200 characters of it, with `…` where it is cut: those in which the most of what is looked for
    /// stands together, else the first ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub brief: Option<String>,
}

/// Adds the member `highlight` to each item of the answer.
///
/// # Errors
/// 500 when the marking broke off.
pub(super) async fn add(mut answer: Answer, query: &Arc<Query>) -> Result<Answer> {
    let bytes: usize = answer.items.iter().map(|item| item.json.len()).sum();
    if bytes <= AT_ONCE_BYTES {
        mark_all(&mut answer.items, query);
        return Ok(answer);
    }
    let query = Arc::clone(query);
    let marking = tokio::task::spawn_blocking(move || {
        mark_all(&mut answer.items, &query);
        answer
    });
    marking.await.map_err(Error::internal)
}

fn mark_all(items: &mut [Item], query: &Query) {
    let highlighter = Highlighter::new(query);
    for item in items {
        mark(item, &highlighter);
    }
}

fn mark(item: &mut Item, highlighter: &Highlighter) {
    // Its JSON is our own writing (`ContentItem`), so nothing that a source calls `highlight` is in it.
    let texts = Texts::read(&item.json);
    let html = |text: Option<Text<'_>>, extent| text.and_then(|Text(text)| highlighter.mark(&text, extent));
    let title = |Text(title): Text<'_>| {
        if item.title_is_name {
            highlighter.mark_name(&title)
        } else {
            highlighter.mark(&title, Extent::Whole)
        }
    };
    let highlight = Highlight {
        title: texts.title.and_then(title),
        sub_title: html(texts.sub_title, Extent::Whole),
        brief: html(texts.brief, Extent::Passage),
    };
    let Ok(highlight) = serde_json::to_string(&highlight) else { return };
    if item.json.ends_with('}') {
        item.json.pop();
        item.json.push_str(",\"highlight\":");
        item.json.push_str(&highlight);
        item.json.push('}');
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
        let mut items = [Item { id: "1".to_owned(), display_time: 1, json, title_is_name }];
        mark_all(&mut items, &Query::parse(keyword));
        let mut marked: Value = serde_json::from_str(&items[0].json).unwrap();
        let highlight = marked.as_object_mut().unwrap().remove("highlight").unwrap();
        assert_eq!(marked, *item);
        highlight
    }

    #[test]
    fn the_texts_that_are_there_are_marked() {
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
    fn a_name_is_marked_as_it_is_typed_and_other_texts_are_not() {
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
