//! The checked configuration of edits: changes of heads, each of which is made where its conditions hold.
//!
//! Plain data: `model::rules` compiles it.

use serde::Serialize;

use super::types::{Condition, RewriteConfig};
use crate::config::matching::NameValuePattern;
use crate::config::status_ranges::StatusRanges;

/// An edit of a service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct EditConfig {
    /// The name, if the edit has one.
    pub name: Option<String>,
    /// The condition of the request.
    pub when: Condition,
    /// The condition of the answer, for changes of answers.
    pub when_response: ResponseCondition,
    /// The pool whose requests it changes; `None`: those of every pool.
    pub pool: Option<String>,
    /// It is made after the rules have chosen a pool, and not before them.
    pub after_rules: bool,
    /// Changes of fields; what concerns paths, locations and cookies is empty.
    pub rewrite: RewriteConfig,
}

/// A condition of an answer; all parts hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ResponseCondition {
    /// Statuses; empty: any.
    pub statuses: StatusRanges,
    /// Fields, of which one is there; empty: no matter.
    pub header: Vec<NameValuePattern>,
    /// Fields, of which none is there.
    pub without: Vec<NameValuePattern>,
}

impl ResponseCondition {
    /// Whether every answer meets it.
    pub fn is_always(&self) -> bool {
        self.statuses.0.is_empty() && self.header.is_empty() && self.without.is_empty()
    }
}
