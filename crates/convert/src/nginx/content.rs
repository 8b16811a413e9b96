//! The content phase of servers and locations, as rules.

use crate::condition::RuleCondition;
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use std::collections::BTreeMap;

use super::access::{self, ClientSight};
use super::body_limit;
use super::compression;
use super::defined::DefinedVariables;
use super::directives;
use super::field_place::FieldPlace;
use super::forwarding::{ClientTerms, note_silence};
use super::head_limits;
use super::known_words;
use super::location::{self, LocationBlock};
use super::location_content::LocationContent;
use super::new_path::NewPath;
use super::page_directives;
use super::pools::UpstreamPools;
use super::rewrite_kind::RewritePhase;
use super::rule::NginxRule;
use super::scope::DirectiveScope;
use super::tree::Directive;
use super::upstream_directory::UpstreamDirectory;
use super::value_branch::ValueBranch;

/// The context of one service's rules.
pub struct ContentWriter<'c, 't> {
    /// The service uses TLS.
    pub tls: bool,
    /// The server's first name.
    pub name: Option<&'c str>,
    /// Its listeners have the ports that its scheme has without saying so.
    pub usual_port: bool,
    pub upstreams: &'c UpstreamDirectory<'t>,
    pub zones: &'c [&'t Directive],
    /// Named locations of the server, which requests reach only from other locations: `location @app`.
    pub named: Vec<&'t Directive>,
    /// The directives of the server, and those in effect there.
    pub server_level: &'t [Directive],
    pub server_scope: DirectiveScope<'t>,
    /// The path that a `rewrite` gave before the location that is being read was looked up.
    pub new_path: Option<NewPath>,
    /// The type of short answers: `default_type`.
    pub media_type: Option<String>,
    /// What the service does with its clients, unless a rule says otherwise.
    pub client_terms: ClientTerms,
    /// Fields of answers that nginx hides, and some location of the service passes.
    pub passed_fields: &'c [&'static str],
    /// The variables that the file defines.
    pub defined: &'c DefinedVariables<'t>,
    /// The values that `set` gave, at the place that is being read.
    pub assigned: BTreeMap<String, Vec<ValueBranch>>,
    /// The values of variables in the rules that are being written.
    pub fixed: BTreeMap<String, String>,
    /// `$remote_addr` is not the address that rules see.
    pub real_ip: bool,
    pub sight: ClientSight,
    /// Locations whose file is an error page.
    pub page_locations: &'c [SourcePlace],
    pub pools: &'c mut UpstreamPools,
    pub notes: &'c mut ConversionNotes,
}

/// Timeouts and counts that are converted. Invalid values and a time of 0 are reported with the directive.
const TIMES: [&str; 15] = [
    "proxy_next_upstream_timeout",
    "grpc_next_upstream_timeout",
    "grpc_next_upstream_tries",
    "proxy_connect_timeout",
    "proxy_read_timeout",
    "grpc_connect_timeout",
    "grpc_read_timeout",
    "client_header_timeout",
    "client_body_timeout",
    "send_timeout",
    "proxy_send_timeout",
    "grpc_send_timeout",
    "keepalive_timeout",
    "proxy_timeout",
    "proxy_next_upstream_tries",
];

/// Reports a time or a count that cannot be converted.
fn note_times(directive: &Directive, notes: &mut ConversionNotes) {
    let text = directive.text();
    if directive.name.ends_with("_next_upstream_tries") {
        if directive.peek(0).parse::<u32>().is_err() {
            notes.left_out(directive.source, &text, "not a number", "`retries` of the pool");
        }
        return;
    }
    let reason = match crate::duration::parse_duration(directive.peek(0), 1_000) {
        None => "not a time or a number",
        Some(0) => "0 is no time here, and the default is taken",
        Some(_) if directive.name == "keepalive_timeout" && !directive.peek(1).is_empty() => {
            "clients are not told how long their connection is kept"
        }
        Some(_) => return,
    };
    notes.left_out(directive.source, &text, reason, "`timeout`");
}

/// Reports directives that another module converts and that had no effect in this file.
pub fn note_unused(level: &[Directive], notes: &mut ConversionNotes) {
    for directive in level {
        note_unused(directive.inner(), notes);
        let name = directive.name.as_str();
        if page_directives::READ.contains(&name) && !directive.is_settled() {
            directives::note_directive(directive, notes);
        }
        let known = known_words::READ.contains(&name) || compression::READ.contains(&name);
        let text = directive.text();
        // Read for the servers of a block, all of whose locations have a line of their own.
        if name.ends_with("_next_upstream") && directive.is_read() && !directive.is_settled() {
            notes.not_needed(directive.source, &text, "lines within the block take its place");
        }
        let unused = known && !directive.is_read();
        if !unused || directive.is_settled() {
            continue;
        }
        let reason = "nothing here is of its kind, so that it has no effect";
        let guards = ["ssl", "auth", "allow", "deny", "header", "proxy_protocol", "geo"];
        if guards.iter().any(|word| directive.name.contains(word)) {
            notes.changed(directive.source, &text, reason, "");
        } else {
            notes.not_needed(directive.source, &text, reason);
        }
    }
}

/// An include whose file is not here.
pub fn find_include(level: &[Directive]) -> Option<&Directive> {
    level.iter().find(|one| one.name == "include")
}

/// The rule of a block with such an include.
pub fn refuse_all(include: &Directive) -> NginxRule {
    let always = RuleCondition::Is(true);
    NginxRule::single_key(always, "deny", "true", include.source, &include.text())
}

/// Reports the directives of one level that are not carried over.
pub fn note_unsupported(level: &[Directive], notes: &mut ConversionNotes) {
    let believed =
        level.iter().any(|one| one.name == "real_ip_header" && one.word(0) == "proxy_protocol");
    level
        .iter()
        .filter(|one| TIMES.contains(&one.name.as_str()))
        .for_each(|one| note_times(one, notes));
    level
        .iter()
        .filter(|one| one.name == body_limit::NAME)
        .for_each(|one| body_limit::note_invalid(one, notes));
    level
        .iter()
        .filter(|one| one.name == head_limits::NAME)
        .for_each(|one| head_limits::note_invalid(one, notes));
    for directive in level.iter().filter(|one| !known_words::READ.contains(&one.name.as_str())) {
        match directive.name.as_str() {
            "set_real_ip_from" | "real_ip_header" if believed => {}
            name if compression::READ.contains(&name) => {}
            name if page_directives::READ.contains(&name) => {}
            _ => directives::note_directive(directive, notes),
        }
    }
}

impl<'c> ContentWriter<'c, '_> {
    /// What variables of its server stand for.
    pub(super) fn field_place<'v>(&self, values: &'v BTreeMap<String, String>) -> FieldPlace<'v>
    where
        'c: 'v,
    {
        FieldPlace {
            tls: self.tls,
            name: self.name,
            usual_port: self.usual_port,
            real_ip: self.real_ip,
            passed_fields: self.passed_fields,
            values,
        }
    }
}

impl<'t> ContentWriter<'_, 't> {
    /// The rules of a location.
    pub fn location(&mut self, place: &LocationBlock<'t>) -> Vec<NginxRule> {
        let server = &self.server_scope.clone();
        place.directive.mark_converted();
        let level = place.directive.inner();
        let scope = self.location_scope(place);
        note_unsupported(level, self.notes);
        compression::note_location_overrides(level, server, self.notes);
        note_silence(&scope, self.notes);
        self.media_type = scope.get("default_type").map(|one| one.word(0).to_owned());
        let assigned = self.assigned.clone();
        let body_bytes = body_limit::read(&scope);
        let outer = place.outer.iter().find_map(|outer| find_include(outer.inner()));
        let guards = match outer {
            // What a location around this one includes holds here, too.
            Some(missing) => vec![refuse_all(missing)],
            None => self.location_guards(level, &scope),
        };
        let mut out = self.with_added_fields(guards, &scope);
        // Files are not served, so every request takes the fallback of `try_files`.
        let named = location::fallback(level)
            .and_then(|name| self.named.iter().copied().find(|one| one.word(0) == name));
        let (level, scope) = match named {
            Some(named) => {
                named.mark_converted();
                note_unsupported(named.inner(), self.notes);
                body_limit::note_named(named.inner(), self.notes);
                let scope = server.nested(named.inner());
                let guards = self.location_guards(named.inner(), &scope);
                out.extend(self.with_added_fields(guards, &scope));
                (named.inner(), scope)
            }
            None => (level, scope),
        };
        let content = LocationContent::new(place, level, scope);
        // Behind an answer to every request, only what is written is read.
        let always = RuleCondition::Is(true);
        let is_answered = out.iter().any(|rule| rule.when.clone().simplify(self.tls) == always);
        if !is_answered || content.pass.is_some() {
            out.extend(self.content_rules(&content));
        }
        self.assigned = assigned;
        body_limit::limit_rules(&mut out, body_bytes, self.client_terms.body_bytes);
        out.into_iter().map(|rule| rule.with_condition(&place.when)).collect()
    }

    /// What counts in a location: its own directives, and those around it.
    pub fn location_scope(&self, place: &LocationBlock<'t>) -> DirectiveScope<'t> {
        let mut around = self.server_scope.clone();
        for outer in &place.outer {
            around = around.nested(outer.inner());
        }
        around.nested(place.directive.inner())
    }

    /// Denials and returns of a location, which precede forwarding.
    fn location_guards(
        &mut self,
        level: &[Directive],
        scope: &DirectiveScope<'_>,
    ) -> Vec<NginxRule> {
        // nginx asks this before anything else that the location says.
        if self.new_path.is_none()
            && let Some(rule) = access::internal(scope, self.notes)
        {
            return vec![rule];
        }
        if let Some(missing) = find_include(level) {
            return vec![refuse_all(missing)];
        }
        let mut out = self.phase_rules(level, RewritePhase::Location);
        if out.iter().any(|rule| rule.when == RuleCondition::Is(true)) {
            return out;
        }
        out.extend(access::location_rules(level, scope, self.sight, self.notes));
        out
    }

    /// Rules of a location that names no server.
    pub(super) fn rules_without_server(
        &mut self,
        content: &LocationContent<'_, '_>,
    ) -> Vec<NginxRule> {
        let source = content.place.directive.source;
        let text = content.place.directive.text();
        page_directives::note_unserved(source, &text, self.page_locations, self.notes);
        vec![NginxRule::single_key(RuleCondition::Is(true), "answer", "404", source, &text)]
    }
}
