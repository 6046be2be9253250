//! Operators' changes of external sources.

use std::{collections::HashMap, sync::Arc};

use secrecy::SecretString;
use trawl_search::{Module, sources::external::health::SourceHealth};

use super::Author;
use crate::{
    audit::AuditEvent,
    error::{Error, Result},
    http::precondition::{EntityTag, IfMatch, Tagged},
    registry::{
        AuthForm, LastCheck, RegisteredSource, Registry, SourceForm, SourcePolicy,
        forms::{check_same_id, new_id},
        repo,
        repo::sources::SourceRow,
        source_forms::AuthType,
        sources, validated_settings,
        validated_settings::{InvalidSettings, validate},
    },
};

/// The kind of object in the audit log.
const SOURCE: &str = "source";

const MAX_NAMED_MODULES: usize = 10;

fn no_source() -> Error {
    Error::not_found("id: the tenant has no such source")
}

impl Registry {
    /// The external sources by name.
    pub async fn list_sources(&self, tenant_id: i64) -> Result<Vec<RegisteredSource>> {
        let rows = repo::sources::list(self.store.reader(), tenant_id).await?;
        let checks = repo::checks::list(self.store.reader(), tenant_id).await?;
        let mut checks: HashMap<String, LastCheck> = checks.into_iter().collect();
        let shown = rows.into_iter().map(|row| {
            let check = checks.remove(&row.id);
            self.show(tenant_id, row, check)
        });
        Ok(shown.collect())
    }

    /// The source with this id.
    ///
    /// # Errors
    /// 404.
    pub async fn find_source(&self, tenant_id: i64, id: &str) -> Result<Tagged<RegisteredSource>> {
        let row = self.row_of(tenant_id, id).await?;
        let check = repo::checks::find(self.store.reader(), tenant_id, id).await?;
        Ok(Tagged { tag: EntityTag::of(&row)?, object: self.show(tenant_id, row, check) })
    }

    /// The health of a source.
    ///
    /// # Errors
    /// 404.
    pub async fn health_of(&self, tenant_id: i64, id: &str) -> Result<SourceHealth> {
        let row = self.row_of(tenant_id, id).await?;
        let state = self.loader.state_of(tenant_id, id);
        let mut health = state.health(row.id.clone(), row.enabled, self.started, self.began);
        health.summary = self.show(tenant_id, row, None).health;
        Ok(health)
    }

    /// Registers a source.
    ///
    /// # Errors
    /// 400, 409 for a taken id or name, or too many sources.
    pub async fn create_source(
        self: &Arc<Self>,
        author: Author,
        form: SourceForm,
    ) -> Result<RegisteredSource> {
        let tenant_id = author.tenant.id;
        let row = self.check_new(tenant_id, form, &self.policy)?;
        self.compile_mapping(tenant_id, &row).await?;
        let after = move |registry: &Self, row: &SourceRow| registry.prepare(tenant_id, row);
        let row = self
            .change_then(author, after, move |transaction| {
                Box::pin(async move {
                    let others = repo::sources::names(transaction, tenant_id).await?;
                    sources::check_beside(&row, &others)?;
                    repo::sources::put(transaction, tenant_id, row.clone()).await?;
                    let event = AuditEvent::new("create", SOURCE, row.id.as_str());
                    Ok((row, Some(event)))
                })
            })
            .await?;
        Ok(self.show(tenant_id, row, None))
    }

    /// Checks a form as [`create_source`](Self::create_source) does; absent credentials are not checked.
    ///
    /// # Errors
    /// Those of `create_source`.
    pub async fn check_source_form(&self, tenant_id: i64, mut form: SourceForm) -> Result<()> {
        let mut policy = self.policy.clone();
        if form.auth.is_none() {
            policy.auth_none = true;
            form.auth =
                Some(AuthForm { kind: Some(AuthType::None.name().to_owned()), ..AuthForm::default() });
        }
        let row = self.check_new(tenant_id, form, &policy)?;
        self.compile_mapping(tenant_id, &row).await?;
        sources::check_beside(&row, &repo::sources::names(self.store.reader(), tenant_id).await?)
    }

    /// Replaces a source; a form without a secret keeps the stored one.
    ///
    /// # Errors
    /// 400, 404, 409 for a taken name, 412.
    pub async fn replace_source(
        self: &Arc<Self>,
        author: Author,
        id: String,
        form: SourceForm,
        if_match: IfMatch,
    ) -> Result<Tagged<RegisteredSource>> {
        let tenant_id = author.tenant.id;
        check_same_id(&id, form.id.as_deref())?;
        let mut row = self.check(tenant_id, id, form, &self.policy)?;
        self.compile_mapping(tenant_id, &row).await?;
        let keys = Arc::clone(&self.keys);
        let after = move |registry: &Self, (row, _): &(SourceRow, _)| registry.prepare(tenant_id, row);
        let (row, check) = self
            .change_then(author, after, move |transaction| {
                Box::pin(async move {
                    let stored = repo::sources::find(transaction, tenant_id, &row.id).await?;
                    let stored = stored.ok_or_else(no_source)?;
                    if_match.check(&stored)?;
                    // Names that were equal before this rule stay.
                    if stored.name != row.name {
                        sources::check_name(&row, &repo::sources::names(transaction, tenant_id).await?)?;
                    }
                    if let Some(field) = missing_secret(&row) {
                        sources::check_secret_stays(field, &stored, &row)?;
                        let sealed =
                            validated_settings::keep_sealed(&keys.secrets, tenant_id, field, stored.clone())?;
                        row.client_secret_sealed = Some(sealed);
                    }
                    repo::sources::put(transaction, tenant_id, row.clone()).await?;
                    if !row.is_called_like(&stored) {
                        repo::checks::remove(transaction, tenant_id, &row.id).await?;
                    }
                    let check = repo::checks::find(transaction, tenant_id, &row.id).await?;
                    let event = AuditEvent::change(SOURCE, row.id.as_str(), &stored, &row)?;
                    Ok(((row, check), event))
                })
            })
            .await?;
        Ok(Tagged { tag: EntityTag::of(&row)?, object: self.show(tenant_id, row, check) })
    }

    /// Removes a source.
    ///
    /// # Errors
    /// 404, 409 if modules show it, 412.
    pub async fn remove_source(
        self: &Arc<Self>,
        author: Author,
        id: String,
        if_match: IfMatch,
    ) -> Result<()> {
        let tenant_id = author.tenant.id;
        let key = (tenant_id, id.clone());
        let after = move |registry: &Self, (): &()| registry.loader.forget_source(&key);
        self.change_then(author, after, move |transaction| {
            Box::pin(async move {
                let stored = repo::sources::find(transaction, tenant_id, &id).await?;
                if_match.check(&stored.ok_or_else(no_source)?)?;
                check_unused(&id, &repo::modules::list(transaction, tenant_id).await?)?;
                repo::sources::remove(transaction, tenant_id, &id).await?;
                Ok(((), Some(AuditEvent::new("delete", SOURCE, id))))
            })
        })
        .await
    }

    fn check_new(&self, tenant_id: i64, form: SourceForm, policy: &SourcePolicy) -> Result<SourceRow> {
        let id = new_id(form.id.as_deref())?;
        let row = self.check(tenant_id, id, form, policy)?;
        if let Some(field) = missing_secret(&row) {
            return Err(Error::bad_request(format!("{field}: is required")));
        }
        Ok(row)
    }

    pub(super) fn check(
        &self,
        tenant_id: i64,
        id: String,
        form: SourceForm,
        policy: &SourcePolicy,
    ) -> Result<SourceRow> {
        let (mut row, secret) = form.into_row(id)?;
        // A secret to keep was checked when it was sealed.
        let given = secret.clone().unwrap_or_else(|| SecretString::from("kept"));
        validate(tenant_id, &row, policy, || Ok(given))
            .map_err(|invalid| Error::bad_request(invalid.to_string()))?;
        if let Some(secret) = secret {
            let sealed = validated_settings::seal(&self.keys.secrets, tenant_id, &row.id, &secret);
            row.client_secret_sealed = Some(sealed.map_err(Error::internal)?);
        }
        Ok(row)
    }

    /// # Errors
    /// 400 that names the filter.
    pub(super) async fn compile_mapping(&self, tenant_id: i64, row: &SourceRow) -> Result<()> {
        let refuse = |invalid: InvalidSettings| Error::bad_request(invalid.to_string());
        let Some(mapping) = validated_settings::mapping(row).map_err(refuse)? else { return Ok(()) };
        let interpreters = self.policy.interpreters.of_tenant(tenant_id);
        interpreters.compile(&mapping).await.map_err(|error| refuse(error.into()))
    }

    pub(super) async fn row_of(&self, tenant_id: i64, id: &str) -> Result<SourceRow> {
        repo::sources::find(self.store.reader(), tenant_id, id).await?.ok_or_else(no_source)
    }

    fn show(&self, tenant_id: i64, row: SourceRow, check: Option<LastCheck>) -> RegisteredSource {
        let invalid = self.loader.source(tenant_id, &row).err().map(|invalid| invalid.message());
        let last = self.loader.state_of(tenant_id, &row.id).summary();
        RegisteredSource::new(row, last, invalid, check)
    }

    /// Ends a source's suspension and connects it in the background.
    fn prepare(&self, tenant_id: i64, row: &SourceRow) {
        self.loader.state_of(tenant_id, &row.id).resume();
        if !row.enabled {
            return;
        }
        if let Ok(source) = self.loader.source(tenant_id, row) {
            tokio::spawn(async move {
                if let Err(reason) = source.warm().await {
                    tracing::warn!(tenant_id, reason, "a source has no client");
                }
            });
        }
    }
}

/// The field of a secret that the row needs and lacks.
pub(super) fn missing_secret(row: &SourceRow) -> Option<&'static str> {
    let field = AuthType::named(&row.auth_type)?.secret_field()?;
    row.client_secret_sealed.is_none().then_some(field)
}

/// # Errors
/// 409 that names the modules.
fn check_unused(id: &String, modules: &[Module]) -> Result<()> {
    let showing: Vec<&str> = modules
        .iter()
        .filter(|module| module.sources.contains(id))
        .map(|module| module.code.as_str())
        .collect();
    if showing.is_empty() {
        return Ok(());
    }
    let named = showing.iter().take(MAX_NAMED_MODULES).copied().collect::<Vec<_>>().join(", ");
    let more = match showing.len().saturating_sub(MAX_NAMED_MODULES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Err(Error::conflict(format!(
        "id: the source is shown by the modules {named}{more}; remove it from them first"
    )))
}
