//! The robots of a group, their webhook, the messages of a group, and the templates of cards.

pub mod hook;
pub mod messages;
pub mod robots;
pub mod templates;
