//! Title, tags and security of the interface description.

use utoipa::{
    Modify, OpenApi,
    openapi::{
        OpenApi as Document,
        security::{HttpAuthScheme, HttpBuilder, SecurityScheme},
    },
};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "trawl",
        description = "Federated search for the workplace. Every answer is the common envelope \
            `{code, message, data, …}` unless stated; every failure carries its HTTP status as `code`, \
            and the request's id in the header `x-request-id`."
    ),
    modifiers(&Bearer),
    security(("bearer" = [])),
    tags(
        (name = "search", description = "Modules and their contents"),
        (name = "contents", description = "Articles, news, feeds and an operator's own modules"),
        (name = "tasks", description = "To-do items"),
        (name = "robots", description = "Group robots, their messages, and the templates of cards"),
        (name = "favorites", description = "Personal favorites and their labels"),
        (name = "badges", description = "An enterprise's badges"),
        (name = "tenants", description = "Enterprises: registering, freezing and deleting them"),
        (name = "directory", description = "Users and departments"),
        (name = "groups", description = "Groups of people: members, join codes and applications"),
        (name = "storage", description = "Contents of files, at signed addresses"),
        (name = "folders", description = "Folders, and who may do what in them"),
        (name = "files", description = "Files: addresses for their bytes, commits, and their end"),
        (name = "admin", description = "Modules, the external sources that they show, and how these are"),
        (name = "identity", description = "Tokens"),
        (name = "operation", description = "Health and metrics"),
    )
)]
pub(in crate::server) struct Description;

struct Bearer;

impl Modify for Bearer {
    fn modify(&self, document: &mut Document) {
        let scheme = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).bearer_format("JWT").build();
        document
            .components
            .get_or_insert_default()
            .add_security_scheme("bearer", SecurityScheme::Http(scheme));
    }
}
