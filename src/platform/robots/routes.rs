//! Robots, their webhook, messages and card templates.

pub mod hook;
pub mod messages;
pub mod robots;
pub mod templates;
