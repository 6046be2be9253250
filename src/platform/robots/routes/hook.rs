//! `POST /notificationapi/hook/send`: a robot writes into its group. Its token is all that lets it in.

use std::{sync::Arc, time::Instant};

use axum::extract::{Request, State};
use secrecy::SecretString;
use serde::Deserialize;

use crate::{
    api::{
        envelope::{BodyRefusals, Envelope, Refusals},
        extract::{QueryParameters, check_content_type, read_body},
    },
    app::App,
    error::{Error, Result},
    platform::{
        groups::model::tenants_of,
        robots::{
            documents::MESSAGE,
            model::{CardMessage, Message},
            repo::{
                messages::{self, SentMessage},
                robots::{self, Sender},
                templates,
            },
            token::Digest,
        },
    },
    store::Transaction,
};

/// Which robot.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Token {
    /// The robot's token.
    #[param(value_type = String)]
    token: Option<SecretString>,
}

/// Writes a message into the robot's group; its members find it.
#[utoipa::path(
    post, path = "/notificationapi/hook/send", tag = "robots", security(()), params(Token),
    request_body(content = Message, example = json!({"msgType": "text", "content": {"text": "High water at 14:05"}})),
    responses(
        (status = 200, description = "The message", body = Envelope<SentMessage>),
        Refusals, BodyRefusals,
    )
)]
pub async fn send_message(
    State(app): State<Arc<App>>,
    QueryParameters(Token { token }): QueryParameters<Token>,
    request: Request,
) -> Result<Envelope<SentMessage>> {
    let digest = token.as_ref().and_then(Digest::of).ok_or_else(unknown)?;
    // Before anything of the body is read: that is for those who are known.
    let sender = robots::find_sender(app.store.reader(), &digest).await?.ok_or_else(unknown)?;
    app.robot_limits.count_call(&sender.id)?;
    refuse_frozen(&sender)?;
    check_content_type(request.headers(), "application/json")?;
    let body = read_body(request).await?;
    if std::str::from_utf8(&body).is_err() {
        return Err(Error::unsupported_media_type("body: must be UTF-8"));
    }
    let message = Message::read(&body).map_err(Error::bad_request)?;
    let sending = Arc::clone(&app);
    let job = app.store.write(move |transaction| {
        Box::pin(async move { send(&sending, transaction, &digest, message).await })
    });
    Ok(Envelope::of(job.await?))
}

async fn send(
    app: &App,
    transaction: &Transaction,
    digest: &Digest,
    mut message: Message,
) -> Result<SentMessage> {
    // Again: while the body came, the token may have been replaced, the robot removed, the tenant frozen.
    let sender = robots::find_sender(&**transaction, digest).await?.ok_or_else(unknown)?;
    refuse_frozen(&sender)?;
    if let Message::CardTemplate(card) = &mut message {
        settle_template(transaction, sender.tenant_id, card).await?;
    }
    app.robot_limits.count_message(&sender.id, &sender.group_id, Instant::now())?;
    let sent = messages::insert(transaction, &sender, &message).await?;
    for tenant_id in tenants_of(&**transaction, &sender.group_id).await? {
        transaction.record_change(tenant_id, MESSAGE, &sent.id);
    }
    Ok(sent)
}

/// Has the card name the template that it is made of now, whatever becomes of its code.
async fn settle_template(transaction: &Transaction, tenant_id: i64, card: &mut CardMessage) -> Result<()> {
    let (id, code) = (card.template_id.as_deref(), card.template_code.as_deref());
    let field = if id.is_some() { "templateId" } else { "templateCode" };
    let template = templates::find(transaction, tenant_id, id, code).await?;
    let template = template
        .ok_or_else(|| Error::bad_request(format!("content.{field}: there is no such card template")))?;
    (card.template_id, card.template_code) = (Some(template.id), Some(template.code));
    Ok(())
}

fn refuse_frozen(sender: &Sender) -> Result<()> {
    if sender.is_frozen { Err(Error::forbidden("tenant is frozen")) } else { Ok(()) }
}

fn unknown() -> Error {
    Error::unauthorized("token: no robot has this token; whoever makes a robot is told its own")
}
