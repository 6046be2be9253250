use std::fmt::Write;

use trawl_connectors::{gallery, gallery_file};

use super::{assert_current, cell};

#[test]
fn gallery_page_is_current() {
    let mut page = String::new();
    for entry in gallery() {
        let file = gallery_file(&entry.id).unwrap();
        let mapping = &file[file.find("[mapping]").unwrap()..];
        writeln!(page, "## {}\n", entry.name).unwrap();
        writeln!(page, "{} [Documentation]({}).\n", entry.about, entry.documentation).unwrap();
        page.push_str("| | |\n|---|---|\n");
        writeln!(page, "| Name | `{}` |", entry.id).unwrap();
        writeln!(page, "| Address, such as | `{}` |", entry.address).unwrap();
        for auth in &entry.auth {
            let place = [&auth.header, &auth.parameter, &auth.token_url].into_iter().flatten();
            let parts: Vec<String> = place.map(|part| format!(", `{part}`")).collect();
            writeln!(page, "| `{}`{} | {} |", auth.kind, parts.concat(), cell(&auth.from)).unwrap();
        }
        writeln!(page, "| Call | {}, order {}, {} rows |", entry.method, entry.order, entry.page_size)
            .unwrap();
        writeln!(page, "| Tested | {} |", cell(&entry.tested)).unwrap();
        writeln!(page, "\n```toml\n{}\n```\n", mapping.trim_end()).unwrap();
    }
    assert_current("gallery.md", page.trim_end());
}
