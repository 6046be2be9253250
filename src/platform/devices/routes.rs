//! `/open/v1/devices`: bind, list, unbind. Applications do it for everybody, a user token for its own person.

use std::sync::Arc;

use axum::extract::State;
use sea_orm::ConnectionTrait;
use serde_json::value::RawValue;

use super::{
    model::{Device, DeviceForm, IdType, MOST_DEVICES, Unbinding, Unbindings, Whose, read_unbindings},
    repo,
};
use crate::{
    api::{
        envelope::{BodyRefusals, Envelope, FailureEnvelope, Refusals},
        extract::{Identified, JsonBody, JsonObject, QueryParameters},
    },
    app::App,
    audit::{self, Actor, Deed},
    auth::caller::Caller,
    error::{Error, Result},
    store::Transaction,
};

/// Binds a device to a user; one that is bound already stays so.
#[utoipa::path(
    post, path = "/open/v1/devices/bind", tag = "directory", request_body = DeviceForm,
    responses(
        (status = 200, description = "It is bound", body = Envelope<Device>),
        Refusals, BodyRefusals,
        (status = 404, description = "There is no such user", body = FailureEnvelope),
        (status = 409, description = "The user has as many devices as one may have", body = FailureEnvelope),
    )
)]
pub async fn bind_device(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    JsonObject(form): JsonObject<DeviceForm>,
) -> Result<Envelope<Device>> {
    form.check().map_err(Error::bad_request)?;
    let job = app.store.write(move |transaction| {
        Box::pin(async move {
            let user_id = find_user(&**transaction, &caller, form.id.as_deref(), form.id_type).await?;
            let tenant_id = caller.tenant.id;
            let known = repo::list(&**transaction, tenant_id, &user_id).await?;
            let is_known = known.iter().any(|device| device.device_id == form.device_id);
            if !is_known && known.len() >= MOST_DEVICES {
                return Err(Error::conflict(format!(
                    "deviceId: the user has {MOST_DEVICES} devices already, the most that one may have"
                )));
            }
            let name = form.name.as_deref().filter(|name| !name.is_empty());
            let device = repo::bind(transaction, tenant_id, &user_id, &form.device_id, name).await?;
            let deed = Deed::new("bind", "device", device.device_id.as_str()).with("userId", user_id);
            audit::record(transaction, &Actor::caller(&caller), &caller.tenant, vec![deed]).await?;
            Ok(device)
        })
    });
    Ok(Envelope::of(job.await?))
}

/// A user's devices, in the order in which they were bound.
#[utoipa::path(
    get, path = "/open/v1/devices", tag = "directory", params(Whose),
    responses(
        (status = 200, description = "The devices", body = Envelope<Vec<Device>>),
        Refusals,
        (status = 404, description = "There is no such user", body = FailureEnvelope),
    )
)]
pub async fn list_devices(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    QueryParameters(whose): QueryParameters<Whose>,
) -> Result<Envelope<Vec<Device>>> {
    let reader = app.store.reader();
    let user_id = find_user(reader, &caller, whose.id.as_deref(), whose.id_type).await?;
    Ok(Envelope::list(repo::list(reader, caller.tenant.id, &user_id).await?))
}

/// Unbinds one device of a user, or all of them; the tokens that were asked for with it die. Takes one request or a list of
/// them, all of which are done or none.
#[utoipa::path(
    post, path = "/open/v1/devices/unbind", tag = "directory",
    request_body(content = Unbindings),
    responses(
        (status = 200, description = "None of what was named is bound any more", body = Envelope<Option<Object>>),
        Refusals, BodyRefusals,
        (status = 404, description = "There is no such user", body = FailureEnvelope),
    )
)]
pub async fn unbind_devices(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    JsonBody(body): JsonBody<Box<RawValue>>,
) -> Result<Envelope<()>> {
    let unbindings = read_unbindings(&body, app.config.limits.batch_items)
        .map_err(|reason| Error::bad_request(format!("body: {reason}")))?;
    let remembering = Arc::clone(&app);
    let job = app.store.write(move |transaction| {
        let tenant_id = caller.tenant.id;
        transaction.after_commit(move || remembering.authenticator.forget_callers(tenant_id));
        Box::pin(async move { unbind(transaction, &caller, unbindings).await })
    });
    job.await?;
    Ok(Envelope::of(()))
}

async fn unbind(transaction: &Transaction, caller: &Caller, unbindings: Vec<Unbinding>) -> Result<()> {
    let mut deeds = Vec::new();
    for Unbinding { id, id_type, device_id, reason } in unbindings {
        let user_id = find_user(&**transaction, caller, id.as_deref(), id_type).await?;
        let tenant_id = caller.tenant.id;
        let reason = serde_json::to_value(reason.unwrap_or_default()).map_err(Error::internal)?;
        for device in repo::unbind(transaction, tenant_id, &user_id, device_id.as_deref()).await? {
            let deed = Deed::new("unbind", "device", device);
            deeds.push(deed.with("userId", user_id.as_str()).with("reason", reason.clone()));
        }
    }
    Ok(audit::record(transaction, &Actor::caller(caller), &caller.tenant, deeds).await?)
}

/// The source-side id of the user who is named, whom a user token has to be of.
async fn find_user<C: ConnectionTrait>(
    reader: &C,
    caller: &Caller,
    id: Option<&str>,
    id_type: Option<IdType>,
) -> Result<String> {
    let oneself = caller.user.as_ref().map(|user| &user.person.user_id);
    let found = match (id.filter(|id| !id.is_empty()), oneself) {
        (None, Some(oneself)) => return Ok(oneself.clone()),
        (None, None) => return Err(Error::bad_request("id: is required")),
        (Some(id), _) => repo::find_user(reader, caller.tenant.id, id_type.unwrap_or_default(), id).await?,
    };
    match (found, oneself) {
        (Some(found), None) => Ok(found),
        (None, None) => Err(Error::not_found("id: there is no such user")),
        (Some(found), Some(oneself)) if found == *oneself => Ok(found),
        // Whether there is someone else of that id is not told.
        (_, Some(_)) => Err(Error::forbidden("id: a user token is for one's own devices only")),
    }
}
