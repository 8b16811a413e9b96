//! Converts configurations of other balancers to Steelyard's format, and lists the settings that are not converted.
//!
//! The crate is pure: text in, text and notes out. Each dialect has a module with a parser for its grammar. The
//! dialects share the written document (`document`), conditions (`condition`) and the account of the words that they read
//! (`ledger`). `validation` removes everything that `steelyard check` would reject. The crate opens no file and follows no include on disk.

pub mod dialect;
pub mod notes;
pub mod run;

mod apache;
mod caddy;
mod certificate_file;
mod condition;
mod dispatcher;
mod document;
mod document_size;
mod draft_check;
mod draft_shape;
mod duration;
mod empty_pool;
mod envoy;
mod expression_search;
mod field_sight;
mod haproxy;
mod header_field;
mod inclusion_chain;
mod keepalived;
mod ledger;
mod names;
mod nginx;
mod note_kind;
mod path_expression;
mod path_sight;
mod rule_fallback;
mod rule_table;
mod shorten;
mod site_rule;
mod size;
mod source;
mod statement;
mod structured;
mod template;
mod traefik;
mod validation;
mod value;
