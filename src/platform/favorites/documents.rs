//! Index documents of favorites, visible to their owner only.

use trawl_connectors::ContentItem;
use trawl_engine::{Audience, Document, Scope};

pub use super::{repo::document_id, rules::FAVORITE};
use crate::{
    error::Result,
    identity::principals::user_principal,
    platform::shared::documents::{DocumentRows, Selection, document},
    store::{Connection, FromRow},
};

/// Rows of favorites; entries of the feed alone are not found.
pub const ROWS: DocumentRows = DocumentRows {
    table: "favorites",
    columns: "id, tenant_id, user_id, item_id, source_name, source_display_name, content, keyword, created_at",
    from: "favorites WHERE is_favorite AND",
    tenant: "+tenant_id",
    id: "id",
    sequence: "sequence",
};

#[derive(Clone, Debug, FromRow)]
struct StoredFavorite {
    id: String,
    tenant_id: i64,
    user_id: String,
    item_id: String,
    source_name: Option<String>,
    source_display_name: Option<String>,
    content: Option<String>,
    keyword: Option<String>,
    created_at: i64,
}

/// Documents of the selected favorites.
pub async fn read(reader: &Connection, selection: Selection<'_>) -> Result<Vec<Document>> {
    ROWS.read(reader, selection).await?.into_iter().map(into_document).collect()
}

const TITLE_CHARS: usize = 120;

#[derive(Debug, PartialEq, Eq)]
struct FavoriteTexts {
    title: String,
    brief: Option<String>,
    indexed_brief: String,
}

impl FavoriteTexts {
    fn of(row: &StoredFavorite) -> Self {
        let is_there = |text: &&str| !text.trim().is_empty();
        let [content, keyword, display_name, name] =
            [&row.content, &row.keyword, &row.source_display_name, &row.source_name]
                .map(|text| text.as_deref().filter(is_there));
        let text = content.or(keyword).or(display_name).or(name).unwrap_or(&row.item_id).trim();
        let keyword = keyword.filter(|_| content.is_some());
        match opening(text) {
            None => Self {
                title: text.to_owned(),
                brief: keyword.map(str::to_owned),
                indexed_brief: keyword.unwrap_or_default().to_owned(),
            },
            Some(opening) => Self {
                title: opening,
                brief: Some(text.to_owned()),
                indexed_brief: keyword
                    .map_or_else(|| text.to_owned(), |keyword| format!("{text}\n{keyword}")),
            },
        }
    }
}

fn opening(text: &str) -> Option<String> {
    let line = text.lines().next().unwrap_or_default().trim_end();
    let end = line.char_indices().nth(TITLE_CHARS).map_or(line.len(), |(end, _)| end);
    (end < text.len()).then(|| format!("{}…", line[..end].trim_end()))
}

fn into_document(row: StoredFavorite) -> Result<Document> {
    let FavoriteTexts { title, brief, indexed_brief } = FavoriteTexts::of(&row);
    let source = [row.source_display_name, row.source_name];
    let indexed_source = source.iter().flatten().cloned().collect::<Vec<_>>().join("\n");
    let item = ContentItem {
        id: row.item_id,
        title,
        sub_title: source.into_iter().flatten().next(),
        brief,
        display_time: row.created_at,
        ..ContentItem::default()
    };
    let audience = Audience::Principals(vec![user_principal(&row.user_id)]);
    Ok(Document {
        id: row.id,
        sub_title: indexed_source,
        brief: indexed_brief,
        ..document(Scope::new(row.tenant_id, FAVORITE), item, audience)?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(content: Option<&str>, keyword: Option<&str>, source_name: Option<&str>) -> StoredFavorite {
        StoredFavorite {
            id: "r".to_owned(),
            tenant_id: 1,
            user_id: "mei".to_owned(),
            item_id: "i1".to_owned(),
            source_name: source_name.map(str::to_owned),
            source_display_name: None,
            content: content.map(str::to_owned),
            keyword: keyword.map(str::to_owned),
            created_at: 1,
        }
    }

    fn texts(content: Option<&str>, keyword: Option<&str>) -> (String, Option<String>, String) {
        let FavoriteTexts { title, brief, indexed_brief } = FavoriteTexts::of(&row(content, keyword, None));
        (title, brief, indexed_brief)
    }

    #[test]
    fn long_content_is_cut_for_title() {
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(texts(Some(" quay "), Some("k")), ("quay".to_owned(), some("k"), "k".to_owned()));
        let lines = "first line \nsecond";
        assert_eq!(
            texts(Some(lines), Some("k")),
            ("first line…".to_owned(), some(lines), format!("{lines}\nk"))
        );
        let long = "港".repeat(TITLE_CHARS + 1);
        let expected = format!("{}…", "港".repeat(TITLE_CHARS));
        assert_eq!(texts(Some(&long), None), (expected, some(&long), long.clone()));
        let fits = "x".repeat(TITLE_CHARS);
        assert_eq!(texts(Some(&fits), None).0, fits);
    }

    #[test]
    fn title_falls_back_to_other_fields() {
        assert_eq!(texts(Some(" \n"), Some("k")), ("k".to_owned(), None, String::new()));
        assert_eq!(FavoriteTexts::of(&row(None, None, Some("Harbour office"))).title, "Harbour office");
        assert_eq!(texts(None, None).0, "i1");
        let long = "k".repeat(TITLE_CHARS + 1);
        assert_eq!(texts(None, Some(&long)).2, long);
    }
}
