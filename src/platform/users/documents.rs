//! Index documents of visible people.
//!
//! Confidential contact details are in no document, so no query, total or correction can reveal them.

mod rows;

use std::collections::HashMap;

use trawl_connectors::ContentItem;
use trawl_engine::{Audience, Document, Scope};

use self::rows::{Details, PersonRow};
pub use self::rows::{ROWS, follow_public_url, record_members};
use crate::{
    error::Result,
    platform::{
        departments,
        shared::{
            contact_text::{joined, number_words, tells},
            documents::{Selection, document},
        },
        users::picture::public_address,
    },
    store::Connection,
};

/// Module code.
pub const PEOPLE: &str = "people";

/// Documents of the selected people that are visible; `public_url` prefixes stored avatars.
pub async fn read(reader: &Connection, public_url: &str, selection: Selection<'_>) -> Result<Vec<Document>> {
    let mut rows: Vec<PersonRow> = ROWS.read(reader, selection).await?;
    rows.sort_by_key(|row| row.tenant_id);
    let mut documents = Vec::with_capacity(rows.len());
    for of_tenant in rows.chunk_by(|left, right| left.tenant_id == right.tenant_id) {
        let [first, ..] = of_tenant else { continue };
        let departments: Vec<Vec<String>> = of_tenant.iter().map(PersonRow::departments).collect();
        let mut ids: Vec<&str> = departments.iter().flatten().map(String::as_str).collect();
        ids.sort_unstable();
        ids.dedup();
        let names = departments::documents::shown_names(reader, first.tenant_id, &ids).await?;
        for (row, departments) in of_tenant.iter().zip(&departments) {
            documents.push(into_document(row, departments, &names, public_url)?);
        }
    }
    Ok(documents)
}

/// Departments of a person, the own one first; none if there is no such person.
pub async fn departments_of(reader: &Connection, tenant_id: i64, user_id: &str) -> Result<Vec<String>> {
    let ids = [user_id.to_owned()];
    let person: Vec<PersonRow> =
        ROWS.read(reader, Selection::Items { tenant_id, module: PEOPLE, ids: &ids }).await?;
    Ok(person.first().map_or_else(Vec::new, PersonRow::departments))
}

fn into_document(
    row: &PersonRow,
    departments: &[String],
    names: &HashMap<String, String>,
    public_url: &str,
) -> Result<Document> {
    let details = row.details();
    let departments = departments.iter().map(|id| names.get(id).map(String::as_str));
    let sub_title = joined(std::iter::once(details.post_description.as_deref()).chain(departments));
    let brief = if row.is_public() {
        joined([row.mobile.as_deref(), details.telephone.as_deref(), details.email.as_deref()])
    } else {
        String::new()
    };
    let picture = row.picture.as_deref().filter(|picture| !picture.is_empty());
    let item = ContentItem {
        id: row.user_id.clone(),
        title: row.name.clone(),
        sub_title: Some(sub_title).filter(|text| !text.is_empty()),
        brief: Some(brief).filter(|text| !text.is_empty()),
        image: picture.map(|picture| public_address(public_url, picture)),
        display_time: row.created_at,
        ..ContentItem::default()
    };
    let document = document(Scope::new(row.tenant_id, PEOPLE), item, Audience::Tenant)?;
    Ok(Document { title_is_name: true, other_names: other_names(row, &details), ..document })
}

/// Names that are searched but not shown.
fn other_names(row: &PersonRow, details: &Details) -> Vec<String> {
    let names = [Some(&row.login_id), details.user_num.as_ref(), details.full_name.as_ref()];
    let mut names: Vec<String> =
        names.into_iter().flatten().filter(|name| **name != row.name).cloned().collect();
    let numbers = [row.mobile.as_deref(), details.telephone.as_deref()];
    // A login may equal a confidential detail.
    let mut own_details: Vec<&str> = details.home_telephone.as_deref().into_iter().collect();
    if !row.is_public() {
        own_details.extend(numbers.into_iter().chain([details.email.as_deref()]).flatten());
    }
    names.retain(|name| !own_details.iter().any(|detail| tells(name, detail)));
    if row.is_public() {
        names.extend(numbers.into_iter().flatten().flat_map(number_words));
    }
    names.sort_unstable();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(secret_level: i64) -> PersonRow {
        PersonRow {
            sequence: 1,
            tenant_id: 7,
            user_id: "u1".to_owned(),
            login_id: "mei.chen".to_owned(),
            name: "陈梅".to_owned(),
            mobile: Some("13812345678".to_owned()),
            org_id: Some("d1".to_owned()),
            deputy_org_ids: r#"["d2","d1","gone"]"#.to_owned(),
            secret_level,
            details: r#"{"userNum":"00417","fullName":"Chen Mei","email":"mei@acme.example","telephone":"8012",
                "homeTelephone":"5550142","address":"1 Secret Lane","birthday":"1990-01-02","postDescription":"经理"}"#
                .to_owned(),
            picture: Some("/storage/pictures/x".to_owned()),
            created_at: 5,
        }
    }

    fn made(row: &PersonRow) -> (Document, ContentItem) {
        let names = [("d1", "财务部"), ("d2", "Audit")].map(|(id, name)| (id.to_owned(), name.to_owned()));
        let document =
            into_document(row, &row.departments(), &names.into(), "https://trawl.example").unwrap();
        let item = serde_json::from_str(&document.item).unwrap();
        (document, item)
    }

    #[test]
    fn home_number_is_never_indexed() {
        let at_home = PersonRow { login_id: "5550142".to_owned(), ..row(0) };
        assert_eq!(made(&at_home).0.other_names, ["00417", "5678", "Chen Mei"]);
    }

    #[test]
    fn unreadable_details_are_left_out() {
        let mut broken = row(0);
        (broken.details, broken.deputy_org_ids) = ("[7]".to_owned(), "{}".to_owned());
        let (_, item) = made(&broken);
        assert_eq!((item.sub_title.as_deref(), item.brief.as_deref()), (Some("财务部"), Some("13812345678")));
    }
}
