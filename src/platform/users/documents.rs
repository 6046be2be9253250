//! Index documents of visible people.
//!
//! Confidential contact details are in no document, so no query, total or correction can reveal them.

mod rows;

use std::collections::HashMap;

use trawl_connectors::ContentItem;
use trawl_engine::{Audience, Document, Scope};

use self::rows::{Details, PersonRow};
pub use self::rows::{count, follow_public_url, record_members};
use crate::{
    error::{Error, Result},
    platform::{
        departments,
        shared::contact_text::{joined, number_words, tells},
        users::picture::public_address,
    },
    store::Connection,
};

/// Module code.
pub const PEOPLE: &str = "people";

/// Documents of visible people; `public_url` prefixes stored avatars.
pub async fn find(
    reader: &Connection,
    public_url: &str,
    tenant_id: i64,
    ids: &[String],
) -> Result<Vec<Document>> {
    into_documents(reader, public_url, rows::find(reader, tenant_id, ids).await?).await
}

/// Up to `limit` documents after `sequence`, and the last sequence.
pub async fn scan(
    reader: &Connection,
    public_url: &str,
    sequence: i64,
    limit: u64,
) -> Result<Option<(Vec<Document>, i64)>> {
    let rows = rows::scan(reader, sequence, limit).await?;
    let Some(last) = rows.last().map(|row| row.sequence) else { return Ok(None) };
    Ok(Some((into_documents(reader, public_url, rows).await?, last)))
}

/// Departments of a person, the own one first; none if there is no such person.
pub async fn departments_of(reader: &Connection, tenant_id: i64, user_id: &str) -> Result<Vec<String>> {
    let person = rows::find(reader, tenant_id, &[user_id.to_owned()]).await?.pop();
    Ok(person.map_or_else(Vec::new, |row| row.departments()))
}

async fn into_documents(
    reader: &Connection,
    public_url: &str,
    mut rows: Vec<PersonRow>,
) -> Result<Vec<Document>> {
    rows.retain(|row| !row.is_hidden && !row.is_deleted);
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
            documents.push(document(row, departments, &names, public_url)?);
        }
    }
    Ok(documents)
}

fn document(
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
        sub_title: Some(sub_title.clone()).filter(|text| !text.is_empty()),
        brief: Some(brief.clone()).filter(|text| !text.is_empty()),
        image: picture.map(|picture| public_address(public_url, picture)),
        author: None,
        display_time: row.created_at,
        action: None,
        attach_info: None,
        attach_description: None,
    };
    Ok(Document {
        scope: Scope::new(row.tenant_id, PEOPLE),
        id: row.user_id.clone(),
        display_time: row.created_at,
        item: serde_json::to_string(&item).map_err(Error::internal)?,
        title: item.title,
        title_is_name: true,
        other_names: other_names(row, &details),
        text: None,
        sub_title,
        brief,
        author: String::new(),
        audience: Audience::Tenant,
    })
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
            is_hidden: false,
            is_deleted: false,
            details: r#"{"userNum":"00417","fullName":"Chen Mei","email":"mei@acme.example","telephone":"8012",
                "homeTelephone":"5550142","address":"1 Secret Lane","birthday":"1990-01-02","postDescription":"经理"}"#
                .to_owned(),
            picture: Some("/storage/pictures/x".to_owned()),
            created_at: 5,
        }
    }

    fn made(row: &PersonRow) -> (Document, ContentItem) {
        let names = [("d1", "财务部"), ("d2", "Audit")].map(|(id, name)| (id.to_owned(), name.to_owned()));
        let document = document(row, &row.departments(), &names.into(), "https://trawl.example").unwrap();
        let item = serde_json::from_str(&document.item).unwrap();
        (document, item)
    }

    #[test]
    fn a_person_shows_position_departments_and_contact_details() {
        let (document, item) = made(&row(0));
        assert_eq!((item.id.as_str(), item.title.as_str(), item.display_time), ("u1", "陈梅", 5));
        assert_eq!(item.sub_title.as_deref(), Some("经理 · 财务部 · Audit"));
        assert_eq!(item.brief.as_deref(), Some("13812345678 · 8012 · mei@acme.example"));
        assert_eq!(item.image.as_deref(), Some("https://trawl.example/storage/pictures/x"));
        assert_eq!((item.author, item.action, item.attach_info), (None, None, None));
        assert!(document.title_is_name && document.audience == Audience::Tenant);
        assert_eq!(document.other_names, ["00417", "5678", "Chen Mei", "mei.chen"]);
        for private in ["Secret Lane", "1990", "5550142"] {
            assert!(!format!("{document:?}").contains(private), "{private}");
        }
    }

    #[test]
    fn confidential_details_are_not_indexed() {
        for secret_level in [1, 2, 3, -1] {
            let (document, item) = made(&row(secret_level));
            assert_eq!(item.brief, None);
            assert_eq!(document.other_names, ["00417", "Chen Mei", "mei.chen"]);
            let mut telling = row(secret_level);
            telling.login_id = "+86-13812345678".to_owned();
            telling.details =
                r#"{"userNum":"U5550142","fullName":"mei@acme.example","email":"Mei@Acme.example","homeTelephone":"5550142"}"#.to_owned();
            let (document, _) = made(&telling);
            assert_eq!(document.other_names, [""; 0]);
            let shown = format!("{document:?}");
            assert!(!shown.contains("5678") && !shown.contains("0142") && !shown.contains("acme"), "{shown}");
        }
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
