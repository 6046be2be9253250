//! Every route with every kind of caller. The access table yields the expectations.

use reqwest::Method;
use serde_json::Value;

use crate::util::{
    answer::Answer,
    app::TestApp,
    caller::{Caller, send},
    groups::people,
    internals::{Kind, RequiredIdentity, Rule, TokenScope, rules},
    paths::filled,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    NoToken,
    Expired,
    WrongTenant,
    Application,
    Domain,
    User,
    Admin,
    FrozenApplication,
    FrozenUser,
    OnFrozen,
    /// An operator whose own tenant is frozen.
    FrozenAdmin,
    /// It has every other scope of its kind.
    WithoutScope(TokenScope),
}

/// The outcome before the handler runs.
#[derive(Clone, Copy, Debug)]
enum Expected {
    LetIn,
    Refused(u16, &'static str),
}

const FROZEN: &str = "tenant is frozen";

fn is_operation(rule: &Rule) -> bool {
    let operations = [
        "/v1/enterprises/",
        "/admin/v1/applications",
        "/admin/v1/tenants",
        "/admin/v1/signing_keys",
        "/admin/v1/audit",
        "/admin/v1/index",
        "/admin/v1/replicas",
        "/admin/v1/settings",
    ];
    operations.iter().any(|operation| rule.path.starts_with(operation))
}

fn expected(rule: &Rule, who: Who) -> Expected {
    use Expected::{LetIn, Refused};
    if rule.identity == RequiredIdentity::PageSession {
        return Refused(401, "x-trawl-session");
    }
    let Some(scope) = rule.scope else { return LetIn };
    let needs_application = Refused(403, "this operation needs an application token");
    let needs_user = Refused(403, "this operation needs a user token");
    match (who, rule.identity) {
        (Who::FrozenApplication | Who::FrozenUser | Who::OnFrozen, _) => Refused(403, FROZEN),
        // Otherwise the tenant could not be unfrozen.
        (Who::FrozenAdmin, _) if !is_operation(rule) => Refused(403, FROZEN),
        (Who::NoToken, _) => Refused(401, "a token is needed"),
        (Who::Expired, _) => Refused(401, "expired"),
        (Who::WrongTenant, _) => Refused(403, "indicated-e-code"),
        (Who::User, RequiredIdentity::Application) => needs_application,
        (Who::FrozenAdmin | Who::User, _) => LetIn,
        (_, RequiredIdentity::User) => needs_user,
        (Who::WithoutScope(_), _) => Refused(403, scope.as_str()),
        (Who::Application, _) if matches!(scope, TokenScope::Admin | TokenScope::Tenants) => {
            Refused(403, scope.as_str())
        }
        (Who::Domain, _) if scope == TokenScope::Admin => Refused(403, scope.as_str()),
        (Who::Application | Who::Domain | Who::Admin, _) => LetIn,
    }
}

/// Calls with the path only, enough to pass or fail authorisation.
async fn call(rule: &Rule, caller: &Caller) -> Answer {
    let method: Method = rule.method.parse().unwrap();
    if caller.token.is_empty() {
        return send(caller.http.request(method, format!("{}{}", caller.base, filled(rule.path)))).await;
    }
    send(caller.request(method, &filled(rule.path))).await
}

fn documented(description: &Value, rule: &Rule) -> Vec<u16> {
    let operation = &description["paths"][rule.path][rule.method.to_lowercase()];
    let responses = operation["responses"].as_object();
    responses.into_iter().flatten().map(|(status, _)| status.parse().unwrap()).collect()
}

#[track_caller]
fn check(rule: &Rule, who: Who, answer: Answer, description: &Value) {
    let of = format!("{} {} by {who:?}: {}", rule.method, rule.path, answer.text);
    let documented = documented(description, rule);
    if !documented.is_empty() {
        assert!(documented.contains(&answer.status), "{} is not documented for {of}", answer.status);
    }
    match expected(rule, who) {
        Expected::LetIn => {
            // The URL's signature authorises.
            let is_signed = rule.path.starts_with("/storage/") && rule.path != "/storage/pictures/{id}";
            assert!(![405, 500].contains(&answer.status), "{} {of}", answer.status);
            assert_eq!(answer.status == 403, is_signed, "{of}");
            assert!(rule.scope.is_none() || answer.status != 401, "{of}");
        }
        Expected::Refused(status, named) => {
            assert_eq!(answer.status, status, "{of}");
            answer.fails_at(rule.path, status, named);
        }
    }
}

fn all_of(kind: Kind) -> Vec<TokenScope> {
    let possible = kind.possible_scopes();
    TokenScope::ALL.into_iter().filter(|scope| possible.allow(*scope)).collect()
}

fn all_but(scope: TokenScope, kind: Kind) -> Vec<TokenScope> {
    all_of(kind).into_iter().filter(|other| *other != scope).collect()
}

/// Routes not listed here are for applications only (book: reference/http.md).
#[test]
fn access_table_matches_the_kinds_of_token() {
    let of_people = [
        "/v1/users/blacklist",
        "/v1/users/blacklist/remove",
        "/v1/users/blacklists",
        "/api/todo/quick_deal",
        "/v1/favorite",
        "/v1/favorite/update",
        "/v1/favorites",
        "/v1/favorites/{itemId}",
        "/v1/favorite/label",
        "/v1/favorite/label/update",
        "/v1/favorite/label/delete",
        "/v1/favorite/labels",
    ];
    let of_pages = [
        "/session/second_factor",
        "/session/second_factor/confirm",
        "/session/second_factor/remove",
        "/v1/sessions",
        "/v1/sessions/{id}",
    ];
    let are_files = |path: &str| path.starts_with("/v1/stream/") || path.starts_with("/v1/files/");
    let are_groups = |path: &str| path.starts_with("/v1/groups");
    let are_folders = |path: &str| path.starts_with("/v1/directories/");
    let read_by_either = ["/v1/badge/{badgeId}", "/v1/badge/list", "/v1/contents/{moduleCode}/{id}"];
    let of_either = [
        "/modules",
        "/contents/search",
        "/contents/search/all",
        "/contents/suggest",
        "/contents/searches",
        "/open/v1/devices",
        "/open/v1/devices/bind",
        "/open/v1/devices/unbind",
        "/api/todo/complete",
        "/api/todo/{id}",
        "/api/done/{id}",
    ];
    let of_anyone = [
        "/oauth2/token",
        "/oauth2/authorize",
        "/oauth2/revoke",
        "/oauth2/jwks",
        "/.well-known/oauth-authorization-server",
        "/session",
        "/session/start",
        "/session/callback",
        "/session/end",
        "/storage/pictures/{id}",
        "/storage/uploads/{uploadId}/{partNumber}",
        "/storage/files/{fileId}/{version}",
        "/notificationapi/hook/send",
        "/healthz",
        "/readyz",
        "/metrics",
        "/openapi.json",
        "/docs",
        "/docs/",
        "/docs/{*rest}",
        "/",
        "/console",
        "/account",
        "/assets/{hash}/{*path}",
        "/opensearch.xml",
    ];
    for Rule { path, identity, method, .. } in rules() {
        let expected = if of_people.contains(path) || are_groups(path) || are_folders(path) || are_files(path)
        {
            RequiredIdentity::User
        } else if of_either.contains(path) || read_by_either.contains(path) && *method == "GET" {
            RequiredIdentity::Either
        } else if of_pages.contains(path) {
            RequiredIdentity::PageSession
        } else if of_anyone.contains(path) {
            RequiredIdentity::Anyone
        } else {
            RequiredIdentity::Application
        };
        assert_eq!(*identity, expected, "{path}");
    }
}

#[tokio::test]
async fn every_route_admits_exactly_the_permitted_callers() {
    let app = TestApp::start().await;
    let description = app.caller("").get("/openapi.json").await.body;
    let acme = app.tenant("acme").await;
    app.tenant("other").await;
    let domain = app.register("elsewhere", Kind::Domain, &["acme"], all_of(Kind::Domain)).await;
    let admin = app.operator().await;
    let [mei] = people(&app, &acme, ["mei"]).await;
    let expired = app.expired_caller(&acme).await;
    let frozen = app.tenant("frozen").await;
    let [lin] = people(&app, &frozen, ["lin"]).await;
    let frozen_admin = app.register("frozen", Kind::Admin, &[], TokenScope::ALL.to_vec()).await;
    let of_many = app.register("elsewhere", Kind::Domain, &["frozen"], all_of(Kind::Domain)).await;
    admin.caller.post_empty("/v1/enterprises/freeze?eCode=frozen").await.ok();
    let mut walked = 0;
    for rule in rules() {
        let without_scope = match rule.scope {
            Some(scope) => {
                let kind = if scope == TokenScope::Tenants { Kind::Domain } else { Kind::Admin };
                let application = app.register("acme", kind, &[], all_but(scope, kind)).await;
                Some((Who::WithoutScope(scope), application.caller))
            }
            None => None,
        };
        let callers = [
            (Who::NoToken, Caller { token: String::new(), ..acme.caller.clone() }),
            (Who::Expired, expired.clone()),
            (Who::WrongTenant, acme.caller.on("other")),
            (Who::Application, acme.caller.clone()),
            (Who::Domain, domain.caller.on("acme")),
            (Who::User, mei.clone()),
            (Who::Admin, admin.caller.on("acme")),
            (Who::FrozenApplication, frozen.caller.clone()),
            (Who::FrozenUser, lin.clone()),
            (Who::OnFrozen, of_many.caller.on("frozen")),
            (Who::FrozenAdmin, frozen_admin.caller.clone()),
        ];
        for (who, caller) in callers.into_iter().chain(without_scope) {
            check(rule, who, call(rule, &caller).await, &description);
            walked += 1;
        }
    }
    assert!(walked > 11 * 50, "{walked}");
}
