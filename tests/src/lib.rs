//! The repository rules as functions over a source tree, and helpers shared by the end-to-end tests.
//!
//! Each rule takes a [`tree::SourceTree`] and returns the breaches. `tests/tidy.rs` applies each rule to this
//! repository and to a small bad example. The rules read source text, not compiled code, and change nothing.

pub mod banned_words;
pub mod contract;
pub mod counters;
pub mod debug_forms;
pub mod doc_fences;
pub mod doc_names;
pub mod documented_commands;
pub mod e2e;
pub mod event_kinds;
pub mod file_access;
pub mod floors;
pub mod former_names;
pub mod functions;
pub mod heads;
pub mod imports;
pub mod lexer;
pub mod licences;
pub mod links;
pub mod measures;
pub mod monitoring;
pub mod path_uses;
pub mod promise_tests;
pub mod purity;
pub mod quoted_errors;
pub mod rows;
pub mod sentences;
pub mod site_pages;
pub mod sizes;
pub mod skip;
pub mod tree;
pub mod unsafety;
