//! The HTTP interface: the route table, and what every route shares.

pub mod access;
mod address;
pub mod admin;
mod cookies;
mod credential;
pub mod dated;
pub mod docs;
pub mod envelope;
mod events;
pub mod extract;
pub mod health;
pub mod middleware;
pub mod oauth;
pub mod search;
pub mod session;
pub mod storage;
pub mod sync;
pub mod web;

use std::sync::Arc;

use axum::Router;
use utoipa::OpenApi;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    app::App,
    platform::{
        badges, blacklist, contents, devices, directories, favorites, files, groups, organizations, robots,
        tasks, tenants, users, work_status,
    },
};

/// The route table. Who may call what stands beside it, in [`access::TABLE`].
fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::with_openapi(docs::Description::openapi())
        .routes(routes!(oauth::issue_token))
        .routes(routes!(oauth::authorize::show_login, oauth::authorize::log_in))
        .routes(routes!(users::routes::sync_users, users::routes::list_users))
        .routes(routes!(organizations::routes::sync_organizations, organizations::routes::list_organizations))
        .routes(routes!(users::routes::show_picture))
        .routes(routes!(blacklist::routes::list_blacklist))
        .routes(routes!(blacklist::routes::add_to_blacklist))
        .routes(routes!(blacklist::routes::remove_from_blacklist))
        .routes(routes!(work_status::routes::update_work_status))
        .routes(routes!(work_status::routes::update_work_statuses))
        .routes(routes!(devices::routes::list_devices))
        .routes(routes!(devices::routes::bind_device))
        .routes(routes!(devices::routes::unbind_devices))
        .routes(routes!(oauth::revocation::revoke_token))
        .routes(routes!(oauth::metadata::show_metadata))
        .routes(routes!(oauth::metadata::show_keys))
        .routes(routes!(session::show_session))
        .routes(routes!(session::start::begin_sign_in))
        .routes(routes!(session::callback::come_back))
        .routes(routes!(session::end_session))
        .routes(routes!(contents::routes::put_contents))
        .routes(routes!(contents::routes::delete_contents))
        .routes(routes!(search::list_modules))
        .routes(routes!(search::post_search, search::get_search))
        .routes(routes!(search::all::post_search_all, search::all::get_search_all))
        .routes(routes!(health::healthz))
        .routes(routes!(health::readyz))
        .routes(routes!(health::metrics))
        .merge(work_routes())
        .merge(file_routes())
        .merge(operation_routes())
}

/// What people work with every day.
fn work_routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(tasks::routes::create::create_todo))
        .routes(routes!(tasks::routes::create::create_todos))
        .routes(routes!(tasks::routes::moves::complete_todo))
        .routes(routes!(tasks::routes::moves::pause_todo))
        .routes(routes!(tasks::routes::moves::resume_todo))
        .routes(routes!(tasks::routes::show::show_todo))
        .routes(routes!(tasks::routes::create::create_done))
        .routes(routes!(tasks::routes::create::create_dones))
        .routes(routes!(tasks::routes::moves::remove_done))
        .routes(routes!(tasks::routes::show::show_done))
        .routes(routes!(tasks::quick_deal::routes::handle_quickly))
        .routes(routes!(favorites::routes::show_favorite))
        .routes(routes!(favorites::routes::update_favorite))
        .routes(routes!(favorites::routes::list_favorites, favorites::routes::add_favorite))
        .routes(routes!(favorites::routes::remove_favorite))
        .routes(routes!(favorites::labels::routes::add_label))
        .routes(routes!(favorites::labels::routes::rename_label))
        .routes(routes!(favorites::labels::routes::delete_label))
        .routes(routes!(favorites::labels::routes::list_labels))
        .routes(routes!(favorites::labels::routes::set_label_limit))
        .routes(routes!(badges::routes::list_badges))
        .routes(routes!(badges::routes::find_badge, badges::routes::change_badge))
        .routes(routes!(badges::routes::create_badge, badges::routes::delete_badges))
        .routes(routes!(groups::routes::list_groups, groups::routes::create_group))
        .routes(routes!(groups::routes::change_group, groups::routes::end_group))
        .routes(routes!(groups::routes::show_group))
        .routes(routes!(groups::routes::joining::make_join_code))
        .routes(routes!(groups::routes::joining::show_group_of_code))
        .routes(routes!(groups::routes::joining::join_by_code))
        .routes(routes!(groups::routes::joining::apply))
        .routes(routes!(groups::routes::joining::list_applications))
        .routes(routes!(groups::routes::joining::accept_application))
        .routes(routes!(groups::routes::joining::refuse_application))
        .routes(routes!(
            groups::routes::members::list_members,
            groups::routes::members::add_members,
            groups::routes::members::remove_members
        ))
        .routes(routes!(
            groups::routes::members::add_outer_members,
            groups::routes::members::remove_outer_members
        ))
        .routes(routes!(groups::routes::members::change_role))
        .routes(routes!(robots::routes::robots::list_robots, robots::routes::robots::create_robot))
        .routes(routes!(robots::routes::robots::remove_robot))
        .routes(routes!(robots::routes::robots::rotate_token))
        .routes(routes!(robots::routes::messages::list_messages))
        .routes(routes!(robots::routes::hook::send_message))
        .routes(routes!(robots::routes::templates::find_template, robots::routes::templates::put_template))
}

/// Folders and files.
fn file_routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(directories::routes::list_files))
        .routes(routes!(directories::routes::list_directories))
        .routes(routes!(directories::routes::create_directory))
        .routes(routes!(directories::routes::delete_directory))
        .routes(routes!(directories::routes::rename_directory))
        .routes(routes!(directories::routes::lock_directory))
        .routes(routes!(directories::routes::unlock_directory))
        .routes(routes!(directories::routes::authorize))
        .routes(routes!(directories::routes::remove_authorization))
        .routes(routes!(files::routes::sign_upload))
        .routes(routes!(files::routes::commit_upload))
        .routes(routes!(files::routes::cancel_upload))
        .routes(routes!(files::routes::start_multipart, files::routes::start_multipart_by_get))
        .routes(routes!(files::routes::sign_part))
        .routes(routes!(files::routes::commit_multipart))
        .routes(routes!(files::routes::download))
        .routes(routes!(files::routes::delete_files))
}

/// What operators do.
fn operation_routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(tenants::routes::register_enterprise))
        .routes(routes!(tenants::routes::delete_enterprise))
        .routes(routes!(tenants::routes::freeze_enterprise))
        .routes(routes!(tenants::routes::unfreeze_enterprise))
        .routes(routes!(admin::modules::list_modules, admin::modules::create_module))
        .routes(routes!(
            admin::modules::find_module,
            admin::modules::replace_module,
            admin::modules::remove_module
        ))
        .routes(routes!(admin::sources::list_sources, admin::sources::create_source))
        .routes(routes!(
            admin::sources::find_source,
            admin::sources::replace_source,
            admin::sources::remove_source
        ))
        .routes(routes!(admin::sources::show_health))
        .routes(routes!(admin::sources::check_source))
        .routes(routes!(admin::applications::list_applications, admin::applications::create_application))
        .routes(routes!(
            admin::applications::find_application,
            admin::applications::change_application,
            admin::applications::remove_application
        ))
        .routes(routes!(admin::applications::rotate_secret))
        .routes(routes!(admin::keys::list_signing_keys, admin::keys::rotate_signing_key))
        .routes(routes!(admin::tenants::list_tenants))
        .routes(routes!(admin::tenants::find_tenant, admin::tenants::change_tenant))
        .routes(routes!(admin::audit::list_deeds))
        .routes(routes!(admin::index::show_index))
        .routes(routes!(admin::index::rebuild_index))
        .routes(routes!(admin::searches::list_slow_searches))
}

/// What signed addresses lead to. Pages of other origins may use them: who has such an address needs nothing else.
fn storage_routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(storage::receiving::receive_part))
        .routes(routes!(storage::giving::give_file))
}

/// The whole service.
pub fn service(app: Arc<App>) -> Router {
    let (router, mut description) = routes().split_for_parts();
    let (storage, of_storage) = storage_routes().split_for_parts();
    description.merge(of_storage);
    let storage = middleware::of_any_origin(storage, &app);
    middleware::wrap(router.merge(docs::pages(description)).merge(web::pages()), storage, app)
}
