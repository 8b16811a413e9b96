//! What settings beside the rules of a proxy do to its requests: the page with statistics keeps them from servers, and the
//! name of the server replaces a field.

use crate::condition::RuleCondition;
use crate::notes::ConversionNotes;

use super::final_rule::FinalRule;
use super::forwarded::OTHER_CLIENT;
use super::hidden_inputs::changes_client;
use super::http_rules::ProxyRules;
use super::lex::ConfigLine;
use super::settings::ProxySettings;

/// Where the page with statistics is, unless `stats uri` says otherwise.
const STATISTICS: &str = "/haproxy?stats";

const UNNAMED: &str = "`set-src` gives requests another address, which is not known here; so that servers are told of no other client, these requests are refused";

impl ProxyRules {
    /// Adds what the settings do after all rules of their proxy.
    pub fn add_side_effects(&mut self, settings: &ProxySettings, notes: &mut ConversionNotes) {
        self.refuse_unnamed_clients(settings, notes);
        if !settings.http {
            return;
        }
        // HAProxy answers there itself, and servers never see these requests.
        if let Some(line) = settings.statistics.last() {
            let written = settings.statistics.iter().rev().find(|line| line.word(1) == "uri");
            self.final_rules.push(FinalRule {
                when: statistics_place(written.map_or(STATISTICS, |line| line.word(2))),
                key: "deny",
                value: "true".to_owned(),
                edits_before: self.fields.edits.len(),
                source: line.source,
                text: line.text(),
            });
        }
        if let Some(line) = settings.server_name_field.as_ref().filter(|line| line.len() > 1) {
            self.fields.push_removal(line.word(1), line);
        }
    }
}

impl ProxyRules {
    /// Refuses the requests whose servers would be told another client in a PROXY header than HAProxy tells them.
    fn refuse_unnamed_clients(&mut self, settings: &ProxySettings, notes: &mut ConversionNotes) {
        if !self.fields.opaque.has_other_client() {
            return;
        }
        let tells =
            |line: &&ConfigLine| line.all_words().iter().any(|word| word.starts_with("send-proxy"));
        let all = settings.servers.iter().flat_map(|one| one.defaults.iter().chain([&one.line]));
        let Some(line) = all.into_iter().find(tells) else { return };
        notes.left_out(line.source, &line.text(), UNNAMED, "`trust` of the proxies in front");
        let key = if settings.http { "answer" } else { "deny" };
        let value = if settings.http { "502" } else { "true" };
        self.final_rules.push(FinalRule {
            when: RuleCondition::Is(true),
            key,
            value: value.to_owned(),
            edits_before: self.fields.edits.len(),
            source: line.source,
            text: line.text(),
        });
    }

    /// Removes the fields that would name another client to servers than HAProxy names.
    pub fn close_client_fields(&mut self, all: &[&ProxySettings]) {
        if !all.iter().any(|one| one.rules.iter().any(changes_client)) {
            return;
        }
        for line in all.iter().filter_map(|one| one.options.get("forwardfor")) {
            self.fields.push_removal(client_field_name(line), line);
        }
    }

    /// Adds the client's address for one backend of several: `option forwardfor`.
    pub fn add_client_field(&mut self, settings: &ProxySettings, notes: &mut ConversionNotes) {
        let Some(line) = settings.options.get("forwardfor") else { return };
        if self.fields.opaque.has_other_client() {
            notes.left_out(line.source.whole(), &line.text(), OTHER_CLIENT, "");
            return self.fields.push_removal(client_field_name(line), line);
        }
        let mut name = "X-Forwarded-For".to_owned();
        let mut parts = Vec::new();
        let mut is_absent = false;
        let mut words = line.keywords(2);
        while let Some(word) = words.keyword() {
            match word {
                "except" => parts.push(RuleCondition::texts("client", &[words.value()]).negate()),
                "header" => words.value().clone_into(&mut name),
                "if-none" => is_absent = true,
                other => {
                    let reason = format!("`{other}` is not known here");
                    notes.left_out(words.source(), &line.text(), &reason, "");
                    continue;
                }
            }
            words.mark_converted();
        }
        if is_absent {
            parts.push(RuleCondition::texts("header", &[name.as_str()]).negate());
        }
        let when = RuleCondition::All(parts).simplify(false);
        self.fields.push_addition(&name, "{client}", when, line);
        line.mark_converted();
    }
}

/// The field of an `option forwardfor`.
fn client_field_name(line: &ConfigLine) -> &str {
    line.value_of("header").unwrap_or("X-Forwarded-For")
}

/// The requests whose targets begin so.
fn statistics_place(uri: &str) -> RuleCondition {
    match uri.split_once('?') {
        None => RuleCondition::texts("path", &[format!("{uri}*")]),
        Some((path, query)) => {
            let name = query.split(['=', '&', ';']).next().unwrap_or_default();
            let path = RuleCondition::texts("path", &[path]);
            if name.is_empty() { path } else { path.and(RuleCondition::texts("query", &[name])) }
        }
    }
}
