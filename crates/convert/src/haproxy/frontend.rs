//! A frontend as one service, or as two where it listens with TLS and without.

use std::collections::BTreeMap;

use crate::condition::Cond;
use crate::document::{Document, Table};
use crate::names::Names;
use crate::notes::Notes;
use crate::{nowhere, span, value};

use super::acl::{self, Acls};
use super::bind::{self, Bind};
use super::compress;
use super::lex::Line;
use super::pools::Pools;
use super::section::{Kind, Section};
use super::settings::Settings;
use super::steps::{self, Ending, Fields, Steps};
use super::sticky;

/// A frontend, and what it refers to.
pub struct Frontend<'a> {
    /// Its section.
    pub section: &'a Section,
    /// Its settings.
    pub settings: &'a Settings,
    /// All backends.
    pub pools: &'a Pools,
    /// Where certificates are.
    pub base: &'a str,
}

/// Networks that nobody is outside of.
const EVERYBODY: &str = "[\"0.0.0.0/0\", \"::/0\"]";

/// A rule, before it is known whether its listener speaks TLS.
struct Rule {
    when: Cond,
    keys: Vec<(&'static str, String)>,
    line: u32,
    text: String,
}

impl Rule {
    fn ending(when: Cond, ending: &Ending) -> Rule {
        let keys = vec![(ending.key, ending.value.clone())];
        Rule {
            when: when.and(ending.when.clone()),
            keys,
            line: ending.line,
            text: ending.text.clone(),
        }
    }
}

impl Frontend<'_> {
    /// Writes its services. `ports`: where each backend's clients connect.
    pub fn write(
        &mut self,
        document: &mut Document,
        names: &mut Names,
        ports: &mut BTreeMap<String, Vec<u16>>,
        notes: &mut Notes,
    ) {
        let (section, settings) = (self.section, self.settings);
        if settings.disabled {
            return notes.left(section.line, &section.word, "it is disabled", "");
        }
        if let Some(mode) = &settings.odd_mode {
            return notes.left(
                mode.number,
                &mode.text(),
                "only requests and bytes are forwarded",
                "`forward = \"http\"` or \"tcp\"",
            );
        }
        if settings.binds.is_empty() {
            return notes.left(
                section.line,
                &section.word,
                "it listens nowhere",
                "`listen` in a service",
            );
        }
        let only_statistics = section.kind == Kind::Listen
            && settings.servers.is_empty()
            && settings.uses.is_empty()
            && settings.steps.is_empty()
            && !settings.single.contains_key("default_backend");
        if only_statistics {
            return notes.left(
                section.line,
                &section.word,
                "it has no servers",
                "`steelyard status`, `steelyard top` and `[global] metrics`",
            );
        }
        let binds: Vec<Bind> =
            settings.binds.iter().filter_map(|line| bind::read(line, self.base, notes)).collect();
        let used = self.used();
        for backend in &used {
            let known = ports.entry(backend.clone()).or_default();
            known.extend(binds.iter().flat_map(|bind| bind.ports.iter().copied()));
        }
        let rules = self.rules(notes);
        for (tls, header) in [(false, false), (true, false), (false, true), (true, true)] {
            let alike = |bind: &&Bind| (bind.tls, bind.header) == (tls, header);
            let binds: Vec<&Bind> = binds.iter().filter(alike).collect();
            if binds.is_empty() {
                continue;
            }
            let base = if section.name.is_empty() { "service" } else { section.name.as_str() };
            let both = tls
                && settings.binds.iter().any(|line| !line.words.iter().any(|word| word == "ssl"));
            let name = names.give(&if both { format!("{base}-tls") } else { base.to_owned() });
            self.service(&name, &binds, &used, document, notes);
            rules_of(&name, &rules, tls, document);
        }
    }

    /// Backends that it sends to, the default one first.
    fn used(&self) -> Vec<String> {
        let mut used: Vec<String> = self.default().into_iter().map(|(name, _)| name).collect();
        for line in &self.settings.uses {
            if !used.iter().any(|known| known == line.word(1)) {
                used.push(line.word(1).to_owned());
            }
        }
        used.retain(|name| self.pools.written(name).is_some() && !self.empty(name));
        used
    }

    /// A backend without servers: HAProxy answers what goes there with 503.
    fn empty(&self, name: &str) -> bool {
        self.pools.settings(name).is_some_and(|settings| settings.servers.is_empty())
    }

    fn refused(&self) -> (&'static str, String) {
        match self.settings.http {
            true => ("answer", "503".to_owned()),
            false => ("deny", "true".to_owned()),
        }
    }

    fn default(&self) -> Option<(String, u32)> {
        let named = self.settings.single.get("default_backend");
        let own = (self.section.kind == Kind::Listen && !self.settings.servers.is_empty())
            .then(|| (self.section.name.clone(), self.section.line));
        named.map(|line| (line.word(1).to_owned(), line.number)).or(own)
    }

    fn rules(&self, notes: &mut Notes) -> Vec<Rule> {
        let settings = self.settings;
        let acls = Acls::read(&settings.acls, self.pools, notes);
        let own = steps::read(&settings.steps, settings.http, &acls, self.pools, notes);
        let mut rules = Vec::new();
        if let Some(line) = settings.single.get("monitor-uri").filter(|_| settings.http) {
            let when = Cond::texts("path", &[line.word(1)]);
            rules.push(Rule {
                when,
                keys: vec![("answer", "200".to_owned())],
                line: line.number,
                text: line.text(),
            });
        }
        rules.extend(own.endings.iter().map(|ending| Rule::ending(Cond::Is(true), ending)));
        for line in &settings.uses {
            acl::tell_case(line, notes);
            let Some(pool) = self.pools.written(line.word(1)) else {
                let instead = "one rule for each pool";
                notes.left(
                    line.number,
                    &line.text(),
                    "the backend's name is not known before a request comes",
                    instead,
                );
                continue;
            };
            match acls.condition(line.rest(2), self.pools) {
                Ok(when) => {
                    let steps = self.inner(line.word(1), notes);
                    rules.extend(
                        steps.endings.iter().map(|ending| Rule::ending(when.clone(), ending)),
                    );
                    let mut keys = vec![("pool", value::text(pool))];
                    keys.extend(self.fields(&own.fields, &steps.fields));
                    if self.empty(line.word(1)) {
                        keys = vec![self.refused()];
                    }
                    rules.push(Rule { when, keys, line: line.number, text: line.text() });
                }
                Err(why) => notes.why(line.number, &line.text(), &why),
            }
        }
        self.last(&own, &mut rules, notes);
        rules
    }

    /// What becomes of the rest.
    fn last(&self, own: &Steps, rules: &mut Vec<Rule>, notes: &mut Notes) {
        let taken = |name: &str| self.pools.written(name).is_some() && !self.empty(name);
        let default = self.default().filter(|(name, _)| taken(name));
        let Some((name, line)) = default else {
            let refused = self.refused();
            let text = "no default_backend with servers: what no rule took is refused".to_owned();
            rules.push(Rule {
                when: Cond::Is(true),
                keys: vec![refused],
                line: self.section.line,
                text,
            });
            return;
        };
        let steps = self.inner(&name, notes);
        rules.extend(steps.endings.iter().map(|ending| Rule::ending(Cond::Is(true), ending)));
        if let Some(fields) = self.fields(&own.fields, &steps.fields) {
            let pool = value::text(self.pools.written(&name).unwrap_or_default());
            let text = format!("default_backend {name}");
            rules.push(Rule {
                when: Cond::Is(true),
                keys: vec![("pool", pool), fields],
                line,
                text,
            });
        }
    }

    /// What a backend does with its requests; nothing where it is this section itself.
    fn inner(&self, name: &str, notes: &mut Notes) -> Steps {
        let itself = self.section.kind == Kind::Listen && self.section.name == name;
        match self.pools.settings(name).filter(|_| !itself) {
            Some(settings) => {
                let acls = Acls::read(&settings.acls, self.pools, notes);
                steps::read(&settings.steps, self.settings.http, &acls, self.pools, notes)
            }
            None => Steps::default(),
        }
    }

    fn fields(&self, own: &Fields, inner: &Fields) -> Option<(&'static str, String)> {
        let written = inner.written(own).filter(|_| self.settings.http);
        written.map(|written| ("rewrite", written))
    }

    fn service(
        &self,
        name: &str,
        binds: &[&Bind],
        used: &[String],
        document: &mut Document,
        notes: &mut Notes,
    ) {
        let (section, settings) = (self.section, self.settings);
        let path = format!("service.{name}");
        let mut service = Table::new(path.clone(), section.line, &section.word);
        for bind in binds {
            for listen in &bind.listen {
                service.item("listen", listen.clone(), bind.line);
            }
        }
        service.set("forward", value::text(if settings.http { "http" } else { "tcp" }), 0);
        let pool = used.first().and_then(|name| self.pools.written(name)).unwrap_or(nowhere::NAME);
        service.set("pool", value::text(pool), self.default().map_or(0, |(_, line)| line));
        if settings.http {
            let mode = value::text(self.forwarded(used));
            service.set(
                "forwarded",
                value::table(&[("x-forwarded", mode), ("via", "false".to_owned())]),
                0,
            );
        }
        if let Some(line) = settings.single.get("maxconn") {
            service.set(
                "limit",
                value::table(&[("connections", line.word(1).to_owned())]),
                line.number,
            );
        }
        let socket: Vec<(&str, String)> =
            binds.iter().flat_map(|bind| bind.socket.clone()).collect();
        if binds.iter().any(|bind| bind.header) {
            service.must(
                "accept-proxy",
                value::table(&[("from", EVERYBODY.to_owned())]),
                binds[0].line,
            );
        }
        if !socket.is_empty() {
            service.set("socket", value::table(&socket), binds[0].line);
        }
        compress::write(&mut service, settings, used, self.pools, notes);
        sticky::write(&mut service, settings, used, self.pools, notes);
        if let Some(offer) = binds.iter().find_map(|bind| bind.http2).filter(|_| settings.http) {
            service.set("http2", value::text(offer), binds[0].line);
        }
        document.push(service);
        self.times(&path, used, document);
        tls(&path, binds, document, notes);
        if pool == nowhere::NAME {
            nowhere::ensure(document);
        }
    }

    /// What servers are told of the client, as `option forwardfor` or fields of that name say.
    fn forwarded(&self, used: &[String]) -> &'static str {
        let backends = used.iter().filter_map(|name| self.pools.settings(name));
        let all: Vec<&Settings> = std::iter::once(self.settings).chain(backends).collect();
        let steps = || all.iter().flat_map(|one| &one.steps);
        let written = |line: &Line, action: &str, field: &str| {
            line.word(1) == action && line.word(2).eq_ignore_ascii_case(field)
        };
        let appends = |line: &Line| {
            written(line, "add-header", "x-forwarded-for")
                || written(line, "set-header", "x-forwarded-proto")
                || written(line, "add-header", "x-forwarded-proto")
        };
        if steps().any(|line| written(line, "set-header", "x-forwarded-for")) {
            "replace"
        } else if all.iter().any(|one| one.options.contains_key("forwardfor"))
            || steps().any(appends)
        {
            "append"
        } else {
            "keep"
        }
    }

    fn times(&self, path: &str, used: &[String], document: &mut Document) {
        let settings = self.settings;
        let mut times = Table::new(format!("{path}.timeout"), 0, "");
        let mut set = |key: &'static str, time: Option<(u64, u32)>| {
            if let Some((ms, line)) = time {
                times.set(key, span::written(ms), line);
            }
        };
        let client = settings.time("client");
        if settings.http {
            let header = settings.time("http-request");
            set("header", header);
            set("idle", settings.time("http-keep-alive").or(header).or(client));
            set("between-bytes", client);
            set("tunnel", settings.time("tunnel"));
        } else {
            let server = used
                .first()
                .and_then(|name| self.pools.settings(name))
                .and_then(|pool| pool.time("server"));
            let shorter = client.into_iter().chain(server).min();
            set("tunnel", settings.time("tunnel").or(shorter));
        }
        if !times.entries.is_empty() {
            document.push(times);
        }
    }
}

fn tls(path: &str, binds: &[&Bind], document: &mut Document, notes: &mut Notes) {
    let Some(first) = binds.iter().find(|bind| bind.tls) else { return };
    let mut tls = Table::new(format!("{path}.tls"), first.line, "bind … ssl");
    let mut files: Vec<String> = Vec::new();
    for file in binds.iter().flat_map(|bind| bind.certificates.iter()) {
        if !files.contains(file) {
            files.push(file.clone());
        }
    }
    tls.must("certificates", value::texts(&files), first.line);
    if let Some(minimum) = binds.iter().find_map(|bind| bind.minimum) {
        tls.must("minimum", value::text(minimum), first.line);
    }
    if let Some(client) = binds.iter().find_map(|bind| bind.client.as_ref()) {
        let verify = value::text(if client.optional { "optional" } else { "required" });
        let mut pairs = vec![("ca", value::text(&client.ca)), ("verify", verify)];
        pairs.extend(client.crl.as_ref().map(|crl| ("crl", value::text(crl))));
        tls.must("client", value::table(&pairs), first.line);
    }
    if binds.iter().any(|bind| bind.client != first.client) {
        let reason = "clients' certificates are asked for on all addresses of a service or on none";
        notes.changed(first.line, "bind … ssl", reason, "services of their own");
    }
    document.push(tls);
}

fn rules_of(name: &str, rules: &[Rule], tls: bool, document: &mut Document) {
    for rule in rules {
        let when = rule.when.clone().settled(tls);
        if when == Cond::Is(false) {
            continue;
        }
        let mut table = Table::one_of(format!("service.{name}.rule"), rule.line, &rule.text);
        if let Some(when) = when.when() {
            table.set("when", when, 0);
        }
        for (key, value) in &rule.keys {
            table.set(key, value.clone(), 0);
        }
        document.push(table);
    }
}
