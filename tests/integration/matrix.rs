//! Every route with every kind of caller (decisions 3.2, 3.3, 3.5, 3.6). What is expected is worked out from the access table
//! by the rules of the decisions, so that a new route cannot be forgotten.

use reqwest::Method;
use serde_json::{Value, json};
use trawl::{
    api::access::{Identity, Rule, TABLE},
    auth::{applications::Kind, scopes::Scope},
};

use crate::util::{
    answer::Answer,
    app::TestApp,
    caller::{Caller, send},
    items::user,
    paths::filled,
};

/// Who calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    NoToken,
    Expired,
    /// An application that indicates a tenant that is not its own.
    WrongTenant,
    Application,
    /// Acting on a tenant that it is bound to.
    Domain,
    User,
    /// Acting on any tenant.
    Admin,
    /// An application that has every scope that its kind may have but the one that is asked for.
    WithoutScope(Scope),
}

/// What becomes of the call before the operation itself is begun.
#[derive(Clone, Copy, Debug)]
enum Expected {
    LetIn,
    /// With this status, and a message that holds this.
    Refused(u16, &'static str),
}

/// The rules of the decisions.
fn expected(rule: &Rule, who: Who) -> Expected {
    use Expected::{LetIn, Refused};
    let Some(scope) = rule.scope else { return LetIn };
    let needs_application = Refused(403, "this operation needs an application token");
    let needs_user = Refused(403, "this operation needs a user token");
    match (who, rule.identity) {
        (Who::NoToken, _) => Refused(401, "a token is needed"),
        (Who::Expired, _) => Refused(401, "expired"),
        (Who::WrongTenant, _) => Refused(403, "indicated-e-code"),
        (Who::User, Identity::Application) => needs_application,
        (Who::User, _) => LetIn,
        (_, Identity::User) => needs_user,
        (Who::WithoutScope(_), _) => Refused(403, scope.as_str()),
        (Who::Application, _) if matches!(scope, Scope::Admin | Scope::Tenants) => {
            Refused(403, scope.as_str())
        }
        (Who::Domain, _) if scope == Scope::Admin => Refused(403, scope.as_str()),
        (Who::Application | Who::Domain | Who::Admin, _) => LetIn,
    }
}

/// Calls the operation with nothing but a path, which is enough to get past the door, or not.
async fn call(rule: &Rule, caller: &Caller) -> Answer {
    let method: Method = rule.method.parse().unwrap();
    if caller.token.is_empty() {
        return send(caller.http.request(method, format!("{}{}", caller.base, filled(rule.path)))).await;
    }
    send(caller.request(method, &filled(rule.path))).await
}

/// The statuses that the interface's description gives for an operation.
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
        assert!(documented.contains(&answer.status), "{} is not documented of {of}", answer.status);
    }
    match expected(rule, who) {
        Expected::LetIn => assert!(![403, 405, 500].contains(&answer.status), "{} {of}", answer.status),
        Expected::Refused(status, named) => {
            assert_eq!(answer.status, status, "{of}");
            answer.fails(status, named);
        }
    }
}

fn all_but(scope: Scope, kind: Kind) -> Vec<Scope> {
    let possible = kind.possible_scopes();
    Scope::ALL.into_iter().filter(|other| *other != scope && possible.allow(*other)).collect()
}

#[tokio::test]
async fn every_route_lets_in_whom_it_should_and_nobody_else() {
    let app = TestApp::start().await;
    let description = app.caller("").get("/openapi.json").await.body;
    let acme = app.tenant("acme").await;
    app.tenant("other").await;
    let domain = Kind::Domain.possible_scopes();
    let domain = Scope::ALL.into_iter().filter(|scope| domain.allow(*scope)).collect();
    let domain = app.register("elsewhere", Kind::Domain, &["acme"], domain).await;
    let admin = app.operator().await;
    app.sync(&acme.caller, "users", &json!([user("mei", "")])).await;
    let mei = app.user(&acme, "mei").await;
    let expired = app.expired_caller(&acme).await;
    let mut walked = 0;
    for rule in TABLE {
        let without_scope = match rule.scope {
            Some(scope) => {
                let kind = if scope == Scope::Tenants { Kind::Domain } else { Kind::Admin };
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
        ];
        for (who, caller) in callers.into_iter().chain(without_scope) {
            check(rule, who, call(rule, &caller).await, &description);
            walked += 1;
        }
    }
    assert!(walked > 7 * 30, "{walked}");
}
