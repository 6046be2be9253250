//! The areas of the platform: one folder each, with the same files (CONTRIBUTING.md, "An area").

pub mod badges;
pub mod blacklist;
pub mod contents;
pub mod departments;
pub mod devices;
pub mod directory;
pub mod documents;
pub mod favorites;
pub mod files;
pub mod folders;
pub mod groups;
pub mod insights;
pub mod items;
pub mod robots;
pub mod search;
pub mod shared;
pub mod subscriptions;
pub mod tasks;
pub mod tenants;
pub mod users;
pub mod work_status;
