pub(super) mod documents;
pub(super) mod messages;
pub(super) mod robots;
pub(super) mod templates;
