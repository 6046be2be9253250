//! Operators' changes and checks of external sources.

use std::{collections::HashMap, sync::Arc, time::Duration};

use secrecy::SecretString;
use tokio::sync::OwnedSemaphorePermit;
use trawl_connectors::{
    Question, SettingsError, SourceError, SourceIdentity,
    check::{self as conformance, CheckSettings, Trial},
};
use trawl_search::{
    Module,
    sources::external::{ClientSettings, health::SourceHealth},
};

use super::Author;
use crate::{
    audit::{self, Deed},
    error::{Error, Result},
    http::precondition::{EntityTag, IfMatch, Tagged},
    registry::{
        AuthForm, LastCheck, RegisteredSource, Registry, SourceForm, SourcePolicy, TrialForm,
        forms::{check_same_id, new_id, number},
        repo,
        repo::sources::SourceRow,
        source_forms::{AuthType, PAGE_SIZE},
        sources, validated_settings,
        validated_settings::{InvalidSettings, validate},
    },
};

/// The kind of object in the audit log.
const SOURCE: &str = "source";

/// Longest keyword of a trial.
const KEYWORD_BYTES: usize = 1 << 10;
/// Rows of a trial, as of a first page.
const DEFAULT_LIMIT: i64 = 10;
const CHECKS_RETRY_AFTER: Duration = Duration::from_secs(5);
const MAX_NAMED_MODULES: usize = 10;

/// A conformance check of a source, and its permit.
pub struct SourceCheck {
    check: conformance::Check,
    registry: Arc<Registry>,
    tenant_id: i64,
    row: SourceRow,
    _permit: OwnedSemaphorePermit,
}

impl SourceCheck {
    /// Runs the check and keeps its result; `tell` gets each decided clause.
    pub async fn run(self, tell: &mut conformance::Tell<'_>) -> conformance::Report {
        let report = self.check.run(tell).await;
        if let Err(error) = self.registry.keep_check(self.tenant_id, self.row, LastCheck::of(&report)).await {
            tracing::warn!(
                tenant_id = self.tenant_id,
                error = error.message,
                "the result of a check is not kept"
            );
        }
        report
    }
}

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
        self.compile_mapping(&row).await?;
        let after = move |registry: &Self, row: &SourceRow| registry.prepare(tenant_id, row);
        let row = self
            .change_then(author, after, move |transaction| {
                Box::pin(async move {
                    let others = repo::sources::names(transaction, tenant_id).await?;
                    sources::check_beside(&row, &others)?;
                    repo::sources::put(transaction, tenant_id, row.clone()).await?;
                    let deed = Deed::new("create", SOURCE, row.id.as_str());
                    Ok((row, Some(deed)))
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
        self.compile_mapping(&row).await?;
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
        self.compile_mapping(&row).await?;
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
                    let deed = Deed::change(SOURCE, row.id.as_str(), &stored, &row)?;
                    Ok(((row, check), deed))
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
                Ok(((), Some(Deed::new("delete", SOURCE, id))))
            })
        })
        .await
    }

    /// Calls a source once; it need not be registered.
    ///
    /// Without a secret, that of the stored source with its id is sent.
    ///
    /// # Errors
    /// 400, 503 while the maximum of checks runs.
    pub async fn try_source(&self, author: Author, form: TrialForm) -> Result<Trial> {
        let tenant_id = author.tenant.id;
        let TrialForm { source, keyword, limit, cursor, person } = form;
        // Any characters: the trial may be about them.
        let keyword = keyword.filter(|keyword| !keyword.trim().is_empty() && keyword.len() <= KEYWORD_BYTES);
        let keyword = keyword.ok_or_else(|| {
            Error::bad_request(format!("keyword: is required, at most {KEYWORD_BYTES} bytes of UTF-8"))
        })?;
        let limit = number("limit", limit, DEFAULT_LIMIT, &PAGE_SIZE, "items")?;
        let _permit = self.take_check_permit()?;
        let id = new_id(source.id.as_deref())?;
        let mut row = self.check(tenant_id, id, source, &self.policy)?;
        self.compile_mapping(&row).await?;
        if let Some(field) = missing_secret(&row) {
            let stored = repo::sources::find(self.store.reader(), tenant_id, &row.id).await?;
            let stored = stored.ok_or_else(|| Error::bad_request(format!("{field}: is required")))?;
            sources::check_secret_stays(field, &stored, &row)?;
            row.client_secret_sealed = stored.client_secret_sealed;
        }
        let settings = self.client_settings(tenant_id, &row)?;
        self.record_search_as(author, settings.source.identity.as_ref(), person.as_deref()).await?;
        let limit = usize::try_from(limit).unwrap_or_default();
        let question =
            Question { keyword: &keyword, limit, cursor: cursor.as_deref(), person: person.as_deref() };
        let tried =
            conformance::try_source(&settings.source, &self.policy.addresses, settings.order, &question)
                .await;
        tried.map_err(refuse_settings)
    }

    /// Records that an operator calls a source as this person.
    ///
    /// # Errors
    /// 400 for a person who may not sign in.
    async fn record_search_as(
        &self,
        author: Author,
        identity: Option<&SourceIdentity>,
        person: Option<&str>,
    ) -> Result<()> {
        let (Some(identity), Some(person)) = (identity, person) else { return Ok(()) };
        let person = identity.issuer.find_person(person).await.map_err(|error| match error {
            SourceError::PersonRefused(reason) => Error::bad_request(format!("person: {reason}")),
            error => Error::internal(error),
        })?;
        let Author { actor, tenant } = author;
        let job = self.store.write(move |transaction| {
            Box::pin(async move {
                let deed = Deed::new("search-as", "user", person.user_id);
                audit::record(transaction, &actor, &tenant, vec![deed]).await?;
                Ok(())
            })
        });
        job.await
    }

    fn take_check_permit(&self) -> Result<OwnedSemaphorePermit> {
        Arc::clone(&self.checks).try_acquire_owned().map_err(|_| {
            Error::unavailable("other checks are running; try again shortly", CHECKS_RETRY_AFTER)
        })
    }

    /// # Errors
    /// 400 for settings that are not usable.
    fn client_settings(&self, tenant_id: i64, row: &SourceRow) -> Result<ClientSettings> {
        let sealed = row.client_secret_sealed.clone().unwrap_or_default();
        let secret = || validated_settings::open(&self.keys.secrets, tenant_id, &row.id, &sealed);
        validate(tenant_id, row, &self.policy, secret)
            .map_err(|invalid| Error::bad_request(invalid.message()))
    }

    /// Prepares a conformance check, also of a disabled source.
    ///
    /// # Errors
    /// 400, 404, 503 while the maximum of checks runs.
    pub async fn prepare_check(
        self: &Arc<Self>,
        author: Author,
        id: &str,
        keyword: Option<String>,
        person: Option<String>,
    ) -> Result<SourceCheck> {
        let tenant_id = author.tenant.id;
        if keyword.as_deref().is_some_and(|keyword| keyword.trim().is_empty()) {
            return Err(Error::bad_request("keyword: must not be blank"));
        }
        let permit = self.take_check_permit()?;
        let row = self.row_of(tenant_id, id).await?;
        let settings = self.client_settings(tenant_id, &row)?;
        let searched_as = person.clone();
        let identity = settings.source.identity.clone();
        let settings = CheckSettings { source: settings.source, order: settings.order, person, keyword };
        let check = conformance::Check::new(settings, &self.policy.addresses).map_err(refuse_settings)?;
        self.record_search_as(author, identity.as_ref(), searched_as.as_deref()).await?;
        Ok(SourceCheck { check, registry: Arc::clone(self), tenant_id, row, _permit: permit })
    }

    /// Keeps the result of a check, unless the source has gone or is called differently since.
    async fn keep_check(&self, tenant_id: i64, checked: SourceRow, check: LastCheck) -> Result<()> {
        self.store
            .write(move |transaction| {
                Box::pin(async move {
                    let stored = repo::sources::find(transaction, tenant_id, &checked.id).await?;
                    if stored.is_some_and(|stored| stored.is_called_like(&checked)) {
                        repo::checks::put(transaction, tenant_id, &checked.id, check).await?;
                    }
                    Ok(())
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

    fn check(
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
    async fn compile_mapping(&self, row: &SourceRow) -> Result<()> {
        let refuse = |invalid: InvalidSettings| Error::bad_request(invalid.to_string());
        let Some(mapping) = validated_settings::mapping(row).map_err(refuse)? else { return Ok(()) };
        self.policy.interpreters.compile(&mapping).await.map_err(|error| refuse(error.into()))
    }

    async fn row_of(&self, tenant_id: i64, id: &str) -> Result<SourceRow> {
        repo::sources::find(self.store.reader(), tenant_id, id).await?.ok_or_else(no_source)
    }

    fn show(&self, tenant_id: i64, row: SourceRow, check: Option<LastCheck>) -> RegisteredSource {
        let invalid = self.loader.source(tenant_id, &row).err().map(|invalid| invalid.message());
        let last = self.loader.state_of(tenant_id, &row.id).summary();
        RegisteredSource::new(row, last, invalid, check)
    }

    /// Ends the suspension of a written source, and connects it in the background.
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

fn refuse_settings(error: SettingsError) -> Error {
    match error {
        SettingsError::NoPerson => Error::bad_request(
            "person: is required, as the source learns for whom it is called; give the id of a user",
        ),
        error => Error::bad_request(error.to_string()),
    }
}

/// The field of a secret that the row needs and lacks.
fn missing_secret(row: &SourceRow) -> Option<&'static str> {
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
