//! The part of [`App`] that each area gets as its state.

use std::sync::Arc;

use axum::extract::FromRef;

use super::App;
use crate::{
    admin::AdminState,
    auth::AuthState,
    platform::{
        badges::BadgesState,
        blacklist::BlacklistState,
        contents::ContentsState,
        departments::DepartmentsState,
        devices::DevicesState,
        favorites::FavoritesState,
        files::{FilesState, signed_urls::SignedUrlsState},
        folders::FoldersState,
        groups::GroupsState,
        insights::InsightsState,
        items::ItemsState,
        robots::RobotsState,
        search::SearchState,
        subscriptions::SubscriptionsState,
        tasks::TasksState,
        tenants::TenantsState,
        users::UsersState,
        work_status::WorkStatusState,
    },
};

impl FromRef<Arc<App>> for BadgesState {
    fn from_ref(app: &Arc<App>) -> Self {
        Self { store: app.store.clone(), limits: Arc::clone(&app.limits) }
    }
}

impl FromRef<Arc<App>> for BlacklistState {
    fn from_ref(app: &Arc<App>) -> Self {
        Self { store: app.store.clone(), public_url: Arc::clone(&app.public_url) }
    }
}

impl FromRef<Arc<App>> for ContentsState {
    fn from_ref(app: &Arc<App>) -> Self {
        app.subscriptions.state().contents.clone()
    }
}

impl FromRef<Arc<App>> for DepartmentsState {
    fn from_ref(app: &Arc<App>) -> Self {
        Self { store: app.store.clone(), sync: app.sync() }
    }
}

impl FromRef<Arc<App>> for DevicesState {
    fn from_ref(app: &Arc<App>) -> Self {
        Self { store: app.store.clone(), limits: Arc::clone(&app.limits) }
    }
}

impl FromRef<Arc<App>> for FavoritesState {
    fn from_ref(app: &Arc<App>) -> Self {
        Self { store: app.store.clone(), limits: Arc::clone(&app.limits) }
    }
}

impl FromRef<Arc<App>> for FilesState {
    fn from_ref(app: &Arc<App>) -> Self {
        Self {
            store: app.store.clone(),
            limits: Arc::clone(&app.limits),
            blobs: Arc::clone(&app.blobs),
            commits: Arc::clone(&app.commits),
            scanner: app.scanner.clone(),
            texts: Arc::clone(&app.texts),
            address_seconds: app.config.storage.address_seconds,
        }
    }
}

impl FromRef<Arc<App>> for FoldersState {
    fn from_ref(app: &Arc<App>) -> Self {
        Self { store: app.store.clone(), limits: Arc::clone(&app.limits) }
    }
}

impl FromRef<Arc<App>> for GroupsState {
    fn from_ref(app: &Arc<App>) -> Self {
        Self {
            store: app.store.clone(),
            limits: Arc::clone(&app.limits),
            public_url: Arc::clone(&app.public_url),
            throttle: Arc::clone(&app.throttle),
        }
    }
}

impl FromRef<Arc<App>> for RobotsState {
    fn from_ref(app: &Arc<App>) -> Self {
        Self {
            store: app.store.clone(),
            public_url: Arc::clone(&app.public_url),
            robot_limits: Arc::clone(&app.robot_limits),
        }
    }
}

impl FromRef<Arc<App>> for InsightsState {
    fn from_ref(app: &Arc<App>) -> Self {
        Self { store: app.store.clone(), clock: Arc::clone(&app.clock) }
    }
}

impl FromRef<Arc<App>> for ItemsState {
    fn from_ref(app: &Arc<App>) -> Self {
        Self {
            coordinator: Arc::clone(&app.coordinator),
            store: app.store.clone(),
            public_url: Arc::clone(&app.public_url),
            limits: Arc::clone(&app.limits),
            timeout: app.config.search_timeout(),
        }
    }
}

impl FromRef<Arc<App>> for SearchState {
    fn from_ref(app: &Arc<App>) -> Self {
        Self {
            store: app.store.clone(),
            coordinator: Arc::clone(&app.coordinator),
            slow_searches: Arc::clone(&app.slow_searches),
            limits: Arc::clone(&app.limits),
            timeout: app.config.search_timeout(),
            progress: app.index_progress.clone(),
            waiting: app.waiting_searches.clone(),
        }
    }
}

impl FromRef<Arc<App>> for SubscriptionsState {
    fn from_ref(app: &Arc<App>) -> Self {
        app.subscriptions.state().clone()
    }
}

impl FromRef<Arc<App>> for TasksState {
    fn from_ref(app: &Arc<App>) -> Self {
        Self {
            store: app.store.clone(),
            quick_deals: Arc::clone(&app.quick_deals),
            creations: Arc::clone(&app.creations),
        }
    }
}

impl FromRef<Arc<App>> for TenantsState {
    fn from_ref(app: &Arc<App>) -> Self {
        Self {
            store: app.store.clone(),
            keys: Arc::clone(&app.keys),
            authenticator: Arc::clone(&app.authenticator),
            registry: Arc::clone(&app.registry),
        }
    }
}

impl FromRef<Arc<App>> for UsersState {
    fn from_ref(app: &Arc<App>) -> Self {
        Self {
            store: app.store.clone(),
            limits: Arc::clone(&app.limits),
            public_url: Arc::clone(&app.public_url),
            sync: app.sync(),
            secret_checker: app.secret_checker.clone(),
        }
    }
}

impl FromRef<Arc<App>> for WorkStatusState {
    fn from_ref(app: &Arc<App>) -> Self {
        Self { store: app.store.clone() }
    }
}

impl FromRef<Arc<App>> for AdminState {
    fn from_ref(app: &Arc<App>) -> Self {
        Self {
            config: Arc::clone(&app.config),
            store: app.store.clone(),
            registry: Arc::clone(&app.registry),
            replicas: Arc::clone(&app.replicas),
            index: Arc::clone(&app.index),
            slow_searches: Arc::clone(&app.slow_searches),
            clock: Arc::clone(&app.clock),
        }
    }
}

impl FromRef<Arc<App>> for AuthState {
    fn from_ref(app: &Arc<App>) -> Self {
        app.auth.clone()
    }
}

impl FromRef<Arc<App>> for SignedUrlsState {
    fn from_ref(app: &Arc<App>) -> Self {
        Self {
            store: app.store.clone(),
            limits: Arc::clone(&app.limits),
            blobs: Arc::clone(&app.blobs),
            embedded: app.embedded.clone(),
        }
    }
}
