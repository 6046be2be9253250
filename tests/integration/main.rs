//! The server over HTTP and the program on the command line. Folders mirror the routes.

#[cfg(test)]
mod admin {
    mod applications;
    mod audit;
    mod contents;
    mod figures;
    mod index;
    mod insights;
    mod modules;
    mod operator_search;
    mod people;
    mod preconditions;
    mod settings;
    mod signing_keys;
    mod slow_searches;
    mod source_changes;
    mod source_check;
    mod source_health;
    mod sources;
    mod tenants;
    mod vocabulary;
}
#[cfg(test)]
mod badges;
#[cfg(test)]
mod browser {
    mod accessibility;
    mod account;
    mod file_transfer;
    mod reduce;
    mod screenshots;
    mod sign_in;
    mod sign_in_at_provider;
    mod views;
}
#[cfg(test)]
mod cli {
    mod bench;
    mod bench_server;
    mod commands;
    mod connector;
    mod data_directory;
    mod demo;
    mod demo_questions;
    mod import;
    mod templates;
}
#[cfg(test)]
mod conformance {
    mod error_envelopes;
    mod faulty_sources;
    mod generators;
    mod lifecycle;
    mod lists;
    mod openapi;
    mod schemathesis;
    mod store_suite;
    mod stores;
}
#[cfg(test)]
mod contents {
    mod hostile;
    mod items;
    mod modules;
    mod show;
}
#[cfg(test)]
mod crash {
    mod disk_full;
    mod index_damage;
    mod quick_handling;
    mod random_kills;
    mod random_kills_of_files;
    mod writes_and_rebuilds;
}
#[cfg(test)]
mod departments {
    mod search;
    mod sync;
}
#[cfg(test)]
mod documents;
#[cfg(test)]
mod engine {
    mod kills;
    mod leaders;
    mod moves;
    mod outages;
}
#[cfg(test)]
mod favorites {
    mod items;
    mod labels;
    mod paging;
    mod search;
}
#[cfg(test)]
mod files {
    mod cancellation;
    mod commits_in_flight;
    mod curl;
    mod deletion;
    mod download;
    mod error_codes;
    mod multipart;
    mod no_store;
    mod quotas;
    mod retention;
    mod s3;
    mod scanner;
    mod search;
    mod signed_urls;
    mod text_reader;
    mod texts;
    mod unsafe_contents;
    mod upload;
    mod versions;
    mod wild;
}
#[cfg(test)]
mod folders {
    mod locks;
    mod manage;
    mod owners;
    mod removal;
    mod rights;
}
#[cfg(test)]
mod groups {
    mod joining;
    mod manage;
    mod members;
    mod outer_members;
    mod search;
}
#[cfg(test)]
mod identities;
#[cfg(test)]
mod layers;
#[cfg(test)]
mod mapped {
    mod attacks;
    mod broken;
    mod searches;
    mod systems;
    mod trials;
}
#[cfg(test)]
mod oauth {
    mod authorize;
    mod login_throttle;
    mod revocation;
    mod third_party_clients;
    mod token;
    mod tokens_of_issuers;
}
#[cfg(test)]
mod pages {
    mod console {
        mod adding_sources;
        mod contents;
        mod drafts;
        mod figures;
        mod mapped_sources;
        mod operations;
        mod people;
        mod simultaneous;
        mod states;
        mod subscriptions;
        mod views;
        mod vocabulary;
    }
    mod delivery;
    mod search {
        mod addresses;
        mod finished_searches;
        mod hostile_content;
        mod list;
        mod outages;
        mod overlapping_steps;
        mod position;
        mod quick_look;
        mod retries;
        mod saved;
        mod session;
        mod start;
        mod states;
        mod top_results;
        mod typing;
        mod views;
    }
}
#[cfg(test)]
mod people {
    mod blacklist;
    mod changes;
    mod credentials;
    mod devices;
    mod fields;
    mod logins;
    mod pictures;
    mod search;
    mod sync;
    mod work_status;
}
#[cfg(test)]
mod property {
    mod favorites;
    mod file_search;
    mod folders;
    mod groups;
    mod paging;
    mod tasks;
}
#[cfg(test)]
mod replicas {
    mod balancer;
    mod caches;
    mod contents;
    mod leases;
    mod membership;
    mod searches;
    mod subscriptions;
    mod work;
}
#[cfg(test)]
mod robots {
    mod cards;
    mod manage;
    mod messages;
    mod webhook;
}
#[cfg(test)]
mod scale {
    mod faulty_sources_under_load;
    #[path = "../../../engine/tests/suite/quality.rs"]
    mod quality;
    mod questions;
    mod real_texts;
    mod relevance;
    mod systems;
}
#[cfg(test)]
mod search {
    mod after;
    mod all_modules;
    mod all_modules_faults;
    mod certificates;
    mod correction;
    mod explanation;
    mod external_sources;
    mod facets;
    mod fair_shares;
    mod hedging;
    mod highlight;
    mod item_sources;
    mod late_sources;
    mod limits;
    mod merge;
    mod paging;
    mod query;
    mod recency;
    mod relaxation;
    mod request_limits;
    mod response_cache;
    mod source_credentials;
    mod source_tokens;
    mod suggestions;
    mod suspension;
    mod time_positions;
    mod top_results;
    mod vocabulary;
}
#[cfg(test)]
mod security {
    mod access_matrix;
    mod attacks;
    mod isolation;
    mod memory;
    mod non_interference;
    mod revoked_rights;
    mod visibility;
}
#[cfg(test)]
mod server {
    mod connections;
    mod descriptors;
    mod headers;
    mod health;
    mod logs;
    mod middleware;
    mod traces;
}
#[cfg(test)]
mod sessions {
    mod expiry;
    mod factor_changes;
    mod issuer;
    mod operators;
    mod own;
    mod second_factor;
    mod sign_in;
}
#[cfg(test)]
mod soak {
    mod curves;
    mod faults;
    mod foreign;
    mod gauges;
    mod hold;
    mod inputs;
    mod journal;
    mod levers;
    mod one_server;
    mod people;
    mod strangers;
    #[path = "../../../benches/http/texts.rs"]
    mod texts;
    mod three_replicas;
    mod workplace;
}
#[cfg(test)]
mod store {
    mod check;
    mod copy;
    mod failures;
    mod outages;
    mod poolers;
    mod schema;
    mod settings;
    mod tenant_locks;
    mod two_servers;
}
#[cfg(test)]
mod subscriptions {
    mod changes;
    mod faulty_feeds;
    mod feeds;
    mod folders;
    mod queries;
    mod turns;
}
#[cfg(test)]
mod tasks {
    mod batches;
    mod concurrent_handling;
    mod concurrent_moves;
    mod create;
    mod failing_callbacks;
    mod moves;
    mod quick_handling;
}
#[cfg(test)]
mod tenants;
#[cfg(test)]
mod util;
