//! Data directories, filled through the library.

use std::path::Path;

use trawl::{
    auth::{
        applications::{Kind, LoginClient, NewApplication},
        keys::Keys,
    },
    identity::scopes::TokenScope,
    platform::tenants::service::{Registered, register_application},
    store::Store,
};

use super::load::block_on;

pub(crate) struct DataDirectory {
    pub(crate) directory: tempfile::TempDir,
    /// An application with every scope of its kind.
    pub(crate) registered: Registered,
}

impl DataDirectory {
    pub(crate) fn new(kind: Kind) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let registered = register(directory.path(), "bench", kind);
        Self { directory, registered }
    }
}

/// Adds an application with every scope of its kind.
pub(crate) fn register(data: &Path, tenant: &str, kind: Kind) -> Registered {
    block_on(async {
        // The key is made before the database.
        let keys = Keys::load(None, data).unwrap();
        let store = Store::open(data, 1).await.unwrap();
        let new = NewApplication {
            tenant: tenant.to_owned(),
            kind,
            bound: Vec::new(),
            scopes: Some(
                TokenScope::ALL.into_iter().filter(|scope| kind.possible_scopes().allow(*scope)).collect(),
            ),
            name: "bench".to_owned(),
            login: LoginClient::default(),
        };
        let registered = register_application(&store, &keys, new).await.unwrap();
        store.close().await.unwrap();
        registered
    })
}
