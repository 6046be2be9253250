//! What a badge must be.

use serde::{Deserialize, Serialize};

use crate::platform::{
    common::{TextRule, written_text},
    narrowing::fold_all,
};

/// Bytes of a name, a description, and of where a picture is.
const NAME_BYTES: usize = 256;
const REMARK_BYTES: usize = 4 << 10;
const PICTURE_BYTES: usize = 8 << 10;

/// A badge (the document's "Badge").
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Badge {
    /// Badge id.
    pub id: String,
    /// Badge name.
    pub name: String,
    /// Description.
    pub remark: Option<String>,
    /// Main icon.
    pub icon: Option<String>,
    /// Pendant icon.
    pub pendant_icon: Option<String>,
    /// Cover image.
    pub image: Option<String>,
    /// Owning tenant.
    pub e_code: String,
    /// The name of the application that created it.
    pub created_by_name: String,
    /// Creation time, RFC 3339; strictly increasing over a tenant's badges.
    pub created_date: String,
}

/// A badge to create; an empty text is as good as none.
#[derive(Clone, Debug, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreatedBadgeRequest {
    /// Badge name.
    pub name: String,
    /// Description.
    pub remark: Option<String>,
    /// Main icon.
    pub icon: Option<String>,
    /// Pendant icon.
    pub pendant_icon: Option<String>,
    /// Cover image.
    pub image: Option<String>,
}

/// What is to be changed of a badge: what is absent or null stays, an empty text sets it to null.
#[derive(Clone, Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModifyBadgeRequest {
    /// Badge name, which cannot be empty.
    pub name: Option<String>,
    /// Description.
    pub remark: Option<String>,
    /// Main icon.
    pub icon: Option<String>,
    /// Pendant icon.
    pub pendant_icon: Option<String>,
    /// Cover image.
    pub image: Option<String>,
}

/// Badges to delete.
#[derive(Clone, Debug, Deserialize, utoipa::ToSchema)]
pub struct DeletedBadges {
    /// Badge ids.
    pub ids: Vec<String>,
}

/// What callers may say of a badge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Texts {
    pub(super) name: String,
    pub(super) remark: Option<String>,
    pub(super) icon: Option<String>,
    pub(super) pendant_icon: Option<String>,
    pub(super) image: Option<String>,
}

impl Texts {
    /// # Errors
    /// A message that names the field.
    pub(super) fn checked(self) -> Result<Self, String> {
        if self.name.trim().is_empty() {
            return Err("name: must not be blank".to_owned());
        }
        let texts = [
            ("name", Some(&self.name), TextRule::Line(NAME_BYTES)),
            ("remark", self.remark.as_ref(), TextRule::Lines(REMARK_BYTES)),
            ("icon", self.icon.as_ref(), TextRule::Line(PICTURE_BYTES)),
            ("pendantIcon", self.pendant_icon.as_ref(), TextRule::Line(PICTURE_BYTES)),
            ("image", self.image.as_ref(), TextRule::Line(PICTURE_BYTES)),
        ];
        for (field, text, rule) in texts {
            text.map_or(Ok(()), |text| rule.check(field, text))?;
        }
        Ok(self)
    }

    /// What the keyword of a list is looked for in.
    pub(super) fn folded(&self) -> String {
        fold_all([Some(&self.name), self.remark.as_ref()].into_iter().flatten().map(String::as_str))
    }
}

impl From<CreatedBadgeRequest> for Texts {
    fn from(form: CreatedBadgeRequest) -> Self {
        let CreatedBadgeRequest { name, remark, icon, pendant_icon, image } = form;
        let [remark, icon, pendant_icon, image] =
            [remark, icon, pendant_icon, image].map(|text| text.filter(|text| !text.is_empty()));
        Self { name, remark, icon, pendant_icon, image }
    }
}

impl ModifyBadgeRequest {
    /// What it leaves of a badge; to be checked.
    pub(super) fn over(&self, known: &Texts) -> Texts {
        Texts {
            name: self.name.as_ref().unwrap_or(&known.name).clone(),
            remark: written_text(self.remark.as_ref(), known.remark.as_ref()),
            icon: written_text(self.icon.as_ref(), known.icon.as_ref()),
            pendant_icon: written_text(self.pendant_icon.as_ref(), known.pendant_icon.as_ref()),
            image: written_text(self.image.as_ref(), known.image.as_ref()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn create(json: &str) -> Result<Texts, String> {
        Texts::from(serde_json::from_str::<CreatedBadgeRequest>(json).unwrap()).checked()
    }

    #[test]
    fn a_wrong_field_is_named() {
        assert!(create(r#"{"name":" "}"#).unwrap_err().starts_with("name:"));
        assert!(create(r#"{"name":"a\nb"}"#).unwrap_err().starts_with("name:"));
        assert!(create(r#"{"name":"a","icon":"a\nb"}"#).unwrap_err().starts_with("icon:"));
        let long = format!(r#"{{"name":"a","remark":"{}"}}"#, "x".repeat(REMARK_BYTES + 1));
        assert!(create(&long).unwrap_err().starts_with("remark:"));
        assert_eq!(create(r#"{"name":"a","remark":"b\nc","icon":""}"#).unwrap().icon, None);
    }

    #[test]
    fn what_a_change_does_not_name_stays_and_an_empty_text_clears() {
        let known = create(r#"{"name":"a","remark":"r","icon":"i","pendantIcon":"p"}"#).unwrap();
        let change = |json: &str| serde_json::from_str::<ModifyBadgeRequest>(json).unwrap().over(&known);
        assert_eq!(change("{}"), known);
        assert_eq!(change(r#"{"remark":null}"#), known);
        let changed = change(r#"{"name":"b","icon":"","image":"m"}"#);
        assert_eq!((changed.name.as_str(), changed.icon.as_deref()), ("b", None));
        assert_eq!((changed.remark.as_deref(), changed.image.as_deref()), (Some("r"), Some("m")));
        assert!(change(r#"{"name":""}"#).checked().unwrap_err().starts_with("name:"));
    }
}
