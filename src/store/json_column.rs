//! JSON in columns of text.

use std::ops::{Deref, DerefMut};

use serde::{Serialize, de::DeserializeOwned};
use sqlx::{Database, Decode, Type, error::BoxDynError};

use super::DatabaseError;

/// JSON text of `value`.
///
/// # Errors
/// It cannot be written as JSON.
pub(super) fn to_json(value: &(impl Serialize + ?Sized)) -> Result<String, DatabaseError> {
    serde_json::to_string(value).map_err(|error| DatabaseError::Encode(error.into()))
}

/// A value that is read from a column's JSON text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Json<T>(pub T);

impl<T> Deref for Json<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for Json<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T, DB: Database> Type<DB> for Json<T>
where
    String: Type<DB>,
{
    fn type_info() -> DB::TypeInfo {
        String::type_info()
    }

    fn compatible(found: &DB::TypeInfo) -> bool {
        String::compatible(found)
    }
}

impl<'r, T: DeserializeOwned, DB: Database> Decode<'r, DB> for Json<T>
where
    &'r str: Decode<'r, DB>,
{
    fn decode(value: DB::ValueRef<'r>) -> Result<Self, BoxDynError> {
        Ok(Self(serde_json::from_str(<&str>::decode(value)?)?))
    }
}
