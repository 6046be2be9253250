use trawl_engine::{Audience, Document, Scope};

pub(crate) fn sample_document(id: &str, text: Option<&str>) -> Document {
    Document {
        scope: Scope::new(1, "news"),
        id: id.to_owned(),
        display_time: 0,
        title: "title".to_owned(),
        title_is_name: false,
        other_names: Vec::new(),
        sub_title: String::new(),
        brief: String::new(),
        text: text.map(Into::into),
        author: String::new(),
        audience: Audience::Tenant,
        item: "{}".to_owned(),
    }
}
