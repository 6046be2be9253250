use trawl_engine::{Audience, Document, Scope};

pub(crate) fn sample_document(id: &str, text: Option<&str>) -> Document {
    Document {
        scope: Scope::new(1, "news"),
        id: id.to_owned(),
        title: "title".to_owned(),
        text: text.map(Into::into),
        audience: Audience::Tenant,
        item: "{}".to_owned(),
        ..Document::default()
    }
}
