//! `POST /notificationapi/hook/send`, authorised by the token alone.

use axum::extract::{Request, State};
use secrecy::SecretString;
use serde::Deserialize;
use trawl_macros::operation;

use crate::{
    error::{Error, Result},
    http::{
        envelope::{BodyRefusals, Envelope, Refusals},
        extract::{QueryParameters, check_content_type, read_body},
    },
    identity::frozen::refuse_frozen,
    platform::{
        groups::service::tenants_of,
        robots::{
            RobotsState,
            documents::MESSAGE,
            forms::{CardMessage, Message},
            repo::{
                messages::{self, SentMessage},
                robots, templates,
            },
            token::TokenDigest,
        },
    },
    store::{Transaction, now_millis},
};

/// Webhook parameters.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct WebhookQuery {
    /// Robot token.
    #[param(value_type = String)]
    token: Option<SecretString>,
}

/// Sends a message to the robot's group; members can search it.
#[operation(
    robots, security(()),
    request_body(content = Message, example = json!({"msgType": "text", "content": {"text": "High water at 14:05"}})),
    200 = "The message",
    Refusals,
    BodyRefusals,
)]
pub async fn send_message(
    State(state): State<RobotsState>,
    QueryParameters(WebhookQuery { token }): QueryParameters<WebhookQuery>,
    request: Request,
) -> Result<Envelope<SentMessage>> {
    let digest = token.as_ref().and_then(TokenDigest::of).ok_or_else(unknown)?;
    // The call is counted before its body is read.
    let sender = robots::find_sender(state.store.reader(), &digest).await?.ok_or_else(unknown)?;
    state.robot_limits.count_call(&sender.id)?;
    refuse_frozen(sender.is_frozen)?;
    check_content_type(request.headers(), "application/json")?;
    let body = read_body(request).await?;
    if std::str::from_utf8(&body).is_err() {
        return Err(Error::unsupported_media_type("body: must be UTF-8"));
    }
    let message = Message::read(&body).map_err(Error::bad_request)?;
    let sending = state.clone();
    let job = state.store.write(move |transaction| {
        Box::pin(async move { send(&sending, transaction, &digest, message).await })
    });
    Ok(Envelope::of(job.await?))
}

async fn send(
    state: &RobotsState,
    transaction: &Transaction,
    digest: &TokenDigest,
    mut message: Message,
) -> Result<SentMessage> {
    // Token or tenant may have changed while the body arrived.
    let sender = robots::find_sender(transaction, digest).await?.ok_or_else(unknown)?;
    refuse_frozen(sender.is_frozen)?;
    if let Message::CardTemplate(card) = &mut message {
        settle_template(transaction, sender.tenant_id, card).await?;
    }
    let now = now_millis();
    state.robot_limits.check_message(transaction, &sender, now).await?;
    let sent = messages::insert(transaction, &sender, &message, now).await?;
    for tenant_id in tenants_of(transaction, &sender.group_id).await? {
        transaction.record_change(tenant_id, MESSAGE, &sent.id);
    }
    Ok(sent)
}

async fn settle_template(transaction: &Transaction, tenant_id: i64, card: &mut CardMessage) -> Result<()> {
    let (id, code) = (card.template_id.as_deref(), card.template_code.as_deref());
    let field = if id.is_some() { "templateId" } else { "templateCode" };
    let template = templates::find(transaction, tenant_id, id, code).await?;
    let template = template
        .ok_or_else(|| Error::bad_request(format!("content.{field}: there is no such card template")))?;
    (card.template_id, card.template_code) = (Some(template.id), Some(template.code));
    Ok(())
}

fn unknown() -> Error {
    Error::unauthorized("token: must be the current token of a robot")
}
