pub(super) mod messages;
pub(super) mod robots;
pub(super) mod templates;
