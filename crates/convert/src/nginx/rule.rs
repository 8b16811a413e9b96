//! A rule on its way into a service.

use crate::condition::Cond;
use crate::document::{Document, Table};

/// A rule.
#[derive(Clone, Debug)]
pub struct Rule {
    /// When.
    pub when: Cond,
    /// What it does, as TOML writes it.
    pub keys: Vec<(&'static str, String)>,
    /// Where it stood.
    pub line: u32,
    /// What stood there.
    pub text: String,
}

impl Rule {
    /// One with one key.
    pub fn one(
        when: Cond,
        key: &'static str,
        value: impl Into<String>,
        (line, text): (u32, &str),
    ) -> Rule {
        Rule { when, keys: vec![(key, value.into())], line, text: text.to_owned() }
    }

    /// Only under a further condition, which comes first.
    pub fn under(mut self, scope: &Cond) -> Rule {
        self.when = Cond::All(vec![scope.clone(), self.when]);
        self
    }
}

/// Writes them in their order; what never holds is not written.
pub fn write(service: &str, rules: Vec<Rule>, tls: bool, document: &mut Document) {
    for rule in rules {
        let when = rule.when.settled(tls);
        if when == Cond::Is(false) {
            continue;
        }
        let always = when == Cond::Is(true);
        let mut table = Table::one_of(format!("service.{service}.rule"), rule.line, &rule.text);
        if let Some(when) = when.when() {
            table.set("when", when, 0);
        }
        for (key, value) in rule.keys {
            table.set(key, value, 0);
        }
        document.push(table);
        if always {
            return;
        }
    }
}
