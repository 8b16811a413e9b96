//! The text of the configuration: services with their rules, and pools.

use std::collections::BTreeMap;

use crate::pools::PoolText;
use crate::toml_text::{ConfigEntry, comment_text};

/// A service of the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceText {
    pub name: String,
    pub comment: String,
    pub entries: Vec<ConfigEntry>,
    pub rules: Vec<RuleText>,
    pub edits: Vec<Vec<ConfigEntry>>,
}

/// A rule of a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleText {
    pub comment: String,
    pub entries: Vec<ConfigEntry>,
}

impl ServiceText {
    /// Leaves out what stands behind a rule that takes everything.
    pub fn end_at_first_open_rule(&mut self) {
        let is_open = |rule: &RuleText| rule.entries.iter().all(|entry| entry.key != "when");
        if let Some(at) = self.rules.iter().position(is_open) {
            self.rules.truncate(at + 1);
        }
    }
}

/// Writes the whole configuration.
pub fn render_document(services: &[ServiceText], pools: &BTreeMap<String, PoolText>) -> String {
    let mut text = String::from(
        "# Made from objects of Kubernetes by `steelyard gateway render`. Changes belong into the objects.\n",
    );
    services.iter().for_each(|service| render_service(service, &mut text));
    for (name, pool) in pools {
        text.push_str(&format!("\n# {}\n[pool.{name}]\n", comment_text(&pool.comment)));
        render_entries(&pool.entries, &mut text);
        text.push_str("servers = [\n");
        pool.servers.iter().for_each(|server| text.push_str(&format!("  {server},\n")));
        text.push_str("]\n");
    }
    text
}

fn render_service(service: &ServiceText, text: &mut String) {
    let name = &service.name;
    text.push_str(&format!("\n# {}\n[service.{name}]\n", comment_text(&service.comment)));
    render_entries(&service.entries, text);
    for rule in &service.rules {
        text.push_str(&format!("\n# {}\n[[service.{name}.rule]]\n", comment_text(&rule.comment)));
        render_entries(&rule.entries, text);
    }
    for edit in &service.edits {
        text.push_str(&format!("\n[[service.{name}.edit]]\n"));
        render_entries(edit, text);
    }
}

fn render_entries(entries: &[ConfigEntry], text: &mut String) {
    for entry in entries {
        text.push_str(&format!("{} = {}\n", entry.key, entry.value));
    }
}
