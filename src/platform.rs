//! The areas of the platform. Each has the same files: `routes` (HTTP), `model` (rules, without I/O), `repo` (rows)
//! and, where its rows are searched, `documents`.
//!
//! Areas never use each other's `repo`; what one needs of another goes through that area's `model`.

pub mod badges;
pub mod blacklist;
pub mod common;
pub mod contact;
pub mod contents;
pub mod devices;
pub mod directories;
pub mod favorites;
pub mod files;
pub mod groups;
pub mod narrowing;
pub mod organizations;
pub mod robots;
pub mod tasks;
pub mod tenants;
pub mod users;
pub mod work_status;
