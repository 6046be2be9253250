//! The kinds of sources and their settings.

use std::path::{Component, Path, PathBuf};

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use trawl_connectors::AddressRules;
use url::Url;

use crate::{
    error::{Error, Result},
    platform::shared::patch::Written,
    registry::forms::required,
};

const ADDRESS_BYTES: usize = 2 << 10;
const QUERY_BYTES: usize = 16 << 10;
const COLUMN_BYTES: usize = 128;
const PASSWORD_BYTES: usize = 1 << 10;

/// The form of a feed.
#[derive(Clone, Debug, Default, Deserialize, utoipa::ToSchema)]
pub struct FeedForm {
    /// The address: https, or http to a host of the server's settings. Required.
    pub url: Option<String>,
}

/// A feed to follow.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct Feed {
    /// The address.
    #[schema(value_type = String)]
    pub url: Url,
}

/// The form of a folder of files.
#[derive(Clone, Debug, Default, Deserialize, utoipa::ToSchema)]
pub struct FolderForm {
    /// The absolute path of a folder beneath one of the setting `subscriptions.folders`. Required.
    pub path: Option<String>,
}

/// A folder of files on the server's machine.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct Folder {
    /// The absolute path.
    #[schema(value_type = String)]
    pub path: PathBuf,
}

/// The form of a query.
#[derive(Clone, Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SqlForm {
    /// The address, such as `postgres://user@host:5432/database`, `mysql://user@host/database` or `sqlite:/folder/file`. Required.
    ///
    /// Hosts must be listed in the setting `subscriptions.databases`, files lie beneath one of `subscriptions.folders`. With
    /// `?tls=required`, the server's certificate must be valid.
    pub address: Option<String>,
    /// The password, never shown.
    ///
    /// A PUT without it, or with null, keeps the stored one. Another server or user in the address needs it again. An empty text
    /// removes it.
    #[serde(default)]
    #[schema(value_type = Option<String>, write_only)]
    pub password: Written<SecretString>,
    /// One `SELECT` without a semicolon. Required.
    ///
    /// Items are made of its columns `id`, `title`, `subTitle`, `brief`, `author`, `displayTime`, `image`, `link` and `action`. It
    /// needs `id`, and one of `title` and `brief`.
    pub query: Option<String>,
    /// The column of the query that never decreases. Required.
    ///
    /// New and changed rows have at least the value of all rows before. It holds whole numbers, times or texts; rows without one
    /// are left out.
    pub cursor_column: Option<String>,
}

/// A query in another database.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SqlQuery {
    /// The address, without the password.
    #[schema(value_type = String)]
    pub address: Url,
    /// The query.
    pub query: String,
    /// The column that never decreases.
    pub cursor_column: String,
}

/// A kind of database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatabaseKind {
    /// PostgreSQL.
    Postgres,
    /// `MySQL` or `MariaDB`.
    MySql,
    /// A file of SQLite.
    Sqlite,
}

/// The source of a subscription's items.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// A feed.
    Feed(Feed),
    /// A folder.
    Folder(Folder),
    /// A query.
    Sql(SqlQuery),
}

impl Origin {
    /// The kind's name.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Feed(_) => "feed",
            Self::Folder(_) => "folder",
            Self::Sql(_) => "sql",
        }
    }

    /// Host or path of the source, for one run at a time.
    pub(super) fn host(&self) -> String {
        match self {
            Self::Feed(feed) => feed.url.host_str().unwrap_or_default().to_owned(),
            Self::Folder(folder) => folder.path.to_string_lossy().into_owned(),
            Self::Sql(sql) => sql.address.host_str().unwrap_or(sql.address.path()).to_owned(),
        }
    }

    /// Whether a password of `stored` may be sent here.
    pub(super) fn keeps_password_of(&self, stored: &Self) -> bool {
        let server = |origin: &Self| match origin {
            Self::Sql(SqlQuery { address, .. }) => Some((
                address.scheme().to_owned(),
                address.host_str().map(str::to_owned),
                address.port(),
                address.username().to_owned(),
                address.query().map(str::to_owned),
            )),
            _ => None,
        };
        server(self) == server(stored)
    }
}

impl DatabaseKind {
    /// The kind of an address's database.
    pub fn of(address: &Url) -> Option<Self> {
        match address.scheme() {
            "postgres" | "postgresql" => Some(Self::Postgres),
            "mysql" | "mariadb" => Some(Self::MySql),
            "sqlite" => Some(Self::Sqlite),
            _ => None,
        }
    }
}

impl SqlQuery {
    /// The kind of its database.
    pub fn kind(&self) -> DatabaseKind {
        DatabaseKind::of(&self.address).unwrap_or(DatabaseKind::Sqlite)
    }
}

impl FeedForm {
    pub(super) fn checked(self, addresses: &AddressRules) -> Result<Feed> {
        let text = required("feed.url", self.url, ADDRESS_BYTES)?;
        let url = Url::parse(&text).map_err(|_| {
            Error::bad_request("feed.url: must be an absolute address, such as https://host/path")
        })?;
        addresses.check_url(&url).map_err(|refusal| Error::bad_request(format!("feed.url: {refusal}")))?;
        Ok(Feed { url })
    }
}

impl FolderForm {
    pub(super) fn checked(self, folders: &[PathBuf]) -> Result<Folder> {
        let path = PathBuf::from(required("folder.path", self.path, ADDRESS_BYTES)?);
        check_beneath("folder.path", &path, folders)?;
        Ok(Folder { path })
    }
}

/// Links on the way are followed when it is opened, which checks again.
fn check_beneath(field: &str, path: &Path, folders: &[PathBuf]) -> Result<()> {
    let refused = |reason: &str| Err(Error::bad_request(format!("{field}: {reason}")));
    if folders.is_empty() {
        return refused("is refused, as the server's setting subscriptions.folders lists no folder");
    }
    let is_plain = path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
    if !path.is_absolute() || !is_plain {
        return refused("must be an absolute path without . and ..");
    }
    if !folders.iter().any(|folder| path.starts_with(folder)) {
        return refused("must lie beneath a folder that the server's setting subscriptions.folders lists");
    }
    Ok(())
}

impl SqlForm {
    pub(super) fn checked(
        self,
        folders: &[PathBuf],
        databases: &[String],
    ) -> Result<(SqlQuery, Option<SecretString>)> {
        let text = required("sql.address", self.address, ADDRESS_BYTES)?;
        let address = Url::parse(&text).ok().filter(|address| DatabaseKind::of(address).is_some());
        let address = address.ok_or_else(|| {
            Error::bad_request("sql.address: must begin with postgres://, mysql:// or sqlite:/")
        })?;
        check_address(&address, folders, databases)?;
        let password = match self.password {
            Written::Set(password) if password.expose_secret().len() > PASSWORD_BYTES => {
                let reason = format!("sql.password: must be at most {PASSWORD_BYTES} bytes of UTF-8");
                return Err(Error::bad_request(reason));
            }
            Written::Set(password) => Some(password),
            Written::Keep | Written::Clear => None,
        };
        let query = check_query(&self.query.unwrap_or_default())?;
        let cursor_column = required("sql.cursorColumn", self.cursor_column, COLUMN_BYTES)?;
        Ok((SqlQuery { address, query, cursor_column }, password))
    }
}

/// Refuses what the server's settings do not permit.
pub(super) fn check_address(address: &Url, folders: &[PathBuf], databases: &[String]) -> Result<()> {
    let refused = |reason: &str| Err(Error::bad_request(format!("sql.address: {reason}")));
    if DatabaseKind::of(address) == Some(DatabaseKind::Sqlite) {
        if address.has_host() || address.query().is_some() {
            return refused("must be sqlite: and an absolute path, without a host and parameters");
        }
        return check_beneath("sql.address", &file_of(address), folders);
    }
    if address.password().is_some() {
        return refused("must hold no password; give it as sql.password");
    }
    if !matches!(address.query(), None | Some("tls=required")) || address.fragment().is_some() {
        return refused("must have no parameter but tls=required");
    }
    let host = address.host_str().unwrap_or_default();
    if host.is_empty() || address.username().is_empty() || address.path().len() < 2 {
        return refused("must name a user, a host and a database");
    }
    let with_port = address.port().map(|port| format!("{host}:{port}"));
    if !databases.iter().any(|listed| listed == host || Some(listed) == with_port.as_ref()) {
        return refused("must have a host that the server's setting subscriptions.databases lists");
    }
    Ok(())
}

/// The file of an SQLite address.
pub(super) fn file_of(address: &Url) -> PathBuf {
    PathBuf::from(percent_encoding::percent_decode_str(address.path()).decode_utf8_lossy().into_owned())
}

/// Refuses all but one query, which becomes a part of another.
fn check_query(query: &str) -> Result<String> {
    let refused = |reason: String| Err(Error::bad_request(format!("sql.query: {reason}")));
    let query = query.trim();
    let query = query.strip_suffix(';').unwrap_or(query).trim_end();
    if query.is_empty() || query.len() > QUERY_BYTES {
        return refused(format!("is required, at most {QUERY_BYTES} bytes of UTF-8"));
    }
    let first = query.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
    if !(first.eq_ignore_ascii_case("select") || first.eq_ignore_ascii_case("with")) {
        return refused("must be a query that selects rows".to_owned());
    }
    if query.contains([';', '\0']) {
        return refused("must be one statement without a semicolon".to_owned());
    }
    Ok(query.to_owned())
}
