//! Runs another balancer and what was converted of its configuration side by side, and compares their behaviour.
//!
//! `plan`, `corpus`, `comparison`, `accepted` and `explanation` are pure; `side` owns namespaces, processes and sockets.

pub mod accepted;
mod accepted_programs;
mod client;
mod client_http2;
pub mod comparison;
mod config_times;
pub mod corpus;
mod corpus_http2;
mod difference_context;
pub mod explanation;
mod failing_servers;
mod failure_order;
mod files;
mod hostile;
mod identity;
pub mod input;
pub mod inventory;
mod inventory_caddy;
mod inventory_envoy;
mod limit_relief;
mod location;
mod message;
pub mod observation;
mod original;
mod original_apache;
mod pattern_sample;
mod place;
pub mod plan;
mod private_root;
mod process;
pub mod report;
pub mod request;
mod review;
pub mod run;
mod serve;
pub mod serve_checks;
mod serve_http2;
mod served_record;
mod service_words;
mod side;
mod source_route;
mod stand_in;
mod stand_in_resolver;
mod statement;
mod steelyard;
