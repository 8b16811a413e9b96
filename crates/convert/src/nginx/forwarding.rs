//! How nginx treats the requests that it forwards: times, retries and the buffering of bodies, with nginx's own values
//! where nothing is written.
//!
//! A pool and a service have what the level of the server says. What a location says otherwise stands in its rules.

use crate::duration;
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::value::{self, KeyValue};

use super::body_limit;
use super::scope::DirectiveScope;
use super::tree::Directive;

/// nginx's own value of most times, in milliseconds.
const MINUTE: u64 = 60_000;

/// The most retries that a pool may have.
const MAX_RETRIES: u32 = 10;

/// The longest time for a connection, in milliseconds: ten minutes.
const LONGEST_CONNECT: u64 = 600_000;

/// The longest other time of a pool, in milliseconds: seven days.
const LONGEST: u64 = 7 * 86_400_000;

/// Bytes of a body that are read ahead where nginx buffers it, on disk if need be.
const READ_AHEAD: &str = "1MiB";

/// What counts towards the servers of a location.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UpstreamTerms {
    /// `timeout` of a pool or a rule.
    pub timeout: Vec<KeyValue>,
    pub retries: u32,
    /// Statuses after which another server is asked.
    pub statuses: Vec<String>,
    pub on_timeout: bool,
    pub on_malformed: bool,
    /// Other failures are retried only if no server has the request: nginx does so without `error`.
    pub unsent_only: bool,
}

/// A switch of `retry`.
struct RetryFlag {
    key: &'static str,
    on: bool,
}

/// What counts towards the clients of a location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientTerms {
    /// The most bytes of a request's body; `None`: no limit.
    pub body_bytes: Option<u64>,
    /// Milliseconds between two bytes of a request's body.
    between_bytes: u64,
    /// Milliseconds in which an upgraded connection may be silent; `None`: there is none.
    tunnel: Option<u64>,
    buffers_requests: bool,
    buffers_responses: bool,
}

/// Where the settings are written, for the account of the source.
#[derive(Debug, Default)]
pub struct TermSources {
    pub timeout: Vec<SourcePlace>,
    pub retries: Vec<SourcePlace>,
    pub retry: Vec<SourcePlace>,
}

impl TermSources {
    /// Marks the directives of these settings as converted, because a rule has them.
    pub fn mark_written(&self, scheme: &str, scope: &DirectiveScope<'_>) {
        let prefix = directive_prefix(scheme);
        for name in
            ["connect_timeout", "read_timeout", "next_upstream_tries", "next_upstream_timeout"]
        {
            let directive = scope.get(&format!("{prefix}_{name}"));
            let places = self.timeout.iter().chain(&self.retries);
            let written = |one: &&Directive| places.clone().any(|place| *place == one.source);
            directive.filter(written).into_iter().for_each(Directive::mark_converted);
        }
    }
}

/// The prefix of the proxy directives for this scheme.
pub fn directive_prefix(scheme: &str) -> &'static str {
    if scheme.starts_with("grpc") { "grpc" } else { "proxy" }
}

/// The time of a directive in milliseconds, or this one where none is written.
fn time(
    scope: &DirectiveScope<'_>,
    name: &str,
    otherwise: u64,
    sources: &mut Vec<SourcePlace>,
) -> u64 {
    match scope.time(name) {
        Some(time) => {
            sources.push(time.source);
            time.ms.min(LONGEST)
        }
        None => otherwise,
    }
}

/// The time for reading from servers and for writing to them: here one counts for both, so that it is the longer one.
fn server_silence(scope: &DirectiveScope<'_>, prefix: &str, sources: &mut Vec<SourcePlace>) -> u64 {
    let names = [SERVERS.reading, SERVERS.writing].map(|name| format!("{prefix}{name}"));
    let times = names.map(|name| time(scope, &name, MINUTE, sources));
    times.into_iter().max().unwrap_or(MINUTE)
}

/// The same for clients. A time for bodies alone counts: it protects from clients that send slowly.
fn client_silence(scope: &DirectiveScope<'_>) -> u64 {
    let written = |name: &str| scope.time(name).map(|time| time.ms.min(LONGEST));
    match (written(CLIENTS.reading), written(CLIENTS.writing)) {
        (Some(reading), Some(writing)) => reading.max(writing),
        (Some(reading), None) => reading,
        (None, writing) => writing.unwrap_or(MINUTE).max(MINUTE),
    }
}

/// The two times of one peer, as the ends of their names.
#[derive(Clone, Copy)]
struct SilencePair {
    reading: &'static str,
    writing: &'static str,
}

const CLIENTS: SilencePair =
    SilencePair { reading: "client_body_timeout", writing: "send_timeout" };
const SERVERS: SilencePair = SilencePair { reading: "_read_timeout", writing: "_send_timeout" };

/// Reports times of one peer that differ, and settles those that do not.
pub fn note_silence(scope: &DirectiveScope<'_>, notes: &mut ConversionNotes) {
    for (pair, prefix) in [(CLIENTS, ""), (SERVERS, "proxy"), (SERVERS, "grpc")] {
        let names = [pair.reading, pair.writing].map(|name| format!("{prefix}{name}"));
        let mut places = Vec::new();
        let shown = names.clone().map(|name| time(scope, &name, MINUTE, &mut places));
        for directive in names.iter().filter_map(|name| scope.get(name)) {
            if shown.iter().any(|one| *one != shown[0]) {
                let reason = "one time counts for reading from a peer and for writing to it";
                let instead = "`timeout.between-bytes` of the service and of the pool";
                notes.changed(directive.source, &directive.text(), reason, instead);
            } else if scope.time(&directive.name).is_some() {
                directive.mark_converted();
            }
        }
    }
}

impl UpstreamTerms {
    /// The terms in this scope, and where they are written. `servers`: how many the upstream has.
    pub fn read(
        scheme: &str,
        servers: usize,
        scope: &DirectiveScope<'_>,
        sources: &mut TermSources,
    ) -> UpstreamTerms {
        let prefix = directive_prefix(scheme);
        let written = |name: &str| scope.get(&format!("{prefix}_{name}"));
        let mut read =
            |name: &str| time(scope, &format!("{prefix}_{name}"), MINUTE, &mut sources.timeout);
        let connect = read("connect_timeout").min(LONGEST_CONNECT);
        let first_byte = if scheme == "tcp" { 0 } else { read("read_timeout") };
        let silence = match scheme {
            "tcp" => 0,
            _ => server_silence(scope, prefix, &mut sources.timeout),
        };
        let next = written("next_upstream");
        let tries = written("next_upstream_tries");
        sources.retries.extend(tries.map(|one| one.source));
        let place = next.map(|one| one.source);
        match next.is_some_and(|one| one.peek(0) == "off") {
            true => sources.retries.extend(place),
            false => sources.retry.extend(place),
        }
        let words = next.map(|one| one.args());
        let tries = tries.and_then(|one| one.word(0).parse::<u32>().ok());
        let mut terms = UpstreamTerms::read_retries(servers, words, tries);
        let mut add = |key: &'static str, ms: u64| {
            terms.timeout.push(KeyValue::new(key, duration::format_duration(ms)));
        };
        add("connect", connect);
        if scheme == "tcp" {
            let timeout = terms.timeout;
            return UpstreamTerms { timeout, retries: terms.retries, ..UpstreamTerms::default() };
        }
        add("first-byte", first_byte);
        add("between-bytes", silence);
        add("stream", silence);
        // nginx gives each attempt its whole time, unless a limit is written.
        let all = (connect + first_byte).saturating_mul(u64::from(terms.retries) + 1).min(LONGEST);
        let all =
            time(scope, &format!("{prefix}_next_upstream_timeout"), all, &mut sources.timeout);
        if terms.retries > 0 {
            add("attempts", all);
        }
        terms
    }

    /// The retries of `next_upstream` and `next_upstream_tries`, without times.
    fn read_retries(servers: usize, words: Option<&[String]>, tries: Option<u32>) -> UpstreamTerms {
        let says = |word: &str, otherwise: bool| {
            words.map_or(otherwise, |words| words.iter().any(|one| one == word))
        };
        // Each server is asked once, and the number of tries is a further limit.
        let others = u32::try_from(servers).unwrap_or(u32::MAX).saturating_sub(1);
        let allowed = match tries {
            Some(tries) if tries > 0 => others.min(tries - 1),
            _ => others,
        };
        let statuses = words.unwrap_or_default().iter();
        UpstreamTerms {
            timeout: Vec::new(),
            retries: if says("off", false) { 0 } else { allowed.min(MAX_RETRIES) },
            statuses: statuses
                .filter_map(|word| word.strip_prefix("http_"))
                .map(str::to_owned)
                .collect(),
            on_timeout: says("timeout", true),
            on_malformed: says("invalid_header", false),
            unsent_only: !says("error", true),
        }
    }

    /// The switches of `retry`.
    fn retry_flags(&self) -> [RetryFlag; 3] {
        let flag = |key, on| RetryFlag { key, on: on && self.retries > 0 };
        [
            flag("on-timeout", self.on_timeout),
            flag("on-malformed", self.on_malformed),
            flag("unsent-only", self.unsent_only),
        ]
    }

    /// The value of the pool's `retry`, if it needs one. Statuses stand in the rules, so that another location of the same
    /// upstream can be without them.
    pub fn pool_retry(&self) -> Option<String> {
        let pairs = self.retry_keys();
        (!pairs.is_empty()).then(|| value::table(&pairs))
    }

    /// The same where servers for backup are asked within a request.
    pub fn pool_retry_with_backup(&self) -> String {
        let mut pairs = self.retry_keys();
        pairs.push(KeyValue::new("backup", "true"));
        value::table(&pairs)
    }

    fn retry_keys(&self) -> Vec<KeyValue> {
        let written = self.retry_flags().into_iter().filter(|flag| flag.on);
        written.map(|flag| KeyValue::new(flag.key, "true")).collect()
    }

    /// What a rule says otherwise than its pool.
    pub fn rule_keys(&self, pool: &UpstreamTerms) -> RuleTerms {
        let differs = |one: &&KeyValue| !pool.timeout.contains(one);
        let timeout = self.timeout.iter().filter(differs).cloned().collect();
        let mut keys = Vec::new();
        if self.retries != pool.retries {
            keys.push(KeyValue::new("retries", self.retries.to_string()));
        }
        let mut retry = Vec::new();
        if self.retries > 0 {
            if !self.statuses.is_empty() {
                retry.push(KeyValue::new("on", value::list(self.statuses.clone())));
            }
            let both = self.retry_flags().into_iter().zip(pool.retry_flags());
            let differing = both.filter(|(own, pool)| own.on != pool.on);
            retry.extend(differing.map(|(own, _)| KeyValue::new(own.key, own.on.to_string())));
        }
        if !retry.is_empty() {
            keys.push(KeyValue::new("retry", value::table(&retry)));
        }
        RuleTerms { timeout, keys }
    }
}

/// What a rule says otherwise than its pool and its service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuleTerms {
    timeout: Vec<KeyValue>,
    keys: Vec<KeyValue>,
}

impl RuleTerms {
    /// The keys of the rule.
    pub fn into_keys(self) -> Vec<KeyValue> {
        let RuleTerms { timeout, keys } = self;
        let timeout =
            (!timeout.is_empty()).then(|| KeyValue::new("timeout", value::table(&timeout)));
        timeout.into_iter().chain(keys).collect()
    }

    /// Adds what counts towards clients.
    pub fn with_client(mut self, own: &ClientTerms, service: &ClientTerms) -> RuleTerms {
        let mut add = |key: &'static str, ms: u64| {
            self.timeout.push(KeyValue::new(key, duration::format_duration(ms)));
        };
        if own.between_bytes != service.between_bytes {
            add("client-between-bytes", own.between_bytes);
        }
        if let Some(tunnel) = own.tunnel.filter(|_| own.tunnel != service.tunnel) {
            add("tunnel", tunnel);
        }
        let switches = [
            ("request", own.buffers_requests, service.buffers_requests),
            ("response", own.buffers_responses, service.buffers_responses),
        ];
        let differing = switches.into_iter().filter(|(_, own, service)| own != service);
        let buffer: Vec<KeyValue> =
            differing.map(|(key, own, _)| KeyValue::new(key, read_ahead(own))).collect();
        if !buffer.is_empty() {
            self.keys.push(KeyValue::new("buffer", value::table(&buffer)));
        }
        self
    }
}

fn read_ahead(on: bool) -> String {
    value::quote(if on { READ_AHEAD } else { "off" })
}

impl ClientTerms {
    /// The terms in this scope. `scheme`: how the location speaks to its servers; requests of gRPC are not buffered.
    pub fn read(scheme: &str, scope: &DirectiveScope<'_>) -> ClientTerms {
        let mut sources = Vec::new();
        let grpc = scheme.starts_with("grpc");
        let read = format!("{}_read_timeout", directive_prefix(scheme));
        let switch = |name: &str| {
            let directive = scope.get(name).filter(|_| !grpc);
            directive.inspect(|one| one.mark_converted()).is_none_or(|one| one.word(0) != "off")
        };
        ClientTerms {
            body_bytes: body_limit::read(scope),
            between_bytes: client_silence(scope),
            tunnel: (!grpc).then(|| time(scope, &read, MINUTE, &mut sources)),
            buffers_requests: !grpc && switch("proxy_request_buffering"),
            buffers_responses: !grpc && switch("proxy_buffering"),
        }
    }

    /// `timeout.between-bytes` of the service.
    pub fn between_bytes(&self) -> String {
        duration::format_duration(self.between_bytes)
    }

    /// `timeout.tunnel` of the service.
    pub fn tunnel_timeout(&self) -> Option<String> {
        self.tunnel.map(duration::format_duration)
    }

    /// The value of the service's `buffer`, if it needs one.
    pub fn service_buffer(&self) -> Option<String> {
        let switches = [("request", self.buffers_requests), ("response", self.buffers_responses)];
        let on = switches.into_iter().filter(|(_, on)| *on);
        let pairs: Vec<KeyValue> =
            on.map(|(key, _)| KeyValue::new(key, read_ahead(true))).collect();
        (!pairs.is_empty()).then(|| value::table(&pairs))
    }
}
