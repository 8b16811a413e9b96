//! Runs another balancer and what was converted of its configuration side by side, and compares their behaviour.
//!
//! `plan`, `corpus`, `comparison`, `accepted` and `explanation` are pure; `side` owns namespaces, processes and sockets.

pub mod accepted;
mod client;
pub mod comparison;
pub mod corpus;
pub mod explanation;
mod files;
mod hostile;
mod identity;
pub mod inventory;
mod location;
mod message;
pub mod observation;
mod original;
mod pattern_sample;
mod place;
pub mod plan;
mod private_root;
mod process;
pub mod report;
pub mod request;
pub mod run;
mod serve;
mod serve_http2;
mod served_record;
mod service_words;
mod side;
mod source_route;
mod stand_in;
mod statement;
mod steelyard;
