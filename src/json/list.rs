//! Lists whose lengths are checked while they are read.

use std::{fmt, marker::PhantomData, ops::Deref, vec};

use serde::{
    Deserialize, Deserializer, Serialize,
    de::{DeserializeSeed, Error, IgnoredAny, SeqAccess, Visitor},
};
use serde_json::value::RawValue;
use trawl_connectors::grouped;
use utoipa::{
    __dev::ComposeSchema,
    ToSchema,
    openapi::{
        RefOr,
        schema::{ArrayBuilder, Schema},
    },
};

use super::read_seed;

/// Beginning of the names of lists' schemas, which are no types of their own.
pub const LIST_SCHEMA: &str = "BoundedList";

/// The schema of a [`Batch`], whose maximum is a setting.
pub const BATCH_SCHEMA: &str = "BoundedListOfBatch";

/// A list of at most `MAX` items.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct BoundedList<T, const MAX: usize>(Vec<T>);

impl<T, const MAX: usize> BoundedList<T, MAX> {
    /// Converts each item by its place.
    ///
    /// # Errors
    /// The first item's.
    pub fn try_map<U, E>(
        self,
        mut convert: impl FnMut(usize, T) -> Result<U, E>,
    ) -> Result<BoundedList<U, MAX>, E> {
        let items = self.0.into_iter().enumerate().map(|(place, item)| convert(place, item));
        items.collect::<Result<_, E>>().map(BoundedList)
    }
}

impl<T, const MAX: usize> Default for BoundedList<T, MAX> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T, const MAX: usize> Deref for BoundedList<T, MAX> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T, const MAX: usize> IntoIterator for BoundedList<T, MAX> {
    type Item = T;
    type IntoIter = vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<T, const MAX: usize> From<BoundedList<T, MAX>> for Vec<T> {
    fn from(list: BoundedList<T, MAX>) -> Self {
        list.0
    }
}

impl<T, const LENGTH: usize, const MAX: usize> From<[T; LENGTH]> for BoundedList<T, MAX> {
    fn from(items: [T; LENGTH]) -> Self {
        const { assert!(LENGTH <= MAX, "the list is too long") };
        Self(items.into())
    }
}

impl<'de, T: Deserialize<'de>, const MAX: usize> Deserialize<'de> for BoundedList<T, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        ListSeed::new(MAX).deserialize(deserializer).map(Self)
    }
}

/// utoipa has no public trait for the schema of a generic type; what it derives names this one.
impl<T: ToSchema, const MAX: usize> ComposeSchema for BoundedList<T, MAX> {
    fn compose(generics: Vec<RefOr<Schema>>) -> RefOr<Schema> {
        let items = generics.into_iter().next().unwrap_or_else(T::schema);
        ArrayBuilder::new().items(items).max_items(Some(MAX)).into()
    }
}

impl<T: ToSchema, const MAX: usize> ToSchema for BoundedList<T, MAX> {
    fn name() -> std::borrow::Cow<'static, str> {
        format!("{LIST_SCHEMA}{MAX}").into()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        add_schemas::<T>(schemas);
    }
}

/// A list of at most `limits.batch_items` items, which [`Batch::read`] reads.
#[derive(Clone, Debug)]
pub struct Batch<T>(Box<RawValue>, PhantomData<fn() -> T>);

impl<T: for<'a> Deserialize<'a>> Batch<T> {
    /// Reads the items of the field.
    ///
    /// # Errors
    /// The reason, which names the field.
    pub fn read(&self, field: &str, most: usize) -> Result<Vec<T>, String> {
        read_list(self.0.get().as_bytes(), most).map_err(|reason| {
            if reason.starts_with('[') { format!("{field}{reason}") } else { format!("{field}: {reason}") }
        })
    }
}

impl<'de, T> Deserialize<'de> for Batch<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::deserialize(deserializer).map(|text| Self(text, PhantomData))
    }
}

impl<T: ToSchema> ComposeSchema for Batch<T> {
    fn compose(generics: Vec<RefOr<Schema>>) -> RefOr<Schema> {
        let items = generics.into_iter().next().unwrap_or_else(T::schema);
        ArrayBuilder::new().items(items).into()
    }
}

impl<T: ToSchema> ToSchema for Batch<T> {
    fn name() -> std::borrow::Cow<'static, str> {
        BATCH_SCHEMA.into()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        add_schemas::<T>(schemas);
    }
}

/// Adds the schema of an item, if it is one of several fields.
fn add_schemas<T: ToSchema>(schemas: &mut Vec<(String, RefOr<Schema>)>) {
    let schema = T::schema();
    if matches!(&schema, RefOr::T(Schema::Object(object)) if !object.properties.is_empty()) {
        schemas.push((T::name().into_owned(), schema));
    }
    T::schemas(schemas);
}

/// Reads a JSON array of at most `most` items.
///
/// # Errors
/// See [`super::read`].
pub fn read_list<'a, T: Deserialize<'a>>(text: &'a [u8], most: usize) -> Result<Vec<T>, String> {
    read_seed(text, ListSeed::new(most))
}

/// Reads a list, and ends at the first item beyond the maximum.
struct ListSeed<T> {
    most: usize,
    items: PhantomData<T>,
}

impl<T> ListSeed<T> {
    fn new(most: usize) -> Self {
        Self { most, items: PhantomData }
    }
}

impl<'de, T: Deserialize<'de>> DeserializeSeed<'de> for ListSeed<T> {
    type Value = Vec<T>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Vec<T>, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for ListSeed<T> {
    type Value = Vec<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a sequence")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Vec<T>, A::Error> {
        let mut items = Vec::new();
        while items.len() < self.most {
            match sequence.next_element()? {
                Some(item) => items.push(item),
                None => return Ok(items),
            }
        }
        match sequence.next_element::<IgnoredAny>()? {
            None => Ok(items),
            Some(_) => Err(A::Error::custom(format_args!("must hold at most {} items", grouped(self.most)))),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::json::read;

    #[derive(Debug, Deserialize)]
    struct Form {
        #[serde(default)]
        rows: BoundedList<BoundedList<u8, 2>, 3>,
        ids: Option<Batch<u8>>,
    }

    #[test]
    fn too_long_list_is_named_before_what_follows_is_read() {
        for (text, reason) in [
            (r#"{"rows":[[1],[1,2],[1,2,3]]}"#, "rows[2]: must hold at most 2 items"),
            (r#"{"rows":[[1,2,"x" nothing of JSON"#, "rows[0]: must hold at most 2 items"),
            (r#"{"rows":[[],[],[],[]]}"#, "rows: must hold at most 3 items"),
            (r#"{"rows":[[],["a"]]}"#, "rows[1][0]: must be an integer, not a string"),
            (r#"{"rows":{}}"#, "rows: must be an array, not an object"),
            (r#"{"rows":null}"#, "rows: must be an array, not null"),
        ] {
            assert_eq!(read::<Form>(text.as_bytes()).unwrap_err(), reason, "{text}");
        }
    }

    #[test]
    fn batch_names_its_field() {
        let ids = |text: &str| {
            let form: Form = read(text.as_bytes()).unwrap();
            assert!(form.rows.is_empty());
            form.ids
        };
        for (text, reason) in [
            (r#"{"ids":[1,2,3,4]}"#, "ids: must hold at most 3 items"),
            (r#"{"ids":[1,"a"]}"#, "ids[1]: must be an integer, not a string"),
            (r#"{"ids":5}"#, "ids: must be an array, not a number"),
        ] {
            assert_eq!(ids(text).unwrap().read("ids", 3).unwrap_err(), reason, "{text}");
        }
        assert_eq!(ids(r#"{"ids":[1,2,3]}"#).unwrap().read("ids", 3).unwrap(), [1, 2, 3]);
        assert!(ids(r#"{"ids":null}"#).is_none());
    }

    proptest! {
        #![proptest_config(trawl_seeds::cases(256))]

        #[test]
        fn list_is_read_up_to_its_maximum(items in prop::collection::vec(any::<i64>(), 0..12)) {
            let text = json!(items).to_string();
            let read: Result<BoundedList<i64, 6>, _> = serde_json::from_str(&text);
            prop_assert_eq!(read.is_ok(), items.len() <= 6);
            if let Ok(list) = read {
                prop_assert_eq!(&*list, &*items);
                prop_assert_eq!(serde_json::to_value(&list).unwrap(), json!(items));
            }
            let listed = read_list::<Value>(text.as_bytes(), items.len());
            prop_assert_eq!(listed.map(Value::from), Ok(json!(items)));
        }
    }
}
