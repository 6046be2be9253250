//! Search content item of sources, merge and API.

use serde::{Deserialize, Serialize};
use serde_json_borrow::Value;

use crate::action::{check_action, check_action_addresses, check_picture};
use crate::lenient_json::{Integer, ObjectFields, ViolationCounter};
use crate::text::{LineBreaks, clean, clean_line, clean_lines, holds_unfit};
use crate::times::{TimeUnit, USUAL_SECONDS, millis_of_display_time};

/// Size limits of texts, in bytes of UTF-8.
///
/// Texts are cut. A longer `image` or `action` is left out; an item with a longer `id` is dropped.
pub mod bounds {
    /// `id`.
    pub const ID: usize = 512;
    /// `title`.
    pub const TITLE: usize = 1024;
    /// `subTitle`.
    pub const SUB_TITLE: usize = 4 * 1024;
    /// `brief`.
    pub const BRIEF: usize = 8 * 1024;
    /// `image`.
    pub const IMAGE: usize = 8 * 1024;
    /// `author`.
    pub const AUTHOR: usize = 256;
    /// `action`.
    pub const ACTION: usize = 8 * 1024;
    /// `attachInfo`.
    pub const ATTACH_INFO: usize = 4 * 1024;
    /// `attachDescription`.
    pub const ATTACH_DESCRIPTION: usize = 1024;
}

/// Search content item in camelCase JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = SourceItem)]
pub struct ContentItem {
    /// Unique within its source.
    pub id: String,
    /// Title.
    pub title: String,
    /// Subtitle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sub_title: Option<String>,
    /// Summary; may hold line feeds and tabs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub brief: Option<String>,
    /// Address of an icon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// Author's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// Epoch milliseconds.
    pub display_time: i64,
    /// Click action; see [`check_action`](crate::check_action).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// Additional information, such as picture addresses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attach_info: Option<String>,
    /// Description of the additional information, such as a count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attach_description: Option<String>,
}

impl ContentItem {
    /// Cleans the texts, and leaves out addresses that clients must not follow.
    #[must_use]
    pub fn made_safe(self) -> Self {
        Self {
            title: clean_line(self.title),
            sub_title: self.sub_title.map(clean_lines),
            brief: self.brief.map(clean_lines),
            image: self.image.filter(|image| check_picture(image).is_ok()),
            author: self.author.map(clean_line),
            action: self.action.filter(|action| check_action_addresses(action).is_ok()),
            attach_info: self.attach_info.map(clean_lines),
            attach_description: self.attach_description.map(clean_line),
            ..self
        }
    }
}

/// The error names the field.
pub(crate) fn read_item(
    value: Value<'_>,
    violations: &mut ViolationCounter,
) -> Result<ContentItem, (&'static str, &'static str)> {
    let Value::Object(object) = value else {
        return Err(("data", "holds something that is not an object"));
    };
    let mut fields = ObjectFields::from(object);
    let id = read_id(fields.take("id"), violations)?;
    let display_time = read_time(fields.get("displayTime"), violations)?;
    let has_title = !matches!(fields.get("title"), None | Some(Value::Null));
    let mut reader = Reader { fields, violations };
    let title = reader.text("title", bounds::TITLE, LineBreaks::One).unwrap_or_default();
    let brief = reader.text("brief", bounds::BRIEF, LineBreaks::Many);
    if title.is_empty() && brief.is_none() {
        reader.violations.add("title", "is missing, and `brief` too");
    } else if !has_title {
        reader.violations.add("title", "is missing");
    }
    Ok(ContentItem {
        id,
        title,
        sub_title: reader.text("subTitle", bounds::SUB_TITLE, LineBreaks::Many),
        brief,
        image: reader.image(),
        author: reader.text("author", bounds::AUTHOR, LineBreaks::One),
        display_time,
        action: reader.action(),
        attach_info: reader.text("attachInfo", bounds::ATTACH_INFO, LineBreaks::Many),
        attach_description: reader.text("attachDescription", bounds::ATTACH_DESCRIPTION, LineBreaks::One),
    })
}

/// Neither cut nor cleaned, as a change could make two items one.
fn read_id(
    value: Option<Value<'_>>,
    violations: &mut ViolationCounter,
) -> Result<String, (&'static str, &'static str)> {
    let id = match value {
        None | Some(Value::Null) => return Err(("id", "is missing")),
        Some(Value::Str(id)) => id.into_owned(),
        Some(Value::Number(number)) => {
            violations.add("id", "is a number, not text");
            Value::Number(number).to_string()
        }
        Some(_) => return Err(("id", "is not text")),
    };
    if id.is_empty() {
        Err(("id", "is empty"))
    } else if id.len() > bounds::ID {
        Err(("id", "is longer than 512 bytes"))
    } else if id.contains(char::is_control) {
        Err(("id", "holds control characters"))
    } else {
        Ok(id)
    }
}

fn read_time(
    value: Option<&Value<'_>>,
    violations: &mut ViolationCounter,
) -> Result<i64, (&'static str, &'static str)> {
    let value = value.ok_or(("displayTime", "is missing"))?;
    #[expect(clippy::cast_precision_loss, reason = "milliseconds are exact")]
    let time = match (Integer::read(value), value) {
        (Some(integer), _) => {
            if let Integer::Text(_) = integer {
                violations.add("displayTime", "is text, not an integer");
            }
            integer.value() as f64
        }
        (None, value) => {
            let time = match value {
                Value::Number(number) => number.as_f64(),
                Value::Str(text) => text.trim().parse().ok(),
                _ => None,
            };
            // Only seconds have fractions.
            let time = time.filter(|time: &f64| USUAL_SECONDS.contains(time));
            time.ok_or(("displayTime", "is not an integer"))?
        }
    };
    let out_of_range = ("displayTime", "is beyond all years");
    let (millis, unit) = millis_of_display_time(time).ok_or(out_of_range)?;
    let what = match unit {
        TimeUnit::Seconds => "is in seconds, not milliseconds",
        TimeUnit::Microseconds => "is in microseconds, not milliseconds",
        TimeUnit::Nanoseconds => "is in nanoseconds, not milliseconds",
        TimeUnit::FileTime => "is a FILETIME, not milliseconds",
        TimeUnit::Ticks => "is in ticks, not milliseconds",
        TimeUnit::Milliseconds => return Ok(millis),
    };
    violations.add("displayTime", what);
    Ok(millis)
}

struct Reader<'a> {
    fields: ObjectFields<'a>,
    violations: &'a mut ViolationCounter,
}

impl Reader<'_> {
    /// Null and empty texts are missing.
    fn text(&mut self, name: &'static str, bound: usize, lines: LineBreaks) -> Option<String> {
        let text = self.raw_text(name)?;
        if text.len() > bound {
            self.violations.add(name, "is too long and was cut");
        }
        Some(clean(text, bound, lines)).filter(|text| !text.is_empty())
    }

    /// Useless when cut.
    fn image(&mut self) -> Option<String> {
        let text = self.raw_text("image")?;
        if text.len() > bounds::IMAGE {
            self.violations.add("image", "is too long and was left out");
            return None;
        }
        let text = clean(text, bounds::IMAGE, LineBreaks::One);
        if let Err(what) = check_picture(&text) {
            self.violations.add_left_out("image", what);
            return None;
        }
        Some(text).filter(|text| !text.is_empty())
    }

    fn raw_text(&mut self, name: &'static str) -> Option<String> {
        let text = match self.fields.take(name)? {
            Value::Null => return None,
            Value::Str(text) => text.into_owned(),
            scalar @ (Value::Number(_) | Value::Bool(_)) => {
                self.violations.add(name, "is not text");
                scalar.to_string()
            }
            Value::Array(_) | Value::Object(_) => {
                self.violations.add(name, "is not text and was left out");
                return None;
            }
        };
        Some(text)
    }

    /// A JSON object, or text holding one.
    fn action(&mut self) -> Option<String> {
        let text = match self.fields.take("action")? {
            Value::Null => return None,
            Value::Str(text) if text.is_empty() => return None,
            Value::Str(text) => text.into_owned(),
            object @ Value::Object(_) => {
                self.violations.add("action", "is an object, not text holding one");
                object.to_string()
            }
            _ => String::new(),
        };
        if text.len() > bounds::ACTION {
            self.violations.add("action", "is too long and was left out");
            return None;
        }
        if let Err(what) = check_action(&text) {
            self.violations.add_left_out("action", what);
            return None;
        }
        Some(if holds_unfit(&text) { on_one_line(&text) } else { text })
    }
}

/// Minifies a checked object, whose unfit characters stand only between its parts.
fn on_one_line(json: &str) -> String {
    serde_json::from_str::<serde_json::Value>(json).unwrap_or_default().to_string()
}
