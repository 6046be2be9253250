//! What a message may hold.

use serde::{Deserialize, Serialize};

/// The content of a message, by its type (the document's "Robot message"). Kept as JSON in this form.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(tag = "msgType", content = "content", rename_all = "snake_case")]
pub enum Message {
    /// A text.
    Text {
        /// Message content.
        text: String,
    },
    /// A text with an address.
    Links {
        /// Message content.
        text: String,
        /// Where it leads.
        url: String,
    },
    /// A text with a title, a picture and an address.
    Rich {
        /// Message content.
        text: String,
        /// Where it leads.
        url: String,
        /// Title.
        title: String,
        /// Address of a picture.
        image: String,
    },
    /// A card made of a template.
    #[serde(rename_all = "camelCase")]
    CardTemplate {
        /// Summary.
        brief: String,
        /// Which template: the newest of the code where only that was given.
        template_id: String,
        /// The code of the template, where it was given.
        #[serde(skip_serializing_if = "Option::is_none")]
        template_code: Option<String>,
        /// What is put in for the template's keys.
        data: serde_json::Map<String, serde_json::Value>,
    },
}
