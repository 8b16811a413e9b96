//! Kubernetes objects of Gateway API and Ingress in, a configuration and status conditions out.
//!
//! The crate is pure: it opens no file and speaks to no API server. `manifest` reads texts, `object_set` holds the
//! objects, `translation` makes the configuration and the conditions. The order of the objects does not matter.

pub mod certificates;
pub mod manifest;
pub mod object_set;
pub mod objects;
pub mod problems;
pub mod settings;
pub mod status;
pub mod translation;

mod attachment;
mod backends;
mod document;
mod draft_check;
mod durations;
mod gateways;
mod grants;
mod host_names;
mod http_rows;
mod http_service;
mod ingress_service;
mod listeners;
mod missing_objects;
mod names;
mod path_change;
mod pools;
mod route_collection;
mod route_plan;
mod route_status;
mod rule_filters;
mod rule_match;
mod service_assembly;
mod stream_service;
mod toml_text;
mod yaml_documents;
