//! Data directories, filled through the library before a server is started on them.

use std::path::Path;

use trawl::{
    auth::{
        applications::{Credentials, Kind, NewApplication},
        keys::Keys,
    },
    config::Config,
    platform::tenants::model::register_application,
    search::registry::{ModuleForm, Reach, Registry, SourceForm},
    store::Store,
};
use trawl_connectors::AddressRules;
use trawl_index::{Audience, Change, Checkpoint, Document, Index, Options, Scope};

use crate::{load::block_on, texts};

/// The module of Chinese texts.
pub(crate) const CHINESE: &str = "feed";
/// The module of English texts.
pub(crate) const ENGLISH: &str = "news";

/// The first document's time; each later one is a second younger than the one before.
const FIRST_TIME: i64 = 1_400_000_000_000;

/// Documents that are handed to the index at a time.
const BATCH: usize = 20_000;

/// A prepared data directory.
pub(crate) struct Prepared {
    /// Holds it.
    pub(crate) directory: tempfile::TempDir,
    /// The tenant's number.
    pub(crate) tenant_id: i64,
    /// An application that may do everything an ordinary one may.
    pub(crate) credentials: Credentials,
}

impl Prepared {
    /// Where the index is.
    pub(crate) fn index(&self) -> std::path::PathBuf {
        self.directory.path().join("index")
    }
}

/// An external source and a module that shows it.
pub(crate) type Registration = (SourceForm, ModuleForm);

/// Makes a data directory whose index holds so many documents, half of them Chinese, half of them English.
pub(crate) fn prepare(documents: usize, registrations: Vec<Registration>) -> Prepared {
    block_on(async {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path(), 1).await.unwrap();
        let keys = std::sync::Arc::new(Keys::load(None, directory.path()).unwrap());
        let new = NewApplication {
            tenant: "bench".to_owned(),
            kind: Kind::Application,
            bound: Vec::new(),
            scopes: None,
            name: "bench".to_owned(),
        };
        let registered = register_application(&store, &keys, new).await.unwrap();
        let tenant_id = registered.tenant.id;
        let position = *store.positions().borrow();
        let checkpoint = Checkpoint { store: store.id().to_owned(), position, complete: true };
        let index = fill_index(&directory.path().join("index"), tenant_id, documents, &checkpoint);
        let reach = Reach {
            addresses: AddressRules::new(["127.0.0.1"]).unwrap(),
            auth_none: true,
            max_body_bytes: Config::default().connectors.max_body_bytes,
        };
        let clock = std::sync::Arc::new(trawl::search::clock::SystemClock);
        let Config { cache, suspension, .. } = Config::default();
        let registry = Registry::new(store.clone(), index, keys, reach, cache, suspension, clock);
        let registry = std::sync::Arc::new(registry);
        for (source, module) in registrations {
            registry.create_source(tenant_id, source).await.unwrap();
            registry.create_module(tenant_id, module).await.unwrap();
        }
        store.close().await.unwrap();
        Prepared { directory, tenant_id, credentials: registered.credentials }
    })
}

fn fill_index(directory: &Path, tenant_id: i64, documents: usize, checkpoint: &Checkpoint) -> Index {
    let options = Options { indexing_threads: 2, writer_memory_bytes: 512 << 20, ..Options::default() };
    let (index, mut writer) = Index::open(directory, &options).unwrap();
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
    writer.merge_all().unwrap();
    writer.close().unwrap();
    index
}

/// The document of this number; the texts are repeated where there are not enough.
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
        sub_title: String::new(),
        brief: String::new(),
        author: "bench".to_owned(),
        audience: Audience::Tenant,
    }
}

/// Ids in no order, each once.
fn id(number: usize) -> String {
    format!("{:08x}", number.wrapping_mul(0x9e37_79b1) & 0xffff_ffff)
}
