//! Who may call what: one table, enforced in one place (decisions 3.5).

use std::{fmt, sync::Arc, time::Duration};

use axum::{
    body::HttpBody,
    extract::{MatchedPath, Request, State},
    http::{HeaderMap, HeaderValue, Method, header},
    middleware::Next,
    response::Response,
};
use governor::clock::{Clock, DefaultClock};

use super::credential::Credential;
use crate::{
    app::App,
    auth::{applications::Kind, caller::Caller, scopes::Scope},
    bodies::Held,
    config::Limits,
    error::{Error, Result},
};

/// Which identity an operation needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Identity {
    /// None: the caller need not be known.
    Anyone,
    /// An application token.
    Application,
    /// A user token.
    User,
    /// An application token or a user token.
    Either,
}

/// Bytes of a form of anyone.
const FORM_BYTES: usize = 16 << 10;

/// Bytes of a robot's message.
const MESSAGE_BYTES: usize = 64 << 10;

/// Which bound a request body has (decisions 9.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// `limits.body_bytes`.
    Ordinary,
    /// `limits.sync_body_bytes`.
    Sync,
    /// That of a form of anyone, 16 KiB: the room of all bodies is for those who are known.
    Form,
    /// That of a robot's message, 64 KiB.
    Message,
    /// What the address allows: its own operation takes it piece by piece, and it is never in memory.
    Content,
}

/// What an operation answers while the caller's tenant, or the one that he acts on, is frozen (decisions 3.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frozen {
    /// 403.
    Refused,
    /// 403, but not to operators (applications of kind admin): whose own tenant is frozen could not unfreeze it otherwise.
    Operated,
}

/// What one operation asks of its caller.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// HTTP method.
    pub method: &'static str,
    /// Path, as in the route table.
    pub path: &'static str,
    /// Which identity.
    pub identity: Identity,
    /// Which scope; none where anyone may call.
    pub scope: Option<Scope>,
    /// Whether it counts towards `limits.writes_per_minute`.
    pub writes: bool,
    /// How large its body may be.
    pub body: Body,
    /// What it is while a tenant is frozen.
    pub frozen: Frozen,
}

const fn anyone(method: &'static str, path: &'static str) -> Rule {
    Rule {
        method,
        path,
        identity: Identity::Anyone,
        scope: None,
        writes: false,
        body: Body::Form,
        frozen: Frozen::Refused,
    }
}

const fn reads(method: &'static str, path: &'static str, identity: Identity, scope: Scope) -> Rule {
    Rule { identity, scope: Some(scope), body: Body::Ordinary, ..anyone(method, path) }
}

const fn writes(method: &'static str, path: &'static str, identity: Identity, scope: Scope) -> Rule {
    Rule { writes: true, ..reads(method, path, identity, scope) }
}

const fn syncs(method: &'static str, path: &'static str) -> Rule {
    Rule { body: Body::Sync, ..writes(method, path, Identity::Application, Scope::DirectoryWrite) }
}

/// What changes who is signed in: nothing that only wants to know of it, by HEAD, is to do it.
const fn signs(method: &'static str, path: &'static str) -> Rule {
    Rule { writes: true, ..anyone(method, path) }
}

/// A robot's token is in the address: its own operation looks whose it is, before it reads a body.
const fn hooked(method: &'static str, path: &'static str) -> Rule {
    Rule { body: Body::Message, ..anyone(method, path) }
}

/// A signed address says who may what.
const fn stores(method: &'static str, path: &'static str) -> Rule {
    Rule { body: Body::Content, ..anyone(method, path) }
}

const fn operated(rule: Rule) -> Rule {
    Rule { frozen: Frozen::Operated, ..rule }
}

/// Every operation of the route table. One that does not stand here is refused.
#[rustfmt::skip]
pub const TABLE: &[Rule] = &[
    anyone("POST", "/oauth2/token"),
    anyone("GET", "/oauth2/authorize"),
    anyone("POST", "/oauth2/authorize"),
    anyone("POST", "/oauth2/revoke"),
    anyone("GET", "/.well-known/oauth-authorization-server"),
    anyone("GET", "/oauth2/jwks"),
    anyone("GET", "/session"),
    signs("GET", "/session/start"),
    signs("GET", "/session/callback"),
    signs("POST", "/session/end"),
    operated(writes("POST", "/v1/enterprises/register", Identity::Application, Scope::Tenants)),
    operated(writes("POST", "/v1/enterprises/delete", Identity::Application, Scope::Tenants)),
    operated(writes("POST", "/v1/enterprises/freeze", Identity::Application, Scope::Tenants)),
    operated(writes("POST", "/v1/enterprises/unfreeze", Identity::Application, Scope::Tenants)),
    syncs("PUT", "/v1/users/sync"),
    reads("GET", "/v1/users/sync", Identity::Application, Scope::DirectoryRead),
    syncs("PUT", "/v1/organizations/sync"),
    reads("GET", "/v1/organizations/sync", Identity::Application, Scope::DirectoryRead),
    anyone("GET", "/storage/pictures/{id}"),
    stores("PUT", "/storage/uploads/{uploadId}/{partNumber}"),
    stores("GET", "/storage/files/{fileId}/{version}"),
    reads("GET", "/v1/users/blacklists", Identity::User, Scope::DirectoryRead),
    writes("POST", "/v1/users/blacklist", Identity::User, Scope::DirectoryWrite),
    writes("POST", "/v1/users/blacklist/remove", Identity::User, Scope::DirectoryWrite),
    writes("GET", "/v1/users/{userId}/status/update", Identity::Application, Scope::DirectoryWrite),
    writes("POST", "/v1/users/status/update", Identity::Application, Scope::DirectoryWrite),
    // A user token reaches its own person's only.
    reads("GET", "/open/v1/devices", Identity::Either, Scope::DirectoryRead),
    writes("POST", "/open/v1/devices/bind", Identity::Either, Scope::DirectoryWrite),
    writes("POST", "/open/v1/devices/unbind", Identity::Either, Scope::DirectoryWrite),
    writes("POST", "/api/todo/create", Identity::Application, Scope::Tasks),
    writes("POST", "/api/todo/batch_create", Identity::Application, Scope::Tasks),
    reads("GET", "/v1/groups/{groupId}/robots", Identity::User, Scope::Collab),
    writes("POST", "/v1/groups/{groupId}/robots", Identity::User, Scope::Collab),
    writes("DELETE", "/v1/groups/{groupId}/robots/{robotId}", Identity::User, Scope::Collab),
    writes("POST", "/v1/groups/{groupId}/robots/{robotId}/token", Identity::User, Scope::Collab),
    reads("GET", "/v1/groups/{groupId}/messages", Identity::User, Scope::Collab),
    hooked("POST", "/notificationapi/hook/send"),
    reads("GET", "/v1/card_templates/{templateCode}", Identity::Application, Scope::Admin),
    writes("PUT", "/v1/card_templates/{templateCode}", Identity::Application, Scope::Admin),
    // A user token ends its own person's only.
    writes("POST", "/api/todo/complete", Identity::Either, Scope::Tasks),
    writes("POST", "/api/todo/parse", Identity::Application, Scope::Tasks),
    writes("POST", "/api/todo/resume", Identity::Application, Scope::Tasks),
    reads("GET", "/api/todo/{id}", Identity::Either, Scope::Tasks),
    writes("POST", "/api/done/create", Identity::Application, Scope::Tasks),
    writes("POST", "/api/done/batch_create", Identity::Application, Scope::Tasks),
    writes("POST", "/api/done/remove", Identity::Application, Scope::Tasks),
    reads("GET", "/api/done/{id}", Identity::Either, Scope::Tasks),
    writes("POST", "/api/todo/quick_deal", Identity::User, Scope::Tasks),
    writes("PUT", "/v1/contents/{moduleCode}", Identity::Application, Scope::ContentsWrite),
    writes("POST", "/v1/contents/{moduleCode}/delete", Identity::Application, Scope::ContentsWrite),
    reads("GET", "/v1/favorite", Identity::User, Scope::Collab),
    writes("POST", "/v1/favorite/update", Identity::User, Scope::Collab),
    reads("GET", "/v1/favorites", Identity::User, Scope::Collab),
    writes("POST", "/v1/favorites", Identity::User, Scope::Collab),
    writes("DELETE", "/v1/favorites/{itemId}", Identity::User, Scope::Collab),
    writes("POST", "/v1/favorite/label", Identity::User, Scope::Collab),
    writes("POST", "/v1/favorite/label/update", Identity::User, Scope::Collab),
    writes("POST", "/v1/favorite/label/delete", Identity::User, Scope::Collab),
    reads("GET", "/v1/favorite/labels", Identity::User, Scope::Collab),
    writes("GET", "/v1/favorite/labelCountLimit", Identity::Application, Scope::Collab),
    reads("GET", "/v1/badge/list", Identity::Either, Scope::Collab),
    reads("GET", "/v1/badge/{badgeId}", Identity::Either, Scope::Collab),
    writes("POST", "/v1/badge/{badgeId}", Identity::Application, Scope::Collab),
    writes("POST", "/v1/badge", Identity::Application, Scope::Collab),
    writes("DELETE", "/v1/badge", Identity::Application, Scope::Collab),
    reads("POST", "/modules", Identity::Either, Scope::ContentsRead),
    reads("POST", "/contents/search", Identity::Either, Scope::ContentsRead),
    reads("GET", "/contents/search", Identity::Either, Scope::ContentsRead),
    reads("POST", "/contents/search/all", Identity::Either, Scope::ContentsRead),
    reads("GET", "/contents/search/all", Identity::Either, Scope::ContentsRead),
    reads("GET", "/v1/groups", Identity::User, Scope::Collab),
    writes("POST", "/v1/groups", Identity::User, Scope::Collab),
    writes("POST", "/v1/groups/joincode", Identity::User, Scope::Collab),
    reads("GET", "/v1/groups/joincode/{joincode}", Identity::User, Scope::Collab),
    writes("POST", "/v1/groups/joincode/{joincode}/join", Identity::User, Scope::Collab),
    writes("PUT", "/v1/groups/{groupId}", Identity::User, Scope::Collab),
    writes("DELETE", "/v1/groups/{groupId}", Identity::User, Scope::Collab),
    reads("GET", "/v1/groups/{groupId}/info", Identity::User, Scope::Collab),
    reads("GET", "/v1/groups/{groupId}/members", Identity::User, Scope::Collab),
    writes("POST", "/v1/groups/{groupId}/members", Identity::User, Scope::Collab),
    writes("DELETE", "/v1/groups/{groupId}/members", Identity::User, Scope::Collab),
    writes("POST", "/v1/groups/{groupId}/members/outer", Identity::User, Scope::Collab),
    writes("DELETE", "/v1/groups/{groupId}/members/outer", Identity::User, Scope::Collab),
    writes("PUT", "/v1/groups/{groupId}/members/{userId}/role", Identity::User, Scope::Collab),
    writes("POST", "/v1/groups/{groupId}/apply", Identity::User, Scope::Collab),
    reads("GET", "/v1/groups/{groupId}/applications", Identity::User, Scope::Collab),
    writes("POST", "/v1/groups/{groupId}/applications/{applicationId}/accept", Identity::User, Scope::Collab),
    writes("POST", "/v1/groups/{groupId}/applications/{applicationId}/refuse", Identity::User, Scope::Collab),
    reads("GET", "/v1/directories/file/list", Identity::User, Scope::Files),
    reads("GET", "/v1/directories/list", Identity::User, Scope::Files),
    writes("POST", "/v1/directories/create", Identity::User, Scope::Files),
    writes("POST", "/v1/directories/delete", Identity::User, Scope::Files),
    writes("POST", "/v1/directories/rename", Identity::User, Scope::Files),
    writes("POST", "/v1/directories/lock", Identity::User, Scope::Files),
    writes("POST", "/v1/directories/unlock", Identity::User, Scope::Files),
    writes("POST", "/v1/directories/authorize", Identity::User, Scope::Files),
    writes("POST", "/v1/directories/authorize/remove", Identity::User, Scope::Files),
    writes("POST", "/v1/stream/upload", Identity::User, Scope::Files),
    writes("POST", "/v1/stream/upload/commit", Identity::User, Scope::Files),
    writes("POST", "/v1/stream/upload/cancel", Identity::User, Scope::Files),
    writes("GET", "/v1/stream/multipart/upload/start", Identity::User, Scope::Files),
    writes("POST", "/v1/stream/multipart/upload/start", Identity::User, Scope::Files),
    writes("POST", "/v1/stream/multipart/upload/parts", Identity::User, Scope::Files),
    writes("POST", "/v1/stream/multipart/upload/commit", Identity::User, Scope::Files),
    reads("POST", "/v1/stream/download", Identity::User, Scope::Files),
    writes("POST", "/v1/files/delete", Identity::User, Scope::Files),
    reads("GET", "/admin/v1/modules", Identity::Application, Scope::Admin),
    writes("POST", "/admin/v1/modules", Identity::Application, Scope::Admin),
    reads("GET", "/admin/v1/modules/{id}", Identity::Application, Scope::Admin),
    writes("PUT", "/admin/v1/modules/{id}", Identity::Application, Scope::Admin),
    writes("DELETE", "/admin/v1/modules/{id}", Identity::Application, Scope::Admin),
    reads("GET", "/admin/v1/sources", Identity::Application, Scope::Admin),
    writes("POST", "/admin/v1/sources", Identity::Application, Scope::Admin),
    reads("GET", "/admin/v1/sources/{id}", Identity::Application, Scope::Admin),
    writes("PUT", "/admin/v1/sources/{id}", Identity::Application, Scope::Admin),
    writes("DELETE", "/admin/v1/sources/{id}", Identity::Application, Scope::Admin),
    reads("GET", "/admin/v1/sources/{id}/health", Identity::Application, Scope::Admin),
    reads("POST", "/admin/v1/sources/{id}/check", Identity::Application, Scope::Admin),
    reads("GET", "/admin/v1/searches/slow", Identity::Application, Scope::Admin),
    operated(reads("GET", "/admin/v1/applications", Identity::Application, Scope::Admin)),
    operated(writes("POST", "/admin/v1/applications", Identity::Application, Scope::Admin)),
    operated(reads("GET", "/admin/v1/applications/{clientId}", Identity::Application, Scope::Admin)),
    operated(writes("PUT", "/admin/v1/applications/{clientId}", Identity::Application, Scope::Admin)),
    operated(writes("DELETE", "/admin/v1/applications/{clientId}", Identity::Application, Scope::Admin)),
    operated(writes("POST", "/admin/v1/applications/{clientId}/secret", Identity::Application, Scope::Admin)),
    operated(reads("GET", "/admin/v1/signing_keys", Identity::Application, Scope::Admin)),
    operated(writes("POST", "/admin/v1/signing_keys", Identity::Application, Scope::Admin)),
    operated(reads("GET", "/admin/v1/tenants", Identity::Application, Scope::Admin)),
    operated(reads("GET", "/admin/v1/tenants/{eCode}", Identity::Application, Scope::Admin)),
    operated(writes("PUT", "/admin/v1/tenants/{eCode}", Identity::Application, Scope::Admin)),
    operated(reads("GET", "/admin/v1/audit", Identity::Application, Scope::Admin)),
    operated(reads("GET", "/admin/v1/index", Identity::Application, Scope::Admin)),
    operated(writes("POST", "/admin/v1/index/rebuild", Identity::Application, Scope::Admin)),
    anyone("GET", "/healthz"),
    anyone("GET", "/readyz"),
    anyone("GET", "/metrics"),
    anyone("GET", "/openapi.json"),
    anyone("GET", "/docs"),
    anyone("GET", "/docs/"),
    anyone("GET", "/docs/{*rest}"),
    anyone("GET", "/"),
    anyone("GET", "/console"),
    anyone("GET", "/assets/{hash}/{*path}"),
    anyone("GET", "/opensearch.xml"),
];

/// What the body of this request may be, for the extractors; a request without a body has none of it.
#[derive(Clone, Debug)]
pub struct BodyRule {
    /// Bytes.
    pub most_bytes: usize,
    /// How long all of it may take to arrive.
    pub timeout: Duration,
    /// Where what it holds is counted.
    pub held: Held,
    /// What let the caller in, where he has to be known.
    pub standing: Option<Standing>,
}

/// What let a caller in, to be asked again once his body is there: that may take long, and what counts at once counts for him too.
#[derive(Clone)]
pub struct Standing {
    app: Arc<App>,
    rule: &'static Rule,
    credential: Credential,
    indicated: Option<String>,
    /// The caller as he was let in.
    caller: Arc<Caller>,
}

/// When to come back if what one may see has changed while the body came.
const CHANGED_FOR: Duration = Duration::from_secs(1);

impl fmt::Debug for Standing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Standing").field("rule", &self.rule).finish_non_exhaustive()
    }
}

impl Standing {
    /// # Errors
    /// As at the door; 401 where the code he acts on is another tenant's by now, 503 where he is not who he was, or, for a
    /// search, may see something else.
    pub async fn confirm(&self) -> Result<()> {
        let now = let_in(&self.app, self.rule, &self.credential, self.indicated.as_deref()).await?;
        if now.tenant.id != self.caller.tenant.id {
            return Err(Error::unauthorized("the tenant no longer exists"));
        }
        // What he sees is a search's affair; everything else goes by who he is, and asks in its own write.
        let is_changed = if self.rule.scope == Some(Scope::ContentsRead) {
            now.principals() != self.caller.principals()
        } else {
            now.person() != self.caller.person()
        };
        if is_changed {
            let changed = "who this caller is or what he may see has just changed; ask again";
            return Err(Error::unavailable(changed, CHANGED_FOR));
        }
        Ok(())
    }
}

async fn let_in(
    app: &App,
    rule: &Rule,
    credential: &Credential,
    indicated: Option<&str>,
) -> Result<Arc<Caller>> {
    let caller = credential.authenticate(app, rule, indicated).await?;
    check(rule, &caller)?;
    Ok(caller)
}

/// Finds the rule of the matched route, the caller, and whether he satisfies it; handlers find the
/// [`Caller`] among the request's extensions.
pub async fn enforce(
    State(app): State<Arc<App>>,
    path: MatchedPath,
    mut request: Request,
    next: Next,
) -> Result<Response> {
    let rule = rule_for(request.method(), path.as_str()).ok_or_else(|| {
        if request.method() == Method::HEAD {
            return Error::method_not_allowed("this operation writes; it does not answer HEAD");
        }
        Error::internal(format!("{} {} is not in the access table", request.method(), path.as_str()))
    })?;
    let (mut standing, mut is_session) = (None, false);
    if rule.identity != Identity::Anyone {
        let credential = Credential::of(&app, request.headers())?;
        is_session = matches!(credential, Credential::Session(_));
        let indicated = indicated_code(request.headers())?.map(str::to_owned);
        let caller = let_in(&app, rule, &credential, indicated.as_deref()).await?;
        if rule.writes {
            count_write(&app, &caller)?;
        }
        request.extensions_mut().insert(Arc::clone(&caller));
        standing = Some(Standing { app: Arc::clone(&app), rule, credential, indicated, caller });
    }
    if rule.body == Body::Content || request.body().is_end_stream() {
        let answer = app.answers.keep(next.run(request).await, rule.writes).await;
        return Ok(kept_from_others(answer, is_session));
    }
    let held = app.bodies.begin();
    request.extensions_mut().insert(body_rule(rule, &app.config.limits, held.clone(), standing));
    let answer = app.answers.keep(held.during(next.run(request)).await, rule.writes).await;
    Ok(kept_from_others(answer, is_session))
}

/// What a cookie let someone see nothing on the way, and no browser's history, is to keep: unlike a token, it does not tell them so.
fn kept_from_others(mut answer: Response, is_session: bool) -> Response {
    if is_session {
        let private = HeaderValue::from_static("private, no-store");
        answer.headers_mut().entry(header::CACHE_CONTROL).or_insert(private);
    }
    answer
}

fn body_rule(rule: &Rule, limits: &Limits, held: Held, standing: Option<Standing>) -> BodyRule {
    let most_bytes = match rule.body {
        Body::Ordinary => limits.body_bytes,
        Body::Sync => limits.sync_body_bytes,
        Body::Form => FORM_BYTES,
        Body::Message => MESSAGE_BYTES,
        Body::Content => 0,
    };
    BodyRule { most_bytes, timeout: Duration::from_millis(limits.body_timeout_ms), held, standing }
}

/// The rule of an operation.
pub fn rule_for(method: &Method, path: &str) -> Option<&'static Rule> {
    // HEAD is GET without its body; what writes is never done by it.
    let is_head = method == Method::HEAD;
    let method = if is_head { "GET" } else { method.as_str() };
    TABLE.iter().find(|rule| rule.path == path && rule.method == method && !(is_head && rule.writes))
}

fn check(rule: &Rule, caller: &Caller) -> Result<()> {
    let is_operated = rule.frozen == Frozen::Operated && caller.kind == Kind::Admin;
    if caller.is_frozen() && !is_operated {
        return Err(Error::forbidden("tenant is frozen"));
    }
    match rule.identity {
        Identity::Application if caller.user.is_some() => {
            return Err(Error::forbidden("this operation needs an application token"));
        }
        Identity::User => drop(caller.require_user()?),
        _ => {}
    }
    rule.scope.map_or(Ok(()), |scope| caller.require(scope))
}

fn count_write(app: &App, caller: &Caller) -> Result<()> {
    app.writes.check_key(&caller.client_id).map_err(|until| {
        let wait = until.wait_time_from(DefaultClock::default().now());
        let most = app.config.limits.writes_per_minute;
        Error::too_many_requests(
            format!("more than {most} writing calls in a minute by this application"),
            wait,
        )
    })
}

fn indicated_code(headers: &HeaderMap) -> Result<Option<&str>> {
    let Some(value) = headers.get("indicated-e-code") else { return Ok(None) };
    value
        .to_str()
        .map(|code| Some(code.trim()).filter(|code| !code.is_empty()))
        .map_err(|_| Error::bad_request("indicated-e-code: must be a tenant code in ASCII"))
}
