//! What a server or a location does with a request, as rules.

use crate::condition::{RuleCondition, whole_path};
use crate::notes::ConversionNotes;
use crate::value;

use super::access;
use super::compression;
use super::directives;
use super::expressions::{if_condition, if_words, pass_target};
use super::fields::fields;
use super::location::LocationBlock;
use super::pools::{PoolUse, UpstreamPools};
use super::rate_limit;
use super::rule::NginxRule;
use super::scope::DirectiveScope;
use super::tree::Directive;
use super::variables::template;

/// What rules of one service refer to.
pub struct ContentWriter<'c, 't> {
    /// The service speaks TLS.
    pub tls: bool,
    /// The server's first name.
    pub name: Option<&'c str>,
    pub upstreams: &'c [&'t Directive],
    pub zones: &'c [&'t Directive],
    pub pools: &'c mut UpstreamPools,
    pub notes: &'c mut ConversionNotes,
}

/// Directives that are read here, by `vhost`, by `pools` or by `tls`.
const READ: [&str; 56] = [
    "auth_request",
    "auth_jwt",
    "secure_link",
    "internal",
    "limit_except",
    "ssl_reject_handshake",
    "ssl_trusted_certificate",
    "location",
    "listen",
    "server_name",
    "return",
    "rewrite",
    "if",
    "proxy_pass",
    "grpc_pass",
    "allow",
    "deny",
    "auth_basic",
    "auth_basic_user_file",
    "proxy_set_header",
    "grpc_set_header",
    "add_header",
    "proxy_hide_header",
    "proxy_connect_timeout",
    "proxy_read_timeout",
    "grpc_connect_timeout",
    "grpc_read_timeout",
    "proxy_next_upstream",
    "proxy_next_upstream_tries",
    "proxy_ssl_verify",
    "proxy_ssl_trusted_certificate",
    "proxy_ssl_name",
    "proxy_ssl_crl",
    "ssl_certificate",
    "ssl_certificate_key",
    "ssl_protocols",
    "ssl_client_certificate",
    "ssl_verify_client",
    "ssl_crl",
    "client_header_timeout",
    "client_body_timeout",
    "keepalive_timeout",
    "limit_req",
    "limit_req_zone",
    "http2",
    "upstream",
    "server",
    "proxy_timeout",
    "ssl_preread",
    "map",
    "grpc_ssl_verify",
    "grpc_ssl_trusted_certificate",
    "grpc_ssl_name",
    "grpc_ssl_crl",
    "proxy_ssl",
    "proxy_protocol",
];

/// Says what is not carried over at one level.
pub fn note_unsupported(level: &[Directive], notes: &mut ConversionNotes) {
    let believed =
        level.iter().any(|one| one.name == "real_ip_header" && one.word(0) == "proxy_protocol");
    for directive in level.iter().filter(|one| !READ.contains(&one.name.as_str())) {
        match directive.name.as_str() {
            "set_real_ip_from" | "real_ip_header" if believed => {}
            name if compression::READ.contains(&name) => {}
            _ => directives::note_directive(directive, notes),
        }
    }
}

impl ContentWriter<'_, '_> {
    /// What comes before any location: `return`, `rewrite` and `if` of a server, in their order.
    pub fn server_rules(&mut self, level: &[Directive]) -> Vec<NginxRule> {
        let mut out = Vec::new();
        for directive in level {
            let place = (directive.line, directive.text());
            match directive.name.as_str() {
                "return" => out.extend(self.return_action(directive).map(|(key, value)| {
                    NginxRule::single_key(RuleCondition::Is(true), key, value, (place.0, &place.1))
                })),
                "if" => out.extend(self.condition(directive)),
                "rewrite" => match self.redirect_rule(directive) {
                    Some(rule) => out.push(rule),
                    None => self.notes.left_out(
                        place.0,
                        &place.1,
                        "paths are changed by the rule that chooses the pool",
                        "`rewrite` in a rule with `path-regex`",
                    ),
                },
                _ => {}
            }
        }
        out
    }

    /// What a location comes to.
    pub fn location(
        &mut self,
        place: &LocationBlock<'_>,
        server: &DirectiveScope<'_>,
    ) -> Vec<NginxRule> {
        let level = place.directive.inner();
        let mut around = server.clone();
        for outer in &place.outer {
            around = around.nested(outer.inner());
        }
        let scope = around.nested(level);
        note_unsupported(level, self.notes);
        compression::note_location_overrides(level, self.notes);
        let mut out = self.location_guards(level, &scope);
        let limit = scope
            .all("limit_req")
            .iter()
            .find_map(|limit| rate_limit::rule_limit(self.zones, self.notes, limit));
        for mut rule in self.proxy_rules(place, level, &scope) {
            if rule.keys.iter().any(|(key, _)| *key == "pool") {
                rule.keys.extend(limit.clone().map(|limit| ("limit", limit)));
            }
            out.push(rule);
        }
        out.into_iter().map(|rule| rule.with_condition(&place.when)).collect()
    }

    /// Refusals and returns of a location.
    fn location_guards(
        &mut self,
        level: &[Directive],
        scope: &DirectiveScope<'_>,
    ) -> Vec<NginxRule> {
        let rewritten: Vec<Directive> = level
            .iter()
            .filter(|one| one.name != "rewrite" || self.is_redirect(one))
            .cloned()
            .collect();
        let mut out = self.server_rules(&rewritten);
        if out.iter().any(|rule| rule.when == RuleCondition::Is(true)) {
            return out;
        }
        if let Some(rule) = access::internal(level, self.notes) {
            out.push(rule);
            return out;
        }
        out.extend(access::rules(scope, self.notes));
        out.extend(access::other_methods(level, scope, self.notes));
        out
    }

    fn is_redirect(&self, directive: &Directive) -> bool {
        matches!(directive.word(2), "permanent" | "redirect")
            || directive.word(1).starts_with("http")
    }

    /// To servers, or nowhere.
    fn proxy_rules(
        &mut self,
        place: &LocationBlock<'_>,
        level: &[Directive],
        scope: &DirectiveScope<'_>,
    ) -> Vec<NginxRule> {
        let always = RuleCondition::Is(true);
        let pass = level.iter().find(|one| matches!(one.name.as_str(), "proxy_pass" | "grpc_pass"));
        let line = place.directive.line;
        let text = place.directive.text();
        let Some(pass) = pass else {
            if level.iter().any(|one| one.name == "return") || self.denies_everybody(scope) {
                return Vec::new();
            }
            self.notes.left_out(
                line,
                &text,
                "no server is named, and files are not served: 404",
                "a web server as a pool",
            );
            return vec![NginxRule::single_key(always, "answer", "404", (line, &text))];
        };
        let target = match pass_target(pass) {
            Ok(target) => target,
            Err(why) => {
                self.notes.left_out_because(pass.line, &pass.text(), &why);
                return vec![NginxRule::single_key(
                    always,
                    "answer",
                    "502",
                    (pass.line, &pass.text()),
                )];
            }
        };
        let used = PoolUse { scheme: target.scheme, target: target.host, line: pass.line };
        let pool = self.pools.pool_name(used, self.upstreams, scope, self.notes);
        let fields = fields(scope, target.host, self.notes);
        let rule = |when: RuleCondition, fields: &[(&'static str, String)]| NginxRule {
            when,
            keys: keys(&pool, fields),
            line: pass.line,
            text: pass.text(),
        };
        let with = |path: &str| [&[("path", value::quote(path))][..], fields.as_slice()].concat();
        if let Some((when, to)) = self.internal_rewrite(level) {
            // What the expression does not fit goes on as it is.
            return vec![rule(when, &with(&to)), rule(RuleCondition::Is(true), &fields)];
        }
        match (target.uri, place.prefix) {
            (None, _) => vec![rule(always, &fields)],
            (Some(uri), Some(prefix)) if prefix == uri => vec![rule(always, &fields)],
            (Some(uri), Some(prefix)) if !uri.contains(['{', '}', '?']) => {
                let when =
                    if prefix == "/" { RuleCondition::texts("path", &["/*"]) } else { always };
                vec![rule(when, &with(&format!("{uri}{{rest}}")))]
            }
            _ => {
                self.notes.left_out(
                    pass.line,
                    &pass.text(),
                    "the path is replaced only where the location is a prefix",
                    "`rewrite.path`",
                );
                vec![rule(always, &fields)]
            }
        }
    }

    /// `rewrite … break`: when, and the new path.
    fn internal_rewrite(&mut self, level: &[Directive]) -> Option<(RuleCondition, String)> {
        let rewrite = level.iter().find(|one| one.name == "rewrite" && one.word(2) == "break")?;
        let to = template(rewrite.word(1), self.tls, self.name).ok();
        // A query that is written would stand before the request's own.
        let Some(to) = to.filter(|to| !to.contains("{query}") && !to.contains('?')) else {
            self.notes.left_out(
                rewrite.line,
                &rewrite.text(),
                "the new path depends on variables, or has a query",
                "`rewrite.path`",
            );
            return None;
        };
        Some((RuleCondition::texts("path-regex", &[whole_path(rewrite.word(0), false)]), to))
    }

    /// Everybody is refused there.
    fn denies_everybody(&self, scope: &DirectiveScope<'_>) -> bool {
        scope
            .all_of(&["allow", "deny"])
            .first()
            .is_some_and(|one| one.name == "deny" && one.word(0) == "all")
    }

    fn return_action(&mut self, directive: &Directive) -> Option<(&'static str, String)> {
        let first = directive.word(0);
        let second = directive.args.get(1);
        let (status, text) = match first.parse::<u16>() {
            Ok(status) => (status, second.map(String::as_str)),
            Err(_) => (302, Some(first)),
        };
        if status == 444 {
            self.notes.changed(
                directive.line,
                &directive.text(),
                "the client is told 403, not nothing",
                "",
            );
            return Some(("deny", "true".to_owned()));
        }
        let filled = text.map(|text| template(text, self.tls, self.name));
        match (status, filled) {
            (301 | 302 | 303 | 307 | 308, Some(Ok(to))) => {
                let pairs = [("to", value::quote(&to)), ("status", status.to_string())];
                Some(("redirect", value::table(&pairs)))
            }
            (_, Some(Ok(body))) if !body.contains('{') => {
                let pairs = [("status", status.to_string()), ("body", value::quote(&body))];
                Some(("answer", value::table(&pairs)))
            }
            (_, None) => Some(("answer", status.to_string())),
            (_, Some(Err(what))) => {
                self.notes.left_out(
                    directive.line,
                    &directive.text(),
                    &format!("`{what}` has no place in an answer"),
                    "{host}, {path}, {query}, {1}",
                );
                None
            }
            _ => {
                self.notes.left_out(
                    directive.line,
                    &directive.text(),
                    "a fixed body has no variables",
                    "answer at the servers",
                );
                None
            }
        }
    }

    /// `if (…) { return …; }`.
    fn condition(&mut self, directive: &Directive) -> Vec<NginxRule> {
        let words = if_words(&directive.args);
        let only =
            directive.inner().iter().all(|one| matches!(one.name.as_str(), "return" | "rewrite"));
        match if_condition(&words).filter(|_| only) {
            Some(when) => self
                .server_rules(directive.inner())
                .into_iter()
                .map(|rule| rule.with_condition(&when))
                .collect(),
            None => self.unknown_condition(directive),
        }
    }

    /// An `if` that cannot be expressed: what it refuses is refused to all, the rest is left out.
    fn unknown_condition(&mut self, directive: &Directive) -> Vec<NginxRule> {
        let line = directive.line;
        let text = directive.text();
        let instead = "a rule with `when`";
        let refuses = directive.inner().iter().find(|one| {
            one.name == "return" && one.word(0).parse::<u16>().is_ok_and(|status| status >= 400)
        });
        let Some(refuses) = refuses else {
            let reason = "only comparisons of host, method, scheme, cookies and parameters with `return` in them";
            self.notes.left_out(line, &text, reason, instead);
            return Vec::new();
        };
        let reason = "the condition is not known here; so that nothing is open that was closed, all that could meet it is refused";
        self.notes.left_out(line, &text, reason, instead);
        let action = self.return_action(refuses).unwrap_or(("deny", "true".to_owned()));
        let (key, value) = action;
        vec![NginxRule::single_key(RuleCondition::Is(true), key, value, (line, &text))]
    }

    /// `rewrite FROM TO permanent`.
    fn redirect_rule(&mut self, directive: &Directive) -> Option<NginxRule> {
        let status = match directive.word(2) {
            "permanent" => "301",
            "redirect" => "302",
            _ if directive.word(1).starts_with("http") => "302",
            _ => return None,
        };
        let to = template(directive.word(1), self.tls, self.name).ok()?;
        // nginx keeps the query unless the new one ends in `?`.
        let to = match to.strip_suffix('?') {
            Some(without) => without.to_owned(),
            None if to.contains('?') || to.contains("{query}") => to,
            None => format!("{to}{{query}}"),
        };
        let pairs = [("to", value::quote(&to)), ("status", status.to_owned())];
        let when = RuleCondition::texts("path-regex", &[whole_path(directive.word(0), false)]);
        Some(NginxRule::single_key(
            when,
            "redirect",
            value::table(&pairs),
            (directive.line, &directive.text()),
        ))
    }
}

fn keys(pool: &str, fields: &[(&'static str, String)]) -> Vec<(&'static str, String)> {
    let mut keys = vec![("pool", value::quote(pool))];
    if !fields.is_empty() {
        keys.push(("rewrite", value::table(fields)));
    }
    keys
}
