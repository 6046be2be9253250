use std::{collections::HashSet, fmt::Write, fs};

use trawl_connectors::{GalleryAuth, GalleryEntry, gallery, gallery_file};

use super::{assert_current, assert_current_file, book, cell};

#[test]
fn gallery_pages_are_current() {
    let mut list = String::from("| System | What is found | Tested |\n|---|---|---|\n");
    for entry in gallery() {
        let GalleryEntry { id, name, about, tested, .. } = entry;
        writeln!(list, "| [{name}](gallery/{id}.md) | {} | {} |", cell(about), cell(tested)).unwrap();
        assert_current_file(&format!("gallery/{id}.md"), &page(entry));
    }
    assert_current("gallery.md", list.trim_end());
    let pages = fs::read_dir(book().join("reference/gallery")).unwrap();
    let pages: HashSet<String> = pages.map(|page| page.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(pages, gallery().iter().map(|entry| format!("{}.md", entry.id)).collect());
}

fn page(entry: &GalleryEntry) -> String {
    let GalleryEntry { id, name, about, documentation, address, .. } = entry;
    let file = gallery_file(id).unwrap();
    let mapping = &file[file.find("[mapping]").unwrap()..];
    let mut page = format!("# {name}\n\n{about} [Documentation of its search]({documentation}).\n\n");
    page.push_str("| | |\n|---|---|\n");
    writeln!(page, "| Address, such as | `{address}` |").unwrap();
    for auth in &entry.auth {
        let place = [&auth.header, &auth.parameter, &auth.token_url].into_iter().flatten();
        let parts: Vec<String> = place.map(|part| format!(", `{part}`")).collect();
        writeln!(page, "| `{}`{} | {} |", auth.kind, parts.concat(), cell(&auth.from)).unwrap();
    }
    writeln!(page, "| Call | {}, order {}, {} rows |", entry.method, entry.order, entry.page_size).unwrap();
    writeln!(page, "| Tested | {} |", cell(&entry.tested)).unwrap();
    writeln!(
        page,
        "\nTry it, then register it as [Connect a system](../../how-to/connect.md#from-the-gallery) says:\n\n\
         ```sh\ntrawl connector try {id} --url {address} --keyword harbour {}\n```",
        options(&entry.auth[0])
    )
    .unwrap();
    if let Some(person) = &entry.person {
        writeln!(
            page,
            "\n## As the person\n\nWith {}, these headers show to each person what they may see there; \
             [Search as the person](../../how-to/identities.md) says more.\n\n\
             ```toml\n[mapping.request]\nheaders = '{}'\n```",
            person.needs, person.headers
        )
        .unwrap();
    }
    writeln!(page, "\n## Mapping\n\n```toml\n{}\n```", mapping.trim_end()).unwrap();
    page
}

/// Options of `trawl connector try`.
fn options(auth: &GalleryAuth) -> String {
    match auth.kind.as_str() {
        "API_KEY" => "--api-key-file key.txt".to_owned(),
        "BASIC" => "--username mei --password-file password.txt".to_owned(),
        "BEARER" => "--bearer-token-file token.txt".to_owned(),
        "NONE" => "--no-auth".to_owned(),
        _ => {
            let url = auth.token_url.as_deref().unwrap();
            format!("--token-url {url} --client-id ID --client-secret-file secret.txt")
        }
    }
}
