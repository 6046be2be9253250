//! `/admin/v1/subscriptions`: built-in content that the server fetches by itself.

use axum::extract::State;
use serde::Deserialize;
use trawl_macros::operation;

use crate::{
    auth::extract::Identified,
    error::Result,
    http::{
        envelope::Envelope,
        extract::{JsonObject, PathParameter, QueryParameters},
        precondition::{IfMatch, Tagged},
    },
    platform::subscriptions::{
        SubscriptionsState,
        forms::{Subscription, SubscriptionForm},
        service,
    },
};

/// Lists the tenant's subscriptions and their last runs, by name.
#[operation(admin, 200 = "The subscriptions")]
pub async fn list_subscriptions(
    State(state): State<SubscriptionsState>,
    Identified(caller): Identified,
) -> Result<Envelope<Vec<Subscription>>> {
    Ok(Envelope::list(service::list(&state, caller.tenant.id).await?))
}

/// Options of a new subscription.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(rename_all = "camelCase")]
pub struct NewSubscriptionQuery {
    /// Whether the form is only checked; default: false.
    dry_run: Option<bool>,
}

/// Adds a subscription, which runs at once if it is enabled.
#[operation(
    admin, 200 = "The subscription; null with `dryRun`",
    409 = "Its id is taken, or the tenant has the maximum of subscriptions",
)]
pub async fn create_subscription(
    State(state): State<SubscriptionsState>,
    Identified(caller): Identified,
    QueryParameters(query): QueryParameters<NewSubscriptionQuery>,
    JsonObject(form): JsonObject<SubscriptionForm>,
) -> Result<Envelope<Option<Subscription>>> {
    if query.dry_run == Some(true) {
        service::check(&state, caller.tenant.id, form).await?;
        return Ok(Envelope::of(None));
    }
    Ok(Envelope::of(Some(service::create(&state, &caller, form).await?.object)))
}

/// Returns one subscription and its last run.
#[operation(
    admin, id = "The subscription's id", 200 = "The subscription",
    404 = "There is no such subscription",
)]
pub async fn find_subscription(
    State(state): State<SubscriptionsState>,
    Identified(caller): Identified,
    PathParameter(id): PathParameter,
) -> Result<Tagged<Subscription>> {
    service::find(&state, caller.tenant.id, &id).await
}

/// Replaces a subscription; absent fields get defaults, module and kind stay.
///
/// Another source is read from its beginning, at once. Another password is tried at once. With longer `keepDays`, the next run
/// reads all again. Present items get another visibility in the background.
#[operation(
    admin, id = "The subscription's id", 200 = "The subscription",
    404 = "There is no such subscription",
)]
pub async fn replace_subscription(
    State(state): State<SubscriptionsState>,
    Identified(caller): Identified,
    PathParameter(id): PathParameter,
    if_match: IfMatch,
    JsonObject(form): JsonObject<SubscriptionForm>,
) -> Result<Tagged<Subscription>> {
    service::replace(&state, &caller, id, form, if_match).await
}

/// Removes a subscription; its items follow in the background.
#[operation(
    admin, id = "The subscription's id", 200 = "It is removed",
    404 = "There is no such subscription",
)]
pub async fn remove_subscription(
    State(state): State<SubscriptionsState>,
    Identified(caller): Identified,
    PathParameter(id): PathParameter,
    if_match: IfMatch,
) -> Result<Envelope<()>> {
    service::remove(&state, &caller, id, if_match).await?;
    Ok(Envelope::of(()))
}

/// Has a subscription run now, also one that is not enabled; answers before the run.
///
/// The run is over once `runs` is greater than in the answer. A host that asked for a pause gets it first.
#[operation(
    admin, id = "The subscription's id", 200 = "The subscription, due now",
    404 = "There is no such subscription",
)]
pub async fn run_subscription(
    State(state): State<SubscriptionsState>,
    Identified(caller): Identified,
    PathParameter(id): PathParameter,
) -> Result<Tagged<Subscription>> {
    service::request_run(&state, &caller, id).await
}
