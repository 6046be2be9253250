//! The server over HTTP, and the program as an operator runs it: one module for each route or command, and suites
//! for what cuts across them.

#[cfg(test)]
mod answers_again;
#[cfg(test)]
mod applications;
#[cfg(test)]
mod attacks;
#[cfg(test)]
mod audit;
#[cfg(test)]
mod badges;
#[cfg(test)]
mod bench;
#[cfg(test)]
mod blacklist;
#[cfg(test)]
mod chaos;
#[cfg(test)]
mod cli;
#[cfg(test)]
mod connector;
#[cfg(test)]
mod contents;
#[cfg(test)]
mod corrected;
#[cfg(test)]
mod crash;
#[cfg(test)]
mod demo;
#[cfg(test)]
mod departments;
#[cfg(test)]
mod devices;
#[cfg(test)]
mod directory_changes;
#[cfg(test)]
mod directory_fields;
#[cfg(test)]
mod directory_people;
#[cfg(test)]
mod directory_pictures;
#[cfg(test)]
mod disk_full;
#[cfg(test)]
mod edge;
#[cfg(test)]
mod errors;
#[cfg(test)]
mod external;
#[cfg(test)]
mod extraction;
#[cfg(test)]
mod favorites;
#[cfg(test)]
mod files;
#[cfg(test)]
mod files_addresses;
#[cfg(test)]
mod files_browser;
#[cfg(test)]
mod files_curl;
#[cfg(test)]
mod files_deletion;
#[cfg(test)]
mod files_errors;
#[cfg(test)]
mod files_giving_up;
#[cfg(test)]
mod files_meanwhile;
#[cfg(test)]
mod files_multipart;
#[cfg(test)]
mod files_quotas;
#[cfg(test)]
mod files_s3;
#[cfg(test)]
mod files_search;
#[cfg(test)]
mod files_search_property;
#[cfg(test)]
mod files_texts;
#[cfg(test)]
mod files_unsafe;
#[cfg(test)]
mod folders;
#[cfg(test)]
mod folders_locks;
#[cfg(test)]
mod folders_owners;
#[cfg(test)]
mod folders_property;
#[cfg(test)]
mod folders_removal;
#[cfg(test)]
mod folders_rights;
#[cfg(test)]
mod groups;
#[cfg(test)]
mod groups_joining;
#[cfg(test)]
mod groups_members;
#[cfg(test)]
mod groups_outer;
#[cfg(test)]
mod groups_property;
#[cfg(test)]
mod groups_search;
#[cfg(test)]
mod health;
#[cfg(test)]
mod hedging;
#[cfg(test)]
mod highlight;
#[cfg(test)]
mod index_admin;
#[cfg(test)]
mod isolation;
#[cfg(test)]
mod issuer;
#[cfg(test)]
mod keys;
#[cfg(test)]
mod kill;
#[cfg(test)]
mod kill_files;
#[cfg(test)]
mod lifecycle;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod login;
#[cfg(test)]
mod login_clients;
#[cfg(test)]
mod login_limits;
#[cfg(test)]
mod matrix;
#[cfg(test)]
mod merge;
#[cfg(test)]
mod middleware;
#[cfg(test)]
mod modules;
#[cfg(test)]
mod modules_admin;
#[cfg(test)]
mod oauth;
#[cfg(test)]
mod openapi;
#[cfg(test)]
mod openid_provider;
#[cfg(test)]
mod organizations;
#[cfg(test)]
mod pages;
#[cfg(test)]
mod paging;
#[cfg(test)]
mod paging_property;
#[cfg(test)]
mod people;
#[cfg(test)]
mod positions;
#[cfg(test)]
mod quick_deal;
#[cfg(test)]
mod real_texts;
#[cfg(test)]
mod relevance;
#[cfg(test)]
mod revocation;
#[cfg(test)]
mod robots;
#[cfg(test)]
mod scanner;
#[cfg(test)]
mod schemathesis;
#[cfg(test)]
mod search;
#[cfg(test)]
mod search_all;
#[cfg(test)]
mod self_healing;
#[cfg(test)]
mod sessions;
#[cfg(test)]
mod sessions_browser;
#[cfg(test)]
mod sessions_ends;
#[cfg(test)]
mod sessions_issuer;
#[cfg(test)]
mod sessions_operators;
#[cfg(test)]
mod sessions_provider;
#[cfg(test)]
mod slow_searches;
#[cfg(test)]
mod sources_admin;
#[cfg(test)]
mod sources_check;
#[cfg(test)]
mod sources_history;
#[cfg(test)]
mod sources_live;
#[cfg(test)]
mod standing;
#[cfg(test)]
mod storage;
#[cfg(test)]
mod stores;
#[cfg(test)]
mod suspension;
#[cfg(test)]
mod tasks;
#[cfg(test)]
mod tenants;
#[cfg(test)]
mod tenants_admin;
#[cfg(test)]
mod todo;
#[cfg(test)]
mod traces;
#[cfg(test)]
mod users;
#[cfg(test)]
mod util;
#[cfg(test)]
mod views;
#[cfg(test)]
mod visibility;
#[cfg(test)]
mod web_accessibility;
#[cfg(test)]
mod web_console;
#[cfg(test)]
mod web_console_leaving;
#[cfg(test)]
mod web_console_operating;
#[cfg(test)]
mod web_console_states;
#[cfg(test)]
mod web_console_views;
#[cfg(test)]
mod web_screenshots;
#[cfg(test)]
mod web_search;
#[cfg(test)]
mod web_search_again;
#[cfg(test)]
mod web_search_hostile;
#[cfg(test)]
mod web_search_list;
#[cfg(test)]
mod web_search_session;
#[cfg(test)]
mod web_search_states;
#[cfg(test)]
mod web_search_steps;
#[cfg(test)]
mod web_search_views;
#[cfg(test)]
mod work_status;
#[cfg(test)]
mod zoo;
