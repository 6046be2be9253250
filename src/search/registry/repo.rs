//! Rows of modules and sources.

use std::time::Duration;

use sea_orm::{ConnectionTrait, DbErr, FromQueryResult};
use secrecy::{ExposeSecret, SecretString};
use trawl_connectors::{Authentication, ClientCredentials, Method};
use url::Url;

use super::{DeclaredOrder, ExternalRegistration, Module};
use crate::{
    auth::keys::Keys,
    error::{Error, Result},
    store::{Transaction, sql},
};

#[derive(FromQueryResult)]
struct ModuleRow {
    id: String,
    code: String,
    name: String,
    icon: String,
    order_no: i64,
    r#type: i64,
    sources: String,
}

/// The tenant's modules, by `orderNo`.
pub(super) async fn modules<C: ConnectionTrait>(reader: &C, tenant_id: i64) -> Result<Vec<Module>> {
    let rows = ModuleRow::find_by_statement(sql(
        "SELECT id, code, name, icon, order_no, type, sources FROM search_modules \
         WHERE tenant_id = ? ORDER BY order_no, code",
        [tenant_id.into()],
    ))
    .all(reader)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(Module {
                sources: serde_json::from_str(&row.sources).map_err(Error::internal)?,
                id: row.id,
                name: row.name,
                icon: row.icon,
                code: row.code,
                order_no: row.order_no,
                kind: row.r#type,
            })
        })
        .collect()
}

/// Stores a new module.
///
/// # Errors
/// 409 when the tenant has a module of this code.
pub(super) async fn insert_module(transaction: &Transaction, tenant_id: i64, module: &Module) -> Result<()> {
    let inserted = transaction
        .execute_raw(sql(
            "INSERT INTO search_modules (id, tenant_id, code, name, icon, order_no, type, sources) \
             VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (tenant_id, code) DO NOTHING",
            [
                module.id.as_str().into(),
                tenant_id.into(),
                module.code.as_str().into(),
                module.name.as_str().into(),
                module.icon.as_str().into(),
                module.order_no.into(),
                module.kind.into(),
                serde_json::to_string(&module.sources).map_err(Error::internal)?.into(),
            ],
        ))
        .await?;
    if inserted.rows_affected() == 0 {
        return Err(Error::conflict(format!("code: there is a module {:?} already", module.code)));
    }
    Ok(())
}

/// An external source as a row; its secret is sealed.
#[derive(Clone, Debug, FromQueryResult)]
pub(super) struct SourceRow {
    id: String,
    name: String,
    url: String,
    method: String,
    auth_type: String,
    token_url: Option<String>,
    client_id: Option<String>,
    client_secret_sealed: Option<Vec<u8>>,
    scope: Option<String>,
    audience: Option<String>,
    result_order: String,
    timeout_ms: i64,
    page_size: i64,
    max_concurrency: i64,
    enabled: bool,
}

const GET: &str = "GET";
const POST: &str = "POST";
const NONE: &str = "NONE";
const OAUTH2_CLIENT: &str = "OAUTH2_CLIENT";
const TIME: &str = "time";
const RELEVANCE: &str = "relevance";

impl SourceRow {
    /// The row of a registration.
    pub(super) fn new(registration: &ExternalRegistration, keys: &Keys) -> Result<Self> {
        let mut row = Self {
            id: registration.id.clone(),
            name: registration.name.clone(),
            url: registration.url.to_string(),
            method: match registration.method {
                Method::Get => GET.to_owned(),
                Method::Post => POST.to_owned(),
            },
            auth_type: NONE.to_owned(),
            token_url: None,
            client_id: None,
            client_secret_sealed: None,
            scope: None,
            audience: None,
            result_order: match registration.order {
                DeclaredOrder::Time => TIME.to_owned(),
                DeclaredOrder::Relevance => RELEVANCE.to_owned(),
            },
            timeout_ms: i64::try_from(registration.timeout.as_millis()).map_err(Error::internal)?,
            page_size: i64::try_from(registration.page_size).map_err(Error::internal)?,
            max_concurrency: i64::try_from(registration.max_concurrency).map_err(Error::internal)?,
            enabled: registration.enabled,
        };
        if let Authentication::OAuth2Client(credentials) = &registration.authentication {
            let secret = credentials.client_secret.expose_secret().as_bytes();
            OAUTH2_CLIENT.clone_into(&mut row.auth_type);
            row.token_url = Some(credentials.token_url.to_string());
            row.client_id = Some(credentials.client_id.clone());
            // Sealed for this source: it does not open for another one.
            row.client_secret_sealed =
                Some(keys.secrets.seal(row.id.as_bytes(), secret).map_err(Error::internal)?);
            row.scope.clone_from(&credentials.scope);
            row.audience.clone_from(&credentials.audience);
        }
        Ok(row)
    }

    /// The registration that the row holds.
    pub(super) fn into_registration(self, keys: &Keys) -> Result<ExternalRegistration> {
        let authentication = self.authentication(keys)?;
        Ok(ExternalRegistration {
            url: Url::parse(&self.url).map_err(Error::internal)?,
            method: if self.method == POST { Method::Post } else { Method::Get },
            authentication,
            order: if self.result_order == TIME { DeclaredOrder::Time } else { DeclaredOrder::Relevance },
            timeout: Duration::from_millis(u64::try_from(self.timeout_ms).map_err(Error::internal)?),
            page_size: usize::try_from(self.page_size).map_err(Error::internal)?,
            max_concurrency: usize::try_from(self.max_concurrency).map_err(Error::internal)?,
            enabled: self.enabled,
            id: self.id,
            name: self.name,
        })
    }

    fn authentication(&self, keys: &Keys) -> Result<Authentication> {
        if self.auth_type != OAUTH2_CLIENT {
            return Ok(Authentication::None);
        }
        let (Some(token_url), Some(client_id), Some(sealed)) =
            (&self.token_url, &self.client_id, &self.client_secret_sealed)
        else {
            return Err(DbErr::Type(format!("search_sources {} lacks its credentials", self.id)).into());
        };
        let secret = keys.secrets.open(self.id.as_bytes(), sealed).map_err(Error::internal)?;
        Ok(Authentication::OAuth2Client(ClientCredentials {
            token_url: Url::parse(token_url).map_err(Error::internal)?,
            client_id: client_id.clone(),
            client_secret: SecretString::from(String::from_utf8(secret).map_err(Error::internal)?),
            scope: self.scope.clone(),
            audience: self.audience.clone(),
        }))
    }
}

/// The tenant's external sources.
pub(super) async fn sources<C: ConnectionTrait>(reader: &C, tenant_id: i64) -> Result<Vec<SourceRow>> {
    let statement = sql("SELECT * FROM search_sources WHERE tenant_id = ?", [tenant_id.into()]);
    Ok(SourceRow::find_by_statement(statement).all(reader).await?)
}

/// Stores a new external source.
pub(super) async fn insert_source(transaction: &Transaction, tenant_id: i64, row: SourceRow) -> Result<()> {
    let statement = sql(
        "INSERT INTO search_sources (id, tenant_id, name, url, method, auth_type, token_url, client_id, \
         client_secret_sealed, scope, audience, result_order, timeout_ms, page_size, max_concurrency, enabled) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            row.id.into(),
            tenant_id.into(),
            row.name.into(),
            row.url.into(),
            row.method.into(),
            row.auth_type.into(),
            row.token_url.into(),
            row.client_id.into(),
            row.client_secret_sealed.into(),
            row.scope.into(),
            row.audience.into(),
            row.result_order.into(),
            row.timeout_ms.into(),
            row.page_size.into(),
            row.max_concurrency.into(),
            row.enabled.into(),
        ],
    );
    transaction.execute_raw(statement).await?;
    Ok(())
}
