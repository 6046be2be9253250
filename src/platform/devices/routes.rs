//! `/open/v1/devices`: applications act for anyone, user tokens for themselves.

use axum::extract::State;
use serde_json::value::RawValue;
use trawl_macros::operation;

use super::{
    forms::{Device, DeviceForm, DeviceOwner, IdType, MAX_DEVICES, Unbinding, read_unbindings},
    repo,
};
use crate::{
    audit::{self, Actor, AuditEvent},
    auth::{caller::Caller, extract::Identified},
    error::{Error, Result},
    http::{
        envelope::Envelope,
        extract::{JsonBody, JsonObject, QueryParameters},
    },
    platform::devices::DevicesState,
    store::{Cached, Connection, Transaction},
};

/// Binds a device to a user; existing bindings stay.
#[operation(
    directory, 200 = "The device was bound",
    404 = "There is no such user",
    409 = "The user has the maximum of devices",
)]
pub async fn bind_device(
    State(state): State<DevicesState>,
    Identified(caller): Identified,
    JsonObject(form): JsonObject<DeviceForm>,
) -> Result<Envelope<Device>> {
    form.check().map_err(Error::bad_request)?;
    let job = state.store.write(move |transaction| {
        Box::pin(async move {
            let user_id = find_user(transaction, &caller, form.id.as_deref(), form.id_type).await?;
            let tenant_id = caller.tenant.id;
            let known = repo::list(transaction, tenant_id, &user_id).await?;
            let is_known = known.iter().any(|device| device.device_id == form.device_id);
            if !is_known && known.len() >= MAX_DEVICES {
                return Err(Error::conflict(format!(
                    "deviceId: the user already has {MAX_DEVICES} devices, the maximum"
                )));
            }
            let name = form.name.as_deref().filter(|name| !name.is_empty());
            let device = repo::bind(transaction, tenant_id, &user_id, &form.device_id, name).await?;
            let event = AuditEvent::new("bind", "device", device.device_id.as_str()).with("userId", user_id);
            audit::record(transaction, &Actor::caller(&caller), &caller.tenant, vec![event]).await?;
            Ok(device)
        })
    });
    Ok(Envelope::of(job.await?))
}

/// Lists a user's devices, oldest binding first.
#[operation(directory, 200 = "The devices", 404 = "There is no such user")]
pub async fn list_devices(
    State(state): State<DevicesState>,
    Identified(caller): Identified,
    QueryParameters(whose): QueryParameters<DeviceOwner>,
) -> Result<Envelope<Vec<Device>>> {
    let reader = state.store.reader();
    let user_id = find_user(reader, &caller, whose.id.as_deref(), whose.id_type).await?;
    Ok(Envelope::list(repo::list(reader, caller.tenant.id, &user_id).await?))
}

/// Unbinds one or all devices and invalidates their tokens.
///
/// Takes one request or a list, all or nothing.
#[operation(
    directory, request_body(content = Vec<Unbinding>, description = "One request without the array is read, too"),
    200 = "The named devices are no longer bound",
    404 = "There is no such user",
)]
pub async fn unbind_devices(
    State(state): State<DevicesState>,
    Identified(caller): Identified,
    JsonBody(body): JsonBody<Box<RawValue>>,
) -> Result<Envelope<()>> {
    let unbindings = read_unbindings(&body, state.limits.batch_items)
        .map_err(|reason| Error::bad_request(format!("body: {reason}")))?;
    let job = state.store.write(move |transaction| {
        let tenant_id = caller.tenant.id;
        transaction.invalidate(Cached::Identities(tenant_id));
        Box::pin(async move { unbind(transaction, &caller, unbindings).await })
    });
    job.await?;
    Ok(Envelope::of(()))
}

async fn unbind(transaction: &Transaction, caller: &Caller, unbindings: Vec<Unbinding>) -> Result<()> {
    let mut events = Vec::new();
    for Unbinding { id, id_type, device_id, reason } in unbindings {
        let user_id = find_user(transaction, caller, id.as_deref(), id_type).await?;
        let tenant_id = caller.tenant.id;
        let reason = serde_json::to_value(reason.unwrap_or_default()).map_err(Error::internal)?;
        for device in repo::unbind(transaction, tenant_id, &user_id, device_id.as_deref()).await? {
            let event = AuditEvent::new("unbind", "device", device);
            events.push(event.with("userId", user_id.as_str()).with("reason", reason.clone()));
        }
    }
    Ok(audit::record(transaction, &Actor::caller(caller), &caller.tenant, events).await?)
}

/// Source id of the named user; a user token must match.
async fn find_user(
    reader: &Connection,
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
        // Hides the existence of other users.
        (_, Some(_)) => Err(Error::forbidden("id: a user token may access only the user's own devices")),
    }
}
