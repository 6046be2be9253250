use serde::{Deserialize, Serialize};

use crate::{
    json::Batch,
    platform::shared::{
        keyword_filter::fold_all,
        patch::{TextRule, written_text},
    },
};

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
    /// Name of the application that created it.
    pub created_by_name: String,
    /// Creation time, RFC 3339; strictly increasing per tenant.
    pub created_date: String,
}

/// A badge to create; an empty text counts as absent.
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

/// Changes to a badge: absent or null keeps a field, empty text clears it.
#[derive(Clone, Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModifyBadgeRequest {
    /// Badge name, not empty.
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
    pub ids: Batch<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BadgeTexts {
    pub(super) name: String,
    pub(super) remark: Option<String>,
    pub(super) icon: Option<String>,
    pub(super) pendant_icon: Option<String>,
    pub(super) image: Option<String>,
}

impl BadgeTexts {
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

    pub(super) fn folded(&self) -> String {
        fold_all([Some(&self.name), self.remark.as_ref()].into_iter().flatten().map(String::as_str))
    }
}

impl From<CreatedBadgeRequest> for BadgeTexts {
    fn from(form: CreatedBadgeRequest) -> Self {
        let CreatedBadgeRequest { name, remark, icon, pendant_icon, image } = form;
        let [remark, icon, pendant_icon, image] =
            [remark, icon, pendant_icon, image].map(|text| text.filter(|text| !text.is_empty()));
        Self { name, remark, icon, pendant_icon, image }
    }
}

impl ModifyBadgeRequest {
    pub(super) fn over(&self, known: &BadgeTexts) -> BadgeTexts {
        BadgeTexts {
            name: self.name.as_ref().unwrap_or(&known.name).clone(),
            remark: written_text(self.remark.as_ref(), known.remark.as_ref()),
            icon: written_text(self.icon.as_ref(), known.icon.as_ref()),
            pendant_icon: written_text(self.pendant_icon.as_ref(), known.pendant_icon.as_ref()),
            image: written_text(self.image.as_ref(), known.image.as_ref()),
        }
    }
}
