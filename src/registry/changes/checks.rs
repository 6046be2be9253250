//! Trials and conformance checks of external sources.

use std::{sync::Arc, time::Duration};

use tokio::sync::OwnedSemaphorePermit;
use trawl_connectors::{
    Question, SettingsError, SourceError, SourceIdentity,
    check::{self as conformance, CheckSettings, Trial},
};
use trawl_search::sources::external::ClientSettings;

use super::{Author, sources::missing_secret};
use crate::{
    audit::{self, AuditEvent},
    error::{Error, Result},
    registry::{
        LastCheck, Registry, TrialForm,
        forms::{new_id, number},
        repo,
        repo::sources::SourceRow,
        source_forms::PAGE_SIZE,
        sources, validated_settings,
        validated_settings::validate,
    },
};

/// Longest keyword of a trial.
const KEYWORD_BYTES: usize = 1 << 10;
/// Rows of a trial, as of a first page.
const DEFAULT_LIMIT: i64 = 10;
const CHECKS_RETRY_AFTER: Duration = Duration::from_secs(5);

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

impl Registry {
    /// Calls a source once; it need not be registered.
    ///
    /// A form without a secret takes that of the stored source with its id.
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
        self.compile_mapping(tenant_id, &row).await?;
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
                let event = AuditEvent::new("search-as", "user", person.user_id);
                audit::record(transaction, &actor, &tenant, vec![event]).await?;
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

    /// Keeps the result of a check.
    ///
    /// It is dropped if the source was removed, or is called differently since.
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

    /// # Errors
    /// 400 for settings that are not usable.
    fn client_settings(&self, tenant_id: i64, row: &SourceRow) -> Result<ClientSettings> {
        let sealed = row.client_secret_sealed.clone().unwrap_or_default();
        let secret = || validated_settings::open(&self.keys.secrets, tenant_id, &row.id, &sealed);
        validate(tenant_id, row, &self.policy, secret)
            .map_err(|invalid| Error::bad_request(invalid.message()))
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
