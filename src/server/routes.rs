//! The route table: path, access rule and handler per operation.

use std::sync::Arc;

use axum::{
    Router,
    routing::{MethodFilter, MethodRouter, on},
};
use utoipa::{
    OpenApi, PartialSchema, ToSchema,
    openapi::{
        ObjectBuilder, OpenApi as Document, Ref, RefOr,
        header::HeaderBuilder,
        path::{Operation, Paths},
        schema::Type,
    },
};
use utoipa_axum::{
    PathItemExt,
    router::{OpenApiRouter, UtoipaMethodRouter},
    routes,
};

use super::{
    health,
    openapi::description::Description,
    rule::{BodyLimit, POSITION, Rule, anyone, application, either, page_session, person},
};
use crate::{
    admin,
    app::App,
    auth::{oauth::routes as oauth, sessions},
    http::{
        badge_envelope::{self, DatedFailure},
        envelope::FailureEnvelope,
    },
    identity::scopes::TokenScope::{
        Admin, Collab, ContentsRead, ContentsWrite, DirectoryRead, DirectoryWrite, Files, Tasks, Tenants,
    },
    pages::session,
    platform::{
        badges, blacklist, contents, departments, devices, favorites, files, folders, groups, insights,
        items, robots, search, tasks, tenants, users, work_status,
    },
};

struct Route {
    rule: Rule,
    register: fn(&Rule) -> UtoipaMethodRouter<Arc<App>>,
}

macro_rules! table {
    ($($method:ident $path:literal $rule:expr => $handler:path;)*) => {
        &[$(Route {
            rule: $rule.at(stringify!($method), $path),
            register: |rule| place(rule, routes!($handler), |method| on(method, $handler)),
        },)*]
    };
}

#[rustfmt::skip]
static OPERATIONS: &[Route] = table! {
    // Tokens and sign-in
    POST "/oauth2/token" anyone() => oauth::issue_token;
    GET "/oauth2/authorize" anyone() => oauth::authorize::show_login;
    POST "/oauth2/authorize" anyone() => oauth::authorize::log_in;
    POST "/oauth2/revoke" anyone() => oauth::revocation::revoke_token;
    GET "/.well-known/oauth-authorization-server" anyone() => oauth::metadata::show_metadata;
    GET "/oauth2/jwks" anyone() => oauth::metadata::show_keys;
    GET "/session" anyone() => session::show_session;
    GET "/session/start" anyone().writes() => session::start::begin_sign_in;
    GET "/session/callback" anyone().writes() => session::callback::handle_callback;
    POST "/session/end" anyone().writes() => session::end_session;

    GET "/session/second_factor" page_session() => session::second_factor::show_second_factor;
    POST "/session/second_factor" page_session().writes() => session::second_factor::offer_second_factor;
    POST "/session/second_factor/confirm" page_session().writes() => session::second_factor::confirm_second_factor;
    POST "/session/second_factor/remove" page_session().writes() => session::second_factor::remove_second_factor;
    GET "/v1/sessions" page_session() => sessions::routes::list_own_sessions;
    DELETE "/v1/sessions" page_session().writes() => sessions::routes::end_other_sessions;
    DELETE "/v1/sessions/{id}" page_session().writes() => sessions::routes::end_own_session;

    // Directory
    PUT "/v1/users/sync" application(DirectoryWrite).synchronizes() => users::routes::sync_users;
    GET "/v1/users/sync" application(DirectoryRead) => users::routes::list_users;
    PUT "/v1/organizations/sync" application(DirectoryWrite).synchronizes() => departments::routes::sync_organizations;
    GET "/v1/organizations/sync" application(DirectoryRead) => departments::routes::list_organizations;
    GET "/storage/pictures/{id}" anyone() => users::routes::show_picture;
    GET "/v1/users/blacklists" person(DirectoryRead) => blacklist::routes::list_blacklist;
    POST "/v1/users/blacklist" person(DirectoryWrite).writes() => blacklist::routes::add_to_blacklist;
    POST "/v1/users/blacklist/remove" person(DirectoryWrite).writes() => blacklist::routes::remove_from_blacklist;
    GET "/v1/users/{userId}/status/update" application(DirectoryWrite).writes() => work_status::routes::update_work_status;
    POST "/v1/users/status/update" application(DirectoryWrite).writes() => work_status::routes::update_work_statuses;
    GET "/open/v1/devices" either(DirectoryRead) => devices::routes::list_devices;
    POST "/open/v1/devices/bind" either(DirectoryWrite).writes() => devices::routes::bind_device;
    POST "/open/v1/devices/unbind" either(DirectoryWrite).writes() => devices::routes::unbind_devices;

    // Tasks
    POST "/api/todo/create" application(Tasks).writes() => tasks::routes::create::create_todo;
    POST "/api/todo/batch_create" application(Tasks).writes() => tasks::routes::create::create_todos;
    POST "/api/todo/complete" either(Tasks).writes() => tasks::routes::moves::complete_todo;
    POST "/api/todo/parse" application(Tasks).writes() => tasks::routes::moves::pause_todo;
    POST "/api/todo/resume" application(Tasks).writes() => tasks::routes::moves::resume_todo;
    GET "/api/todo/{id}" either(Tasks) => tasks::routes::show::show_todo;
    POST "/api/done/create" application(Tasks).writes() => tasks::routes::create::create_done;
    POST "/api/done/batch_create" application(Tasks).writes() => tasks::routes::create::create_dones;
    POST "/api/done/remove" application(Tasks).writes() => tasks::routes::moves::remove_done;
    GET "/api/done/{id}" either(Tasks) => tasks::routes::show::show_done;
    POST "/api/todo/quick_deal" person(Tasks).writes() => tasks::routes::moves::handle_quickly;

    // Contents and search
    PUT "/v1/contents/{moduleCode}" application(ContentsWrite).writes() => contents::routes::put_contents;
    POST "/v1/contents/{moduleCode}/delete" application(ContentsWrite).writes() => contents::routes::delete_contents;
    POST "/contents/searches" either(ContentsRead).writes() => insights::routes::report_search;
    GET "/v1/contents/{moduleCode}/{id}" either(ContentsRead) => items::routes::show_item;
    POST "/modules" either(ContentsRead) => search::routes::list_modules;
    POST "/contents/search" either(ContentsRead) => search::routes::post_search;
    GET "/contents/search" either(ContentsRead) => search::routes::get_search;
    POST "/contents/search/all" either(ContentsRead) => search::all::post_search_all;
    GET "/contents/search/all" either(ContentsRead) => search::all::get_search_all;
    GET "/contents/suggest" either(ContentsRead) => search::routes::list_suggestions;

    // Favorites and badges
    GET "/v1/favorite" person(Collab) => favorites::routes::show_favorite;
    POST "/v1/favorite/update" person(Collab).writes() => favorites::routes::update_favorite;
    GET "/v1/favorites" person(Collab) => favorites::routes::list_favorites;
    POST "/v1/favorites" person(Collab).writes() => favorites::routes::add_favorite;
    DELETE "/v1/favorites/{itemId}" person(Collab).writes() => favorites::routes::remove_favorite;
    POST "/v1/favorite/label" person(Collab).writes() => favorites::labels::routes::add_label;
    POST "/v1/favorite/label/update" person(Collab).writes() => favorites::labels::routes::rename_label;
    POST "/v1/favorite/label/delete" person(Collab).writes() => favorites::labels::routes::delete_label;
    GET "/v1/favorite/labels" person(Collab) => favorites::labels::routes::list_labels;
    GET "/v1/favorite/labelCountLimit" application(Collab).writes() => favorites::labels::routes::set_label_limit;
    GET "/v1/badge/list" either(Collab) => badges::routes::list_badges;
    GET "/v1/badge/{badgeId}" either(Collab) => badges::routes::find_badge;
    POST "/v1/badge/{badgeId}" application(Collab).writes() => badges::routes::change_badge;
    POST "/v1/badge" application(Collab).writes() => badges::routes::create_badge;
    DELETE "/v1/badge" application(Collab).writes() => badges::routes::delete_badges;

    // Groups
    GET "/v1/groups/{groupId}/robots" person(Collab) => robots::routes::robots::list_robots;
    POST "/v1/groups/{groupId}/robots" person(Collab).writes() => robots::routes::robots::create_robot;
    DELETE "/v1/groups/{groupId}/robots/{robotId}" person(Collab).writes() => robots::routes::robots::remove_robot;
    POST "/v1/groups/{groupId}/robots/{robotId}/token" person(Collab).writes() => robots::routes::robots::rotate_token;
    GET "/v1/groups/{groupId}/messages" person(Collab) => robots::routes::messages::list_messages;
    POST "/notificationapi/hook/send" anyone().takes_message() => robots::routes::hook::send_message;
    GET "/v1/card_templates/{templateCode}" application(Admin) => robots::routes::templates::find_template;
    PUT "/v1/card_templates/{templateCode}" application(Admin).writes() => robots::routes::templates::put_template;
    GET "/v1/groups" person(Collab) => groups::routes::list_groups;
    POST "/v1/groups" person(Collab).writes() => groups::routes::create_group;
    POST "/v1/groups/joincode" person(Collab).writes() => groups::routes::joining::make_join_code;
    GET "/v1/groups/joincode/{joincode}" person(Collab) => groups::routes::joining::show_group_of_code;
    POST "/v1/groups/joincode/{joincode}/join" person(Collab).writes() => groups::routes::joining::join_by_code;
    PUT "/v1/groups/{groupId}" person(Collab).writes() => groups::routes::change_group;
    DELETE "/v1/groups/{groupId}" person(Collab).writes() => groups::routes::end_group;
    GET "/v1/groups/{groupId}/info" person(Collab) => groups::routes::show_group;
    GET "/v1/groups/{groupId}/members" person(Collab) => groups::routes::members::list_members;
    POST "/v1/groups/{groupId}/members" person(Collab).writes() => groups::routes::members::add_members;
    DELETE "/v1/groups/{groupId}/members" person(Collab).writes() => groups::routes::members::remove_members;
    POST "/v1/groups/{groupId}/members/outer" person(Collab).writes() => groups::routes::members::add_outer_members;
    DELETE "/v1/groups/{groupId}/members/outer" person(Collab).writes() => groups::routes::members::remove_outer_members;
    PUT "/v1/groups/{groupId}/members/{userId}/role" person(Collab).writes() => groups::routes::members::change_role;
    POST "/v1/groups/{groupId}/apply" person(Collab).writes() => groups::routes::joining::apply;
    GET "/v1/groups/{groupId}/applications" person(Collab) => groups::routes::joining::list_group_applications;
    POST "/v1/groups/{groupId}/applications/{applicationId}/accept" person(Collab).writes() => groups::routes::joining::accept_application;
    POST "/v1/groups/{groupId}/applications/{applicationId}/refuse" person(Collab).writes() => groups::routes::joining::refuse_application;

    // Folders and files
    GET "/v1/directories/file/list" person(Files) => folders::routes::list_files;
    GET "/v1/directories/list" person(Files) => folders::routes::list_directories;
    POST "/v1/directories/create" person(Files).writes() => folders::routes::create_directory;
    POST "/v1/directories/delete" person(Files).writes() => folders::routes::delete_directory;
    POST "/v1/directories/rename" person(Files).writes() => folders::routes::rename_directory;
    POST "/v1/directories/lock" person(Files).writes() => folders::routes::lock_directory;
    POST "/v1/directories/unlock" person(Files).writes() => folders::routes::unlock_directory;
    POST "/v1/directories/authorize" person(Files).writes() => folders::routes::authorize;
    POST "/v1/directories/authorize/remove" person(Files).writes() => folders::routes::remove_authorization;
    POST "/v1/stream/upload" person(Files).writes() => files::routes::sign_upload;
    POST "/v1/stream/upload/commit" person(Files).writes() => files::routes::commit_upload;
    POST "/v1/stream/upload/cancel" person(Files).writes() => files::routes::cancel_upload;
    GET "/v1/stream/multipart/upload/start" person(Files).writes() => files::routes::start_multipart_by_get;
    POST "/v1/stream/multipart/upload/start" person(Files).writes() => files::routes::start_multipart;
    POST "/v1/stream/multipart/upload/parts" person(Files).writes() => files::routes::sign_part;
    POST "/v1/stream/multipart/upload/commit" person(Files).writes() => files::routes::commit_multipart;
    POST "/v1/stream/download" person(Files) => files::routes::download;
    POST "/v1/files/delete" person(Files).writes() => files::routes::delete_files;

    // Signed URLs: pages of any origin may call them
    PUT "/storage/uploads/{uploadId}/{partNumber}" anyone().takes_content() => files::signed_urls::upload::receive_part;
    GET "/storage/files/{fileId}/{version}" anyone().takes_content() => files::signed_urls::download::give_file;

    // Tenants
    POST "/v1/enterprises/register" application(Tenants).writes().for_operators() => tenants::routes::register_enterprise;
    POST "/v1/enterprises/delete" application(Tenants).writes().for_operators() => tenants::routes::delete_enterprise;
    POST "/v1/enterprises/freeze" application(Tenants).writes().for_operators() => tenants::routes::freeze_enterprise;
    POST "/v1/enterprises/unfreeze" application(Tenants).writes().for_operators() => tenants::routes::unfreeze_enterprise;

    // Operators
    GET "/admin/v1/modules" application(Admin) => admin::modules::list_tenant_modules;
    POST "/admin/v1/modules" application(Admin).writes() => admin::modules::create_module;
    GET "/admin/v1/modules/{id}" application(Admin) => admin::modules::find_module;
    PUT "/admin/v1/modules/{id}" application(Admin).writes() => admin::modules::replace_module;
    DELETE "/admin/v1/modules/{id}" application(Admin).writes() => admin::modules::remove_module;
    GET "/admin/v1/sources" application(Admin) => admin::sources::list_sources;
    POST "/admin/v1/sources" application(Admin).writes() => admin::sources::create_source;
    POST "/admin/v1/sources/try" application(Admin) => admin::sources::try_source;
    GET "/admin/v1/gallery" application(Admin) => admin::sources::list_gallery;
    GET "/admin/v1/sources/{id}" application(Admin) => admin::sources::find_source;
    PUT "/admin/v1/sources/{id}" application(Admin).writes() => admin::sources::replace_source;
    DELETE "/admin/v1/sources/{id}" application(Admin).writes() => admin::sources::remove_source;
    GET "/admin/v1/sources/{id}/health" application(Admin) => admin::sources::show_health;
    POST "/admin/v1/sources/{id}/check" application(Admin) => admin::sources::check_source;
    GET "/admin/v1/contents/{moduleCode}" application(Admin) => admin::contents::list_contents;
    GET "/admin/v1/contents/{moduleCode}/{id}" application(Admin) => admin::contents::find_content;
    DELETE "/admin/v1/contents/{moduleCode}/{id}" application(Admin).writes() => admin::contents::remove_content;
    POST "/admin/v1/contents/{moduleCode}/import" application(Admin).synchronizes() => admin::contents::import_file;
    GET "/admin/v1/subscriptions" application(Admin) => admin::subscriptions::list_subscriptions;
    POST "/admin/v1/subscriptions" application(Admin).writes() => admin::subscriptions::create_subscription;
    GET "/admin/v1/subscriptions/{id}" application(Admin) => admin::subscriptions::find_subscription;
    PUT "/admin/v1/subscriptions/{id}" application(Admin).writes() => admin::subscriptions::replace_subscription;
    DELETE "/admin/v1/subscriptions/{id}" application(Admin).writes() => admin::subscriptions::remove_subscription;
    POST "/admin/v1/subscriptions/{id}/run" application(Admin).writes() => admin::subscriptions::run_subscription;
    GET "/admin/v1/vocabulary" application(Admin) => admin::vocabulary::show_vocabulary;
    PUT "/admin/v1/vocabulary" application(Admin).writes() => admin::vocabulary::replace_vocabulary;
    POST "/admin/v1/search" application(Admin).writes() => search::operator::search_as_operator;
    GET "/admin/v1/searches/slow" application(Admin) => admin::searches::list_slow_searches;
    GET "/admin/v1/figures" application(Admin) => admin::figures::show_figures;
    GET "/admin/v1/insights" application(Admin) => admin::insights::show_insights;
    GET "/admin/v1/people" application(Admin) => admin::people::list_people;
    GET "/admin/v1/people/{userId}" application(Admin) => admin::people::find_person;
    POST "/admin/v1/people/{userId}/sign_out" application(Admin).writes() => admin::people::sign_out;
    DELETE "/admin/v1/people/{userId}/second_factor" application(Admin).writes() => admin::people::reset_second_factor;
    DELETE "/admin/v1/people/{userId}/sessions/{id}" application(Admin).writes() => admin::people::end_session_of_person;
    GET "/admin/v1/applications" application(Admin).for_operators() => admin::applications::list_applications;
    POST "/admin/v1/applications" application(Admin).writes().for_operators() => admin::applications::create_application;
    GET "/admin/v1/applications/{clientId}" application(Admin).for_operators() => admin::applications::find_application;
    PUT "/admin/v1/applications/{clientId}" application(Admin).writes().for_operators() => admin::applications::change_application;
    DELETE "/admin/v1/applications/{clientId}" application(Admin).writes().for_operators() => admin::applications::remove_application;
    POST "/admin/v1/applications/{clientId}/secret" application(Admin).writes().for_operators() => admin::applications::rotate_secret;
    GET "/admin/v1/signing_keys" application(Admin).for_operators() => admin::keys::list_signing_keys;
    POST "/admin/v1/signing_keys" application(Admin).writes().for_operators() => admin::keys::rotate_signing_key;
    GET "/admin/v1/tenants" application(Admin).for_operators() => admin::tenants::list_tenants;
    GET "/admin/v1/tenants/{eCode}" application(Admin).for_operators() => admin::tenants::find_tenant;
    PUT "/admin/v1/tenants/{eCode}" application(Admin).writes().for_operators() => admin::tenants::change_tenant;
    GET "/admin/v1/audit" application(Admin).for_operators() => admin::audit::list_deeds;
    GET "/admin/v1/settings" application(Admin).for_operators() => admin::settings::show_settings;
    GET "/admin/v1/replicas" application(Admin).for_operators() => admin::replicas::list_replicas;
    GET "/admin/v1/index" application(Admin).for_operators() => admin::index::show_index;
    POST "/admin/v1/index/rebuild" application(Admin).writes().for_operators() => admin::index::rebuild_index;
    POST "/admin/v1/index/move" application(Admin).writes().for_operators() => admin::index::move_index;

    // State of the server
    GET "/healthz" anyone() => health::healthz;
    GET "/readyz" anyone() => health::readyz;
    GET "/metrics" anyone() => health::metrics;
};

static PAGES: &[Rule] = &[
    anyone().at("GET", "/openapi.json"),
    anyone().at("GET", "/docs"),
    anyone().at("GET", "/docs/"),
    anyone().at("GET", "/docs/{*rest}"),
    anyone().at("GET", "/"),
    anyone().at("GET", "/console"),
    anyone().at("GET", "/account"),
    anyone().at("GET", "/assets/{hash}/{*path}"),
    anyone().at("GET", "/opensearch.xml"),
];

/// Every rule; a request without one is refused.
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    OPERATIONS.iter().map(|route| &route.rule).chain(PAGES)
}

/// Routers of the operations, by the layers around them.
pub(super) struct Routers {
    pub(super) operations: Router<Arc<App>>,
    /// Their failures have an envelope of their own.
    pub(super) badges: Router<Arc<App>>,
    /// Pages of any origin may call them.
    pub(super) signed_urls: Router<Arc<App>>,
}

pub(super) fn routers() -> (Routers, Document) {
    let mut description = Description::openapi();
    let mut collect = |belongs: fn(&Rule) -> bool| {
        let chosen = OPERATIONS.iter().filter(|route| belongs(&route.rule));
        let (router, described) = chosen
            .fold(OpenApiRouter::new(), |router, Route { rule, register }| router.routes(register(rule)))
            .split_for_parts();
        description.merge(described);
        router
    };
    let routers = Routers {
        operations: collect(|rule| !has_badge_envelope(rule) && !is_signed(rule)),
        badges: collect(has_badge_envelope),
        signed_urls: collect(is_signed),
    };
    (routers, description)
}

fn has_badge_envelope(rule: &Rule) -> bool {
    badge_envelope::covers(rule.path)
}

fn is_signed(rule: &Rule) -> bool {
    rule.body == BodyLimit::Content
}

/// Puts a described handler at the method and path of its rule.
fn place(
    rule: &Rule,
    (mut schemas, mut described, _): UtoipaMethodRouter<Arc<App>>,
    handler: fn(MethodFilter) -> MethodRouter<Arc<App>>,
) -> UtoipaMethodRouter<Arc<App>> {
    let (method, mut paths) = (rule.http_method(), Paths::new());
    // `#[operation]` describes every handler as `GET ""`.
    if let Some(mut operation) = described.paths.remove("").and_then(|item| item.get) {
        if rule.tells_position() {
            describe_position(&mut operation);
        }
        if has_badge_envelope(rule) {
            describe_dated_failures(&mut operation);
            schemas.push((DatedFailure::name().into_owned(), DatedFailure::schema()));
        }
        paths.add_path_operation(rule.path, vec![method.clone()], operation);
    }
    (schemas, paths, handler(method.to_method_filter()))
}

fn describe_position(operation: &mut Operation) {
    let answers = operation.responses.responses.iter_mut();
    for (_, answer) in answers.filter(|(status, _)| status.starts_with('2')) {
        if let RefOr::T(answer) = answer {
            let header = HeaderBuilder::new()
                .schema(Some(ObjectBuilder::new().schema_type(Type::Integer)))
                .description(Some("A search with `after` of this finds what was written."));
            answer.headers.insert(POSITION.to_string(), header.build().into());
        }
    }
}

/// Has failures refer to the envelope into which `badge_envelope` rewrites them.
fn describe_dated_failures(operation: &mut Operation) {
    let (failure, dated) = [FailureEnvelope::name(), DatedFailure::name()].map(Ref::from_schema_name).into();
    for response in operation.responses.responses.values_mut() {
        let RefOr::T(response) = response else { continue };
        for content in response.content.values_mut() {
            if let RefOr::T(content) = content
                && content.schema == Some(RefOr::Ref(failure.clone()))
            {
                content.schema = Some(RefOr::Ref(dated.clone()));
            }
        }
    }
}
