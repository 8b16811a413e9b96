//! Rules that forward: `ProxyPass`, its way back, and the fields that go to servers.

use crate::condition::RuleCondition;
use crate::nginx::path_text::encode_path;
use crate::site_rule::SiteRule;
use crate::statement::ConfigStatement;
use crate::value::{self, KeyValue};

use super::balancer::{ForwardTarget, balancer_name};
use super::fields::{self, FieldEdits};
use super::host::{ForwardRule, HostWriter};
use super::proxy_url::ProxyPassUrl;
use super::redirect;
use super::scope::SectionPath;

impl HostWriter<'_, '_> {
    /// The rule of a `RewriteRule` that forwards to `url`.
    pub fn rewritten_proxy(
        &mut self,
        url: &str,
        when: RuleCondition,
        from: &ConfigStatement,
    ) -> ForwardRule {
        let bare = url.strip_suffix("{query}").unwrap_or(url);
        let cut = bare.find('{').unwrap_or(bare.len());
        let end = bare.find("://").map_or(0, |at| at + 3);
        // Everything behind the host is the path.
        let host_end = bare[end..].find('/').map_or(cut, |at| (end + at).min(cut));
        let target = self.read_target(&bare[..host_end]);
        let mut fields = self.server_fields();
        let path = &bare[host_end..];
        let before = target.as_ref().map_or("", |target| target.path.as_str());
        if !before.is_empty() || !path.is_empty() && path != "{path}" && path != "/{path}" {
            let path = path.replace("/{path}", "{path}");
            fields.edits.set_key("path", value::quote(&format!("{before}{path}")));
        }
        let rule = self.forward(target, &[], when, from, &mut fields);
        let path = SectionPath { when: RuleCondition::Is(true), prefix: None, is_folder: false };
        ForwardRule { path, rule, fields, is_forwarded: true }
    }

    /// The rule of a `ProxyPass`. `words`: its URL and parameters.
    pub fn proxy_pass(
        &mut self,
        one: &ConfigStatement,
        path: SectionPath,
        words: &[String],
    ) -> Vec<ForwardRule> {
        one.settle_converted(self.notes);
        let url = words.first().map_or("", String::as_str);
        if url == "!" {
            return self.unforwarded(one, &path);
        }
        let mut out = self.exact_path(one, &path, words);
        let mut fields = self.server_fields();
        let is_match = one.name == "proxypassmatch" && path.prefix.is_none();
        let bare = if is_match { url.split('$').next().unwrap_or(url) } else { url };
        let target = self.read_target(bare);
        if let Some(target) = &target {
            let to = target.path.trim_end_matches('/');
            match (&path.prefix, is_match && url.contains('$')) {
                (_, true) => {
                    let at = url.len() - bare.len();
                    let rest = &url[url.len() - at..];
                    let mut whole = format!("{}{rest}", target.path);
                    for digit in 1..=9 {
                        whole = whole.replace(&format!("${digit}"), &format!("{{{digit}}}"));
                    }
                    let whole = if whole.starts_with('/') { whole } else { format!("/{whole}") };
                    let whole = whole.replace("//", "/");
                    let same = matches!(one.word(0), "^(/.*)$" | "^/(.*)$" | "^(.*)$");
                    if !same || whole.replace("/{1}", "").len() > 1 {
                        fields.edits.set_key("path", value::quote(&whole));
                    }
                }
                // What follows the slash stands right behind the path of the URL.
                (Some(_), false)
                    if path.is_folder && !target.path.is_empty() && !target.path.ends_with('/') =>
                {
                    fields.edits.set_key("path", value::quote(&format!("{}{{rest}}", target.path)));
                }
                (Some(prefix), false) if prefix != to => {
                    if !prefix.is_empty() {
                        fields.edits.set_key("strip", value::quote(&encode_path(prefix)));
                    }
                    if !to.is_empty() {
                        fields.edits.set_key("prefix", value::quote(to));
                    }
                }
                (None, false) if !to.is_empty() => {
                    fields.edits.set_key("prefix", value::quote(to));
                }
                _ => {}
            }
        }
        let parameters = words.get(1..).unwrap_or(&[]);
        let rule = self.forward(target, parameters, path.when.clone(), one, &mut fields);
        out.push(ForwardRule { path, rule, fields, is_forwarded: true });
        out
    }

    /// A URL, with the path of a balancer's members before its own. `None`: it cannot be forwarded to.
    fn read_target(&self, url: &str) -> Option<ProxyPassUrl> {
        let target = ProxyPassUrl::read(url)?;
        if target.scheme != "balancer" {
            return Some(target);
        }
        let before = self.pools.member_path(&target.authority, &self.scope)?;
        Some(ProxyPassUrl { path: format!("{before}{}", target.path), ..target })
    }

    /// The rule for exactly the path of a `ProxyPass`, where the URL has another path without a slash at its end: no slash
    /// comes behind it then.
    fn exact_path(
        &mut self,
        one: &ConfigStatement,
        path: &SectionPath,
        words: &[String],
    ) -> Vec<ForwardRule> {
        let target = words.first().and_then(|url| self.read_target(url));
        let prefix = path.prefix.as_deref().filter(|prefix| !prefix.is_empty() && !path.is_folder);
        let (Some(target), Some(prefix)) = (target, prefix) else { return Vec::new() };
        if target.path.is_empty() || target.path.ends_with('/') || target.path == prefix {
            return Vec::new();
        }
        let mut fields = self.server_fields();
        fields.edits.set_key("path", value::quote(&target.path));
        let when = RuleCondition::texts("path", &[encode_path(prefix)]);
        let exact = SectionPath { when: when.clone(), ..path.clone() };
        let rest = words.get(1..).unwrap_or(&[]);
        let rule = self.forward(Some(target), rest, when, one, &mut fields);
        vec![ForwardRule { path: exact, rule, fields, is_forwarded: true }]
    }

    /// `ProxyPass PATH !`: redirects of the server apply to the path, and the rest is files.
    fn unforwarded(&mut self, one: &ConfigStatement, path: &SectionPath) -> Vec<ForwardRule> {
        let mut fields = FieldEdits::default();
        fields::apply(&self.scope.all(&["header"]), &mut fields, self.notes);
        let mut rules = Vec::new();
        for redirect in self.scope.own_first(&redirect::NAMES) {
            rules.extend(redirect::rules(redirect, self.notes));
        }
        let mut rules: Vec<SiteRule> =
            rules.into_iter().map(|rule| rule.with_condition(&path.when)).collect();
        rules.push(SiteRule::answer(path.when.clone(), 404, one.source, &one.text()));
        let reason = "files are not served: what is neither forwarded nor redirected answers 404";
        one.note_changed(reason, "", self.notes);
        let forward = |rule: SiteRule| {
            let fields = fields.clone();
            ForwardRule { path: path.clone(), rule, fields, is_forwarded: false }
        };
        rules.into_iter().map(forward).collect()
    }

    fn forward(
        &mut self,
        target: Option<ProxyPassUrl>,
        parameters: &[String],
        when: RuleCondition,
        from: &ConfigStatement,
        fields: &mut FieldEdits,
    ) -> SiteRule {
        let source = from.source;
        let scope = self.scope;
        let Some(url) = target else {
            let reason =
                "the protocol is not spoken, or the server is not known before the request: 502";
            from.leave_out(reason, "a server that speaks HTTP", self.notes);
            return SiteRule::answer(when, 502, source, &from.text());
        };
        let found = self.pools.target(&url, from, parameters, &scope, self.notes);
        let Some(pool) = &found.pool else {
            from.leave_out(
                "servers cannot be spoken to in this way: 502",
                "`tls` of a pool",
                self.notes,
            );
            return SiteRule::answer(when, 502, source, &from.text());
        };
        self.forwarding_fields(&found, from, fields);
        let keys = vec![KeyValue::new("pool", value::quote(pool))];
        SiteRule { when, keys, source, text: from.text() }
    }

    /// Fields that the server sets for everything that it forwards.
    fn server_fields(&mut self) -> FieldEdits {
        let mut fields = FieldEdits::default();
        if self.scope.word("proxyaddheaders", self.notes).as_deref() != Some("off") {
            fields.edits.set_field("X-Forwarded-For", "{client-chain}");
            fields.edits.set_field("X-Forwarded-Host", "{host}");
            let name = if self.server_name.is_empty() { "{host-name}" } else { self.server_name };
            fields.edits.set_field("X-Forwarded-Server", name);
        }
        fields
    }

    /// The Host for the servers, and the way back for their Locations and cookies.
    fn forwarding_fields(
        &mut self,
        target: &ForwardTarget,
        from: &ConfigStatement,
        fields: &mut FieldEdits,
    ) {
        let own = self.section.and_then(|section| section.find("proxypreservehost"));
        let preserves = match own {
            Some(own) => {
                own.words_from(0);
                own.settle_converted(self.notes);
                own.peek(0).eq_ignore_ascii_case("on")
            }
            None => self.scope.word("proxypreservehost", self.notes).as_deref() == Some("on"),
        };
        if !preserves {
            match &target.host {
                Some(host) => fields.edits.set_key("host", value::quote(host)),
                None => {
                    let reason = "each server is asked for its own name: here servers are asked for the client's";
                    from.note_changed(
                        reason,
                        "`ProxyPreserveHost On`, or `rewrite.host`",
                        self.notes,
                    );
                }
            }
        }
        let scope = self.scope;
        for section in scope.all(&["location"]) {
            let path = section.peek(0).to_owned();
            for one in section.inner() {
                self.way_back(one, Some(&path), target, fields);
            }
        }
        for one in scope.all(&[
            "proxypassreverse",
            "proxypassreversecookiedomain",
            "proxypassreversecookiepath",
        ]) {
            self.way_back(one, None, target, fields);
        }
        let own = scope.all(&["header", "requestheader"]);
        fields::apply(&own, fields, self.notes);
        for one in scope.all(&["proxy", "proxymatch"]) {
            let is_every = one.name == "proxy" && one.peek(0) == "*";
            let inner: Vec<&ConfigStatement> = one.inner().iter().collect();
            match is_every {
                true => fields::apply(&inner, fields, self.notes),
                false => fields::remove_conditional(one, false, fields, self.notes),
            }
        }
        const SECTIONS: [&str; 7] =
            ["if", "elseif", "else", "limit", "limitexcept", "location", "locationmatch"];
        for one in scope.all(&SECTIONS) {
            fields::remove_conditional(one, one.name.contains("location"), fields, self.notes);
        }
    }

    fn way_back(
        &mut self,
        one: &ConfigStatement,
        section: Option<&str>,
        target: &ForwardTarget,
        fields: &mut FieldEdits,
    ) {
        let pair = |from: &str, to: &str| {
            value::table(&[
                KeyValue::new("from", value::quote(from)),
                KeyValue::new("to", value::quote(to)),
            ])
        };
        match one.name.as_str() {
            "proxypassreverse" => {
                let in_section = section.filter(|_| one.count() == 1);
                let path = in_section.unwrap_or(one.word(0)).to_owned();
                let url = one.word(usize::from(in_section.is_none())).to_owned();
                one.settle_converted(self.notes);
                let rest = balancer_name(&url).map(|name| {
                    url[("balancer://".len() + name.len()).min(url.len())..].to_owned()
                });
                let froms: Vec<String> = match rest {
                    Some(rest) => target.servers.iter().map(|one| format!("{one}{rest}")).collect(),
                    None => vec![url],
                };
                for from in froms.iter().filter(|from| !from.contains("$") && !from.is_empty()) {
                    let to = format!("{{scheme}}://{{host}}{path}");
                    fields.edits.push_item("location", pair(from, &to));
                }
            }
            "proxypassreversecookiedomain" => {
                fields.edits.push_item("cookie-domain", pair(one.word(0), one.word(1)));
                one.settle_converted(self.notes);
            }
            "proxypassreversecookiepath" => {
                fields.edits.push_item("cookie-path", pair(one.word(0), one.word(1)));
                one.settle_converted(self.notes);
            }
            _ => {}
        }
    }
}
