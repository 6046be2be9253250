//! Card template forms.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::platform::shared::patch::TextRule;

const NAME_BYTES: usize = 256;
const TEMPLATE_BYTES: usize = 64 << 10;

/// A card template to store.
#[derive(Clone, Debug, Deserialize, utoipa::ToSchema)]
pub struct TemplateForm {
    /// Template name.
    pub name: String,
    /// Template, stored unparsed: an object or a text.
    pub template: Value,
}

impl TemplateForm {
    /// Checks the form; the error names the field.
    pub fn check(&self) -> Result<(), String> {
        if self.name.trim().is_empty() {
            return Err("name: must not be empty".to_owned());
        }
        TextRule::Line(NAME_BYTES).check("name", &self.name)?;
        let is_fit = match &self.template {
            Value::Object(fields) => !fields.is_empty(),
            Value::String(text) => !text.trim().is_empty(),
            _ => false,
        };
        if !is_fit {
            return Err("template: must be an object or a text, and not empty".to_owned());
        }
        let length = serde_json::to_string(&self.template).map_or(usize::MAX, |text| text.len());
        if length > TEMPLATE_BYTES {
            return Err(format!("template: must be at most {TEMPLATE_BYTES} bytes of JSON, not {length}"));
        }
        Ok(())
    }
}

/// Identifies a version of a template.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TemplateNames {
    /// Version id, new with each change; earlier ids stay valid.
    pub template_id: String,
    /// Template code.
    pub template_code: String,
    /// Template name.
    pub name: String,
}

/// The current version of a template.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CardTemplate {
    /// Id, code and name.
    #[serde(flatten)]
    pub names: TemplateNames,
    /// Template content.
    pub template: Value,
    /// Creation time of the version, epoch milliseconds.
    pub created_date: i64,
}
