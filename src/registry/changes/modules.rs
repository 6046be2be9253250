//! Operators' changes of modules.

use std::sync::Arc;

use trawl_search::Module;

use super::Author;
use crate::{
    audit::AuditEvent,
    error::{Error, Result},
    http::precondition::{IfMatch, Tagged},
    registry::{
        ModuleForm, RegisteredModule, Registry,
        forms::{check_same_id, new_id},
        modules, repo,
    },
    store::Transaction,
};

/// The kind of object in the audit log.
const MODULE: &str = "module";

fn no_module() -> Error {
    Error::not_found("id: the tenant has no such module")
}

impl Registry {
    /// The modules by `orderNo`.
    pub async fn list_modules(&self, tenant_id: i64) -> Result<Vec<RegisteredModule>> {
        let modules = repo::modules::list(self.store.reader(), tenant_id).await?;
        Ok(modules.into_iter().map(RegisteredModule::from).collect())
    }

    /// The module with this id.
    ///
    /// # Errors
    /// 404.
    pub async fn find_module(&self, tenant_id: i64, id: &str) -> Result<Tagged<RegisteredModule>> {
        let module = repo::modules::find(self.store.reader(), tenant_id, id).await?;
        Tagged::of(module.map(RegisteredModule::from).ok_or_else(no_module)?)
    }

    /// Registers a module.
    ///
    /// # Errors
    /// 400, 409 for a taken id or code, or too many modules.
    pub async fn create_module(
        self: &Arc<Self>,
        author: Author,
        form: ModuleForm,
    ) -> Result<RegisteredModule> {
        let module = form.clone().checked(new_id(form.id.as_deref())?)?;
        let tenant_id = author.tenant.id;
        self.change(author, move |transaction| {
            Box::pin(async move {
                let others = repo::modules::list(transaction, tenant_id).await?;
                modules::check_beside(&module, &others)?;
                let event = AuditEvent::new("create", MODULE, module.id.as_str());
                Ok((put_module(transaction, tenant_id, module).await?, Some(event)))
            })
        })
        .await
    }

    /// Replaces a module.
    ///
    /// # Errors
    /// 400, 404, 409 for a taken code, 412.
    pub async fn replace_module(
        self: &Arc<Self>,
        author: Author,
        id: String,
        form: ModuleForm,
        if_match: IfMatch,
    ) -> Result<Tagged<RegisteredModule>> {
        check_same_id(&id, form.id.as_deref())?;
        let module = form.checked(id)?;
        let tenant_id = author.tenant.id;
        self.change(author, move |transaction| {
            Box::pin(async move {
                let mut others = repo::modules::list(transaction, tenant_id).await?;
                let place = others.iter().position(|other| other.id == module.id).ok_or_else(no_module)?;
                let stored = RegisteredModule::from(others.swap_remove(place));
                if_match.check(&stored)?;
                modules::check_beside(&module, &others)?;
                let put = put_module(transaction, tenant_id, module).await?;
                let event = AuditEvent::change(MODULE, put.module.id.as_str(), &stored, &put)?;
                Ok((Tagged::of(put)?, event))
            })
        })
        .await
    }

    /// Removes a module; its content stays.
    ///
    /// # Errors
    /// 404, 412.
    pub async fn remove_module(
        self: &Arc<Self>,
        author: Author,
        id: String,
        if_match: IfMatch,
    ) -> Result<()> {
        let tenant_id = author.tenant.id;
        self.change(author, move |transaction| {
            Box::pin(async move {
                let stored = repo::modules::find(transaction, tenant_id, &id).await?.ok_or_else(no_module)?;
                if_match.check(&RegisteredModule::from(stored))?;
                repo::modules::remove(transaction, tenant_id, &id).await?;
                Ok(((), Some(AuditEvent::new("delete", MODULE, id))))
            })
        })
        .await
    }
}

async fn put_module(transaction: &Transaction, tenant_id: i64, module: Module) -> Result<RegisteredModule> {
    let registered = repo::sources::ids(transaction, tenant_id).await?;
    modules::check_sources_exist(&module, &registered)?;
    repo::modules::put(transaction, tenant_id, &module).await?;
    Ok(module.into())
}
