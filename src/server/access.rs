//! Enforces the route table's rules (book: explanation/security.md).

use std::{num::NonZeroU32, sync::Arc, time::Duration};

use axum::{
    body::HttpBody,
    extract::{MatchedPath, Request, State},
    http::{HeaderMap, HeaderValue, Method, header},
    middleware::Next,
    response::Response,
};
use governor::clock::{Clock, DefaultClock};

use super::{
    routes::rules,
    rule::{BodyLimit, Frozen, POSITION, RequiredIdentity, Rule},
};
use crate::{
    app::App,
    auth::{
        applications::Kind,
        caller::{Caller, SessionRole},
        credential::Credential,
    },
    budget::{BodyReservation, Holder},
    config::Limits,
    error::{Error, Result},
    http::{
        client_address::{client_address, network_of},
        extract::{AdmissionRecheck, BodyRule},
    },
    identity::{frozen::refuse_frozen, scopes::TokenScope},
};

const FORM_BYTES: usize = 16 << 10;

const MESSAGE_BYTES: usize = 64 << 10;

struct Readmission {
    app: Arc<App>,
    rule: &'static Rule,
    credential: Credential,
    indicated: Option<String>,
    caller: Arc<Caller>,
}

const CHANGED_FOR: Duration = Duration::from_secs(1);

#[async_trait::async_trait]
impl AdmissionRecheck for Readmission {
    async fn confirm(&self) -> Result<()> {
        let now = authorize(&self.app, self.rule, &self.credential, self.indicated.as_deref()).await?;
        if now.tenant.id != self.caller.tenant.id {
            return Err(Error::unauthorized("the tenant no longer exists"));
        }
        // Visibility concerns searches; other operations check again in their write.
        let is_changed = if self.rule.scope == Some(TokenScope::ContentsRead) {
            now.principals() != self.caller.principals()
        } else {
            now.person() != self.caller.person()
        };
        if is_changed {
            let changed = "the caller or the caller's rights have just changed; try again";
            return Err(Error::unavailable(changed, CHANGED_FOR));
        }
        Ok(())
    }
}

async fn authorize(
    app: &App,
    rule: &Rule,
    credential: &Credential,
    indicated: Option<&str>,
) -> Result<Arc<Caller>> {
    let acting_role = match rule.scope {
        // No user token has these scopes, so the session acts as an operator.
        Some(TokenScope::Admin | TokenScope::Tenants) => SessionRole::Operator,
        _ => SessionRole::Person,
    };
    let caller = credential.authenticate(&app.authenticator, acting_role, indicated).await?;
    check(rule, &caller)?;
    Ok(caller)
}

/// Applies the route's rule and adds the [`Caller`] to the request's extensions.
pub async fn enforce(
    State(app): State<Arc<App>>,
    path: MatchedPath,
    mut request: Request,
    next: Next,
) -> Result<Response> {
    let rule = rule_for(request.method(), path.as_str()).ok_or_else(|| {
        if request.method() == Method::HEAD {
            return Error::method_not_allowed("this operation writes and does not support HEAD");
        }
        Error::internal(format!("{} {} is not in the access table", request.method(), path.as_str()))
    })?;
    let (mut readmission, mut is_session) = (None, false);
    let holder = if rule.identity == RequiredIdentity::Anyone {
        Holder::Network(network_of(client_address(&request, &app.auth.trusted_proxies)?))
    } else {
        let credential = match rule.identity {
            RequiredIdentity::PageSession => Credential::page_session(&app.auth, request.headers())?,
            _ => Credential::of(&app.auth, request.headers())?,
        };
        is_session = matches!(credential, Credential::Session(_));
        let indicated = indicated_code(request.headers())?.map(str::to_owned);
        let caller = authorize(&app, rule, &credential, indicated.as_deref()).await?;
        if rule.writes {
            count_write(&app, &caller)?;
        }
        let holder = Holder::Tenant(caller.tenant.id);
        request.extensions_mut().insert(Arc::clone(&caller));
        readmission = Some(Readmission { app: Arc::clone(&app), rule, credential, indicated, caller });
        holder
    };
    if rule.body == BodyLimit::Content || request.body().is_end_stream() {
        let answer = app.answer_budget.hold_answer(next.run(request).await, holder, rule.writes).await;
        return Ok(set_no_store(with_position(&app, rule, answer), is_session));
    }
    let reservation = BodyReservation::new(&app.body_budget, holder);
    let recheck = readmission.map(|readmission| Arc::new(readmission) as _);
    request.extensions_mut().insert(body_rule(rule, &app.limits, reservation.clone(), recheck));
    let answer = reservation.scope(next.run(request)).await;
    let answer = app.answer_budget.hold_answer(answer, holder, rule.writes).await;
    Ok(set_no_store(with_position(&app, rule, answer), is_session))
}

/// Adds the change log's last position to answers of writes (book: explanation/freshness.md).
///
/// It is not before what the caller changed.
fn with_position(app: &App, rule: &Rule, mut answer: Response) -> Response {
    if rule.tells_position() && answer.status().is_success() {
        answer.headers_mut().insert(POSITION, HeaderValue::from(*app.store.positions().borrow()));
    }
    answer
}

/// Forbids caching: tokens imply this, cookies do not.
fn set_no_store(mut answer: Response, is_session: bool) -> Response {
    if is_session {
        let private = HeaderValue::from_static("private, no-store");
        answer.headers_mut().entry(header::CACHE_CONTROL).or_insert(private);
    }
    answer
}

fn body_rule(
    rule: &Rule,
    limits: &Limits,
    reservation: BodyReservation,
    recheck: Option<Arc<dyn AdmissionRecheck>>,
) -> BodyRule {
    let most_bytes = match rule.body {
        BodyLimit::Ordinary => limits.body_bytes,
        BodyLimit::Sync => limits.sync_body_bytes,
        BodyLimit::Form => FORM_BYTES,
        BodyLimit::Message => MESSAGE_BYTES,
        BodyLimit::Content => 0,
    };
    let (most_items, timeout) = (rule.body.most_items(limits), Duration::from_millis(limits.body_timeout_ms));
    BodyRule { most_bytes, most_items, timeout, reservation, recheck }
}

/// The rule of an operation.
pub fn rule_for(method: &Method, path: &str) -> Option<&'static Rule> {
    // HEAD is GET without a body; writes do not allow it.
    let is_head = method == Method::HEAD;
    let method = if is_head { "GET" } else { method.as_str() };
    rules().find(|rule| rule.path == path && rule.method == method && !(is_head && rule.writes))
}

fn check(rule: &Rule, caller: &Caller) -> Result<()> {
    let is_operated = rule.frozen == Frozen::Operated && caller.kind == Kind::Admin;
    refuse_frozen(caller.is_frozen() && !is_operated)?;
    match rule.identity {
        RequiredIdentity::Application if caller.user.is_some() => {
            return Err(Error::forbidden("this operation needs an application token"));
        }
        RequiredIdentity::User => drop(caller.require_user()?),
        _ => {}
    }
    rule.scope.map_or(Ok(()), |scope| caller.require(scope))
}

fn count_write(app: &App, caller: &Caller) -> Result<()> {
    let most = NonZeroU32::new(app.config.limits.writes_per_minute).unwrap_or(NonZeroU32::MIN);
    // Each of `alive` replicas counts a write `alive` times: together they keep the limit.
    let alive = u32::try_from(app.replicas.alive()).ok().and_then(NonZeroU32::new).unwrap_or(most).min(most);
    let Ok(counted) = app.writes.check_key_n(&caller.client_id, alive) else { return Ok(()) };
    counted.map_err(|until| {
        let wait = until.wait_time_from(DefaultClock::default().now());
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
