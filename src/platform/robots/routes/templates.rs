//! `/v1/card_templates/{templateCode}`.

use axum::extract::State;
use trawl_macros::operation;

use crate::{
    audit::{self, Actor, AuditEvent},
    auth::{caller::Caller, extract::Identified},
    error::{Error, Result},
    http::{
        envelope::Envelope,
        extract::{JsonObject, PathParameter},
    },
    platform::{
        robots::{
            RobotsState,
            repo::templates,
            templates::{CardTemplate, TemplateForm, TemplateNames},
        },
        shared::patch::check_id_of,
    },
    store::{Json, Transaction},
};

/// Creates or changes a template; sent cards keep their version.
#[operation(robots, template_code = "The template's code", 200 = "The template's newest id")]
pub async fn put_template(
    State(state): State<RobotsState>,
    Identified(caller): Identified,
    PathParameter(template_code): PathParameter,
    JsonObject(form): JsonObject<TemplateForm>,
) -> Result<Envelope<TemplateNames>> {
    check_id_of("templateCode", &template_code).map_err(Error::bad_request)?;
    form.check().map_err(Error::bad_request)?;
    let job = state.store.write(move |transaction| {
        Box::pin(async move { put(transaction, &caller, template_code, form).await })
    });
    Ok(Envelope::of(job.await?))
}

async fn put(
    transaction: &Transaction,
    caller: &Caller,
    code: String,
    TemplateForm { name, template }: TemplateForm,
) -> Result<TemplateNames> {
    let (tenant_id, template) = (caller.tenant.id, Json(template));
    let newest = templates::newest(transaction, tenant_id, &code).await?;
    let same = newest.filter(|newest| newest.name == name && newest.template == template);
    if let Some(same) = same {
        return Ok(TemplateNames { template_id: same.id, template_code: code, name });
    }
    let template_id = templates::insert(transaction, tenant_id, &code, &name, &template).await?;
    let event =
        AuditEvent::new("change", "card-template", code.as_str()).with("templateId", template_id.as_str());
    audit::record(transaction, &Actor::caller(caller), &caller.tenant, vec![event]).await?;
    Ok(TemplateNames { template_id, template_code: code, name })
}

/// Returns the newest version of a template.
#[operation(
    robots, template_code = "The template's code", 200 = "The template",
    404 = "There is no such template",
)]
pub async fn find_template(
    State(state): State<RobotsState>,
    Identified(caller): Identified,
    PathParameter(template_code): PathParameter,
) -> Result<Envelope<CardTemplate>> {
    let found = templates::newest(state.store.reader(), caller.tenant.id, &template_code).await?;
    let found = found.ok_or_else(|| Error::not_found("templateCode: there is no such card template"))?;
    let names = TemplateNames { template_id: found.id, template_code: found.code, name: found.name };
    Ok(Envelope::of(CardTemplate { names, template: found.template.0, created_date: found.created_at }))
}
