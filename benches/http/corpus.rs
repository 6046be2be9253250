use std::path::{Path, PathBuf};

use trawl::{auth::applications::Kind, store::Store};
use trawl_engine::{Audience, Change, Checkpoint, Document, Scope};
use trawl_index::{Index, Options};

use crate::{
    common::{data_directory::DataDirectory, load::block_on},
    texts,
};

pub(crate) const CHINESE: &str = "feed";
pub(crate) const ENGLISH: &str = "news";

/// Each further document is a second later.
const FIRST_TIME: i64 = 1_400_000_000_000;

const BATCH: usize = 20_000;

/// Half of the documents are Chinese, half English.
pub(crate) fn prepare(documents: usize) -> DataDirectory {
    let prepared = DataDirectory::new(Kind::Application);
    let checkpoint = block_on(async {
        let store = Store::open(prepared.directory.path(), 1).await.unwrap();
        let position = *store.positions().borrow();
        let checkpoint = Checkpoint { store: store.id().to_owned(), position, complete: true };
        store.close().await.unwrap();
        checkpoint
    });
    fill_index(&index_of(&prepared), prepared.registered.tenant.id, documents, &checkpoint);
    prepared
}

pub(crate) fn index_of(prepared: &DataDirectory) -> PathBuf {
    prepared.directory.path().join("index")
}

fn fill_index(directory: &Path, tenant_id: i64, documents: usize, checkpoint: &Checkpoint) {
    let options = Options { indexing_threads: 2, writer_memory_bytes: 512 << 20, ..Options::default() };
    let (_index, mut writer) = Index::open(directory, &options).unwrap();
    if documents > 0 {
        for (module, texts) in [(CHINESE, texts::chinese()), (ENGLISH, texts::english())] {
            let scope = Scope::new(tenant_id, module);
            let half = documents / 2;
            for first in (0..half).step_by(BATCH) {
                let numbers = first..half.min(first + BATCH);
                let put = |number: usize| Change::Put(document(&scope, &texts, number));
                writer.apply(numbers.map(put).collect()).unwrap();
            }
        }
    }
    writer.commit(checkpoint).unwrap();
    // Merges that run would keep their segments from the last one.
    writer.close().unwrap();
    let (_index, mut writer) = Index::open(directory, &options).unwrap();
    writer.merge_all().unwrap();
    writer.close().unwrap();
}

/// Texts repeat when they run out.
pub(crate) fn document(scope: &Scope, texts: &[String], number: usize) -> Document {
    let id = id(number);
    let title = texts[number % texts.len()].clone();
    let display_time = FIRST_TIME + i64::try_from(number).unwrap() * 1_000;
    let item = serde_json::json!({
        "id": id, "title": title, "author": "bench", "displayTime": display_time,
        "action": format!("{{\"web\":\"https://example.org/{id}\"}}"),
    });
    Document {
        scope: scope.clone(),
        item: item.to_string(),
        id,
        display_time,
        title,
        title_is_name: false,
        other_names: Vec::new(),
        text: None,
        sub_title: String::new(),
        brief: String::new(),
        author: "bench".to_owned(),
        audience: Audience::Tenant,
    }
}

fn id(number: usize) -> String {
    format!("{:08x}", number.wrapping_mul(0x9e37_79b1) & 0xffff_ffff)
}
