//! Data directories, made through the library before a server is started on them.

use trawl::{
    auth::{
        applications::{Kind, LoginClient, NewApplication},
        keys::Keys,
        scopes::Scope,
    },
    platform::tenants::model::{Registered, register_application},
    store::Store,
};

use super::load::block_on;

/// A data directory with one tenant and one application.
pub(crate) struct Prepared {
    /// Holds it.
    pub(crate) directory: tempfile::TempDir,
    /// Its tenant, and the application, which may do everything that its kind may.
    pub(crate) registered: Registered,
}

impl Prepared {
    /// A new directory, whose application is of this kind.
    pub(crate) fn new(kind: Kind) -> Self {
        block_on(async {
            let directory = tempfile::tempdir().unwrap();
            let store = Store::open(directory.path(), 1).await.unwrap();
            let keys = Keys::load(None, directory.path()).unwrap();
            let new = NewApplication {
                tenant: "bench".to_owned(),
                kind,
                bound: Vec::new(),
                scopes: Some(
                    Scope::ALL.into_iter().filter(|scope| kind.possible_scopes().allow(*scope)).collect(),
                ),
                name: "bench".to_owned(),
                login: LoginClient::default(),
            };
            let registered = register_application(&store, &keys, new).await.unwrap();
            store.close().await.unwrap();
            Self { directory, registered }
        })
    }
}
