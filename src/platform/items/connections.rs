//! People and items around an item, as far as the caller may see them.

use trawl_engine::{Text, Texts};
use trawl_search::{FoundItem, ModuleItemKey, ResultItem, Viewer};

use super::{
    ItemsState,
    answer::{ItemPerson, RelatedItem},
};
use crate::{
    error::Result,
    platform::{
        documents::Area,
        shared::connections::{ConnectedPerson, Connections, PersonRole, RelatedKey, Relation},
        users::documents::PEOPLE,
    },
};

const MAX_OF_AUTHOR: usize = 5;
const MAX_TITLE_CHARS: usize = 120;

/// People and items that the area and the author's name lead to.
pub(super) async fn find(
    state: &ItemsState,
    viewer: &Viewer,
    found: &FoundItem,
    author: Option<&str>,
) -> Result<(Vec<ItemPerson>, Vec<RelatedItem>)> {
    let area = found.content.as_deref().map(Area::of);
    let Connections { mut people, related } = match area {
        Some(area) => area.connections(state.store.reader(), viewer.tenant_id, &found.item.id).await?,
        None => Connections::default(),
    };
    // Operations of groups need a user token, so applications learn of no members.
    if viewer.user_id.is_none() && area == Some(Area::Groups) {
        people.clear();
    }
    let is_named = |name: &str| people.iter().any(|person| person.name.as_deref() == Some(name));
    if let Some(name) = author.filter(|name| !is_named(name)) {
        people.insert(
            0,
            ConnectedPerson { role: PersonRole::Author, name: Some(name.to_owned()), user_id: None },
        );
    }
    let people_keys = people.iter().filter_map(|person| Some((PEOPLE.to_owned(), person.user_id.clone()?)));
    let related_keys = related.iter().map(|related| (related.module.to_owned(), related.id.clone()));
    let keys: Vec<ModuleItemKey> = people_keys.chain(related_keys).collect();
    let mut items = state.coordinator.find_builtin_items(viewer, &keys, state.timeout).await?.into_iter();
    let people = people.into_iter().filter_map(|person| shown_person(person, &mut items)).collect();
    let mut related: Vec<RelatedItem> =
        related.into_iter().zip(items).filter_map(|(key, found)| Some(shown_item(key, found?))).collect();
    related.extend(items_by_author(state, viewer, found, area, author).await?);
    Ok((people, related))
}

/// A person by their name in the directory, where it shows them; takes their item.
fn shown_person(
    person: ConnectedPerson,
    items: &mut impl Iterator<Item = Option<(String, ResultItem)>>,
) -> Option<ItemPerson> {
    let ConnectedPerson { role, name, user_id } = person;
    let item = user_id.as_ref().and_then(|_| items.next().flatten());
    let user_id = user_id.filter(|_| item.is_some());
    let name = item.map(|(_, item)| title_of(&item)).or(name).filter(|name| !name.is_empty())?;
    Some(ItemPerson { role, name, user_id })
}

fn shown_item(
    RelatedKey { relation, id, .. }: RelatedKey,
    (module, item): (String, ResultItem),
) -> RelatedItem {
    RelatedItem { relation, module, id, title: title_of(&item) }
}

/// Other items by the author's name, or by that of the person.
async fn items_by_author(
    state: &ItemsState,
    viewer: &Viewer,
    found: &FoundItem,
    area: Option<Area>,
    author: Option<&str>,
) -> Result<Vec<RelatedItem>> {
    let (relation, name) = match (area, author) {
        (Some(Area::People), _) => (Relation::Wrote, title_of(&found.item)),
        (_, Some(author)) => (Relation::SameAuthor, author.to_owned()),
        (_, None) => return Ok(Vec::new()),
    };
    let written = state.coordinator.newest_of_author(viewer, &name, MAX_OF_AUTHOR + 1, state.timeout).await?;
    let others = written.into_iter().filter(|(_, item)| item.json != found.item.json).take(MAX_OF_AUTHOR);
    let related = |((module, id), item): (ModuleItemKey, ResultItem)| RelatedItem {
        relation,
        module,
        id,
        title: title_of(&item),
    };
    Ok(others.map(related).collect())
}

/// The title, or the beginning of the summary in its place.
fn title_of(item: &ResultItem) -> String {
    let Texts { title, brief, .. } = Texts::read(&item.json);
    let Some(Text(text)) = [title, brief].into_iter().flatten().find(|Text(text)| !text.trim().is_empty())
    else {
        return String::new();
    };
    let line = text.trim().lines().next().unwrap_or_default();
    match line.char_indices().nth(MAX_TITLE_CHARS) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line.to_owned(),
    }
}
