//! Settings of several origins, of which later ones win.

use std::path::Path;

use serde::{Serialize, de::DeserializeOwned};
use serde_path_to_error::Segment;
use toml::{Table, Value};

use crate::json::{describe, json_type};

/// Minimum likeness (Jaro and Winkler's) of a name that a wrong one may stand for.
const MIN_LIKENESS: f64 = 0.75;

/// The settings of one origin.
pub(super) struct Layer {
    /// The origin in a message: a file or a variable; none for defaults and flags.
    origin: Option<String>,
    settings: Table,
}

impl Layer {
    /// Defaults or flags.
    pub(super) fn from_values(values: &impl Serialize) -> Result<Self, String> {
        let settings = Table::try_from(values).map_err(|error| error.to_string())?;
        Ok(Self { origin: None, settings })
    }

    /// A settings file.
    pub(super) fn from_file(file: &Path) -> Result<Self, String> {
        let origin = file.display().to_string();
        let text = std::fs::read_to_string(file).map_err(|error| format!("{origin}: {error}"))?;
        let settings = text.parse().map_err(|error: toml::de::Error| {
            let start = error.span().map_or(0, |span| span.start);
            let line = 1 + text.bytes().take(start).filter(|byte| *byte == b'\n').count();
            // Without the line's text, which may hold a secret.
            format!("{} (in {origin}, line {line})", error.message())
        })?;
        Ok(Self { origin: Some(origin), settings })
    }

    /// A variable whose name stands for a path such as `search.slow_ms`.
    pub(super) fn from_variable(name: &str, path: &str, value: Value) -> Self {
        let mut keys = path.rsplit('.');
        let innermost = keys.next().map(|key| (key.to_owned(), value)).into_iter().collect();
        let settings =
            keys.fold(innermost, |inner: Table, key| Table::from_iter([(key.to_owned(), inner.into())]));
        Self { origin: Some(name.to_owned()), settings }
    }

    fn contains<'a>(&self, mut keys: impl Iterator<Item = &'a str>) -> bool {
        let Some(mut value) = keys.next().and_then(|key| self.settings.get(key)) else { return false };
        for key in keys {
            let Some(inner) = value.get(key) else { return false };
            value = inner;
        }
        true
    }
}

/// Reads the settings of all layers; a later one wins.
///
/// # Errors
/// The setting, the reason and the origin. It never holds a wrong value, which may be a secret.
pub(super) fn read<T: DeserializeOwned>(layers: &[Layer]) -> Result<T, String> {
    let mut merged = Table::new();
    for layer in layers {
        merge(&mut merged, layer.settings.clone());
    }
    serde_path_to_error::deserialize(merged).map_err(|error| {
        let keys = || {
            error.path().iter().map_while(|segment| match segment {
                Segment::Map { key } => Some(&**key),
                _ => None,
            })
        };
        let failure = describe_failure(&error.path().to_string(), error.inner().message());
        match layers.iter().rfind(|layer| layer.contains(keys())).and_then(|layer| layer.origin.as_ref()) {
            Some(origin) => format!("{failure} (in {origin})"),
            None => failure,
        }
    })
}

/// Names the type that is right, not what was found, which may be a secret.
fn describe_failure(path: &str, message: &str) -> String {
    match message.strip_prefix("invalid type: ").and_then(|rest| rest.rsplit_once(", expected ")) {
        Some((_, expected)) => format!("{path}: must be {}", json_type(expected)),
        None => match nearest(path, message) {
            Some(nearest) => format!("{}; the nearest is {nearest}", describe(path, message)),
            None => describe(path, message),
        },
    }
}

/// The known setting that is most like an unknown one.
fn nearest(path: &str, message: &str) -> Option<String> {
    let (unknown, known) = message.strip_prefix("unknown field ")?.split_once(", expected ")?;
    let unknown = unknown.trim_matches('`');
    let likeness = |name: &str| strsim::jaro_winkler(unknown, name);
    let nearest = known.split('`').skip(1).step_by(2).max_by(|a, b| likeness(a).total_cmp(&likeness(b)))?;
    let section = path.strip_suffix(unknown).unwrap_or_default();
    (likeness(nearest) > MIN_LIKENESS).then(|| format!("{section}{nearest}"))
}

fn merge(settings: &mut Table, later: Table) {
    for (key, value) in later {
        match (settings.get_mut(&key), value) {
            (Some(Value::Table(settings)), Value::Table(later)) => merge(settings, later),
            (_, value) => drop(settings.insert(key, value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    fn read_variables(variables: &[(&str, Value)]) -> Result<Config, String> {
        let defaults = Layer::from_values(&Config::default()).unwrap();
        let variable = |(path, value): &(&str, Value)| Layer::from_variable("TRAWL_X", path, value.clone());
        read(&[defaults].into_iter().chain(variables.iter().map(variable)).collect::<Vec<_>>())
    }

    #[test]
    fn later_layer_wins_and_keeps_the_other_settings_of_its_section() {
        let config = read_variables(&[("search.slow_ms", 7.into()), ("search.slow_ms", 8.into())]).unwrap();
        assert_eq!((config.search.slow_ms, config.search.timeout_ms), (8, 2_000));
    }

    #[test]
    fn wrong_setting_is_named_with_its_origin_and_without_its_value() {
        for (path, value, failure) in [
            ("search.slow_ms", Value::from("hush"), "search.slow_ms: must be an integer (in TRAWL_X)"),
            ("log.filter", 12.5.into(), "log.filter: must be a string (in TRAWL_X)"),
            ("storage.kind", 12.5.into(), "storage.kind: must be a string (in TRAWL_X)"),
            ("search.slow", 1.into(), "search.slow: is unknown; the nearest is search.slow_ms (in TRAWL_X)"),
            ("search.", 1.into(), "search.: is unknown (in TRAWL_X)"),
            ("serch.limit", 1.into(), "serch: is unknown; the nearest is search (in TRAWL_X)"),
            ("conector.x.y", 1.into(), "conector: is unknown; the nearest is connectors (in TRAWL_X)"),
            ("xyzzy.limit", 1.into(), "xyzzy: is unknown (in TRAWL_X)"),
            ("search", 1.into(), "search: must be an object (in TRAWL_X)"),
            ("log.format", "xml".into(), "log.format: must be text or json, not xml (in TRAWL_X)"),
            ("listen", "nowhere".into(), "listen: invalid socket address syntax (in TRAWL_X)"),
        ] {
            assert_eq!(read_variables(&[(path, value)]).unwrap_err(), failure);
        }
    }

    #[test]
    fn broken_file_is_told_by_its_line_and_without_its_text() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("trawl.toml");
        std::fs::write(&file, "[storage]\nsecret = hush\n").unwrap();
        let failure = Layer::from_file(&file).map(drop).unwrap_err();
        assert!(failure.ends_with("trawl.toml, line 2)") && !failure.contains("hush"), "{failure}");
    }
}
