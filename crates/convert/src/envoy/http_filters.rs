//! HTTP filters: what they refuse, answer and change, for all routes or for some.

use crate::condition::RuleCondition;
use crate::document::SourcedValue;
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::structured::node::ConfigNode;
use crate::value::{self, KeyValue};

use super::header_edits::HeaderEditList;
use super::rate_limit::{LimitOutcome, read_limit};
use super::rbac::read_rules;
use super::reader::{
    leave_out, note_changed, settle_inside, take_flag, take_number, take_text, take_texts,
    take_type,
};
use super::rule::EnvoyRule;
use super::strings::{extension_type, header_condition};

/// Filters that ask clients who they are.
const AUTHENTICATION: [&str; 5] =
    ["JwtAuthentication", "OAuth2", "BasicAuth", "ApiKeyAuth", "GcpAuthnFilterConfig"];
/// Filters that refuse nobody who is let in without them.
const PASSED_OVER: [&str; 22] = [
    "Cors",
    "cors",
    "GrpcWeb",
    "grpc_web",
    "GrpcJsonTranscoder",
    "grpc_stats",
    "GrpcHttp1Bridge",
    "Decompressor",
    "HTTPFault",
    "BandwidthLimit",
    "AdmissionControl",
    "AdaptiveConcurrency",
    "CacheConfig",
    "Tap",
    "OnDemand",
    "IPTagging",
    "StatefulSession",
    "AwsRequestSigning",
    "Geoip",
    "CdnLoopConfig",
    "header_to_metadata",
    "set_metadata",
];

/// A filter that refuses what it does not know to be allowed.
#[derive(Clone, Debug)]
struct ClosingFilter {
    name: String,
    status: u16,
    /// It is off unless a route says otherwise.
    is_off: bool,
}

/// What the HTTP filters of a connection manager do.
#[derive(Default)]
pub struct FilterEffects {
    closing: Vec<ClosingFilter>,
    /// Rules before all routes.
    pub rules: Vec<EnvoyRule>,
    /// The limit of requests, as a rule has it.
    limit: Option<SourcedValue>,
    pub edits: HeaderEditList,
    /// Keys of the service.
    pub service: Vec<ServiceEntry>,
    /// Routes with descriptors are limited by a service of its own.
    has_rate_limits: bool,
    names: Vec<String>,
}

/// A key of the service.
#[derive(Clone, Debug)]
pub struct ServiceEntry {
    pub key: &'static str,
    pub value: String,
    pub source: SourcePlace,
}

/// What filters do with one route.
#[derive(Clone, Debug, Default)]
pub struct RouteAccess {
    /// Requests are refused with this status.
    pub closed: Option<u16>,
    /// The value of `limit`.
    pub limit: Option<String>,
}

impl FilterEffects {
    pub fn read(
        filters: &[ConfigNode],
        hides_clients: bool,
        notes: &mut ConversionNotes,
    ) -> FilterEffects {
        let mut effects = FilterEffects::default();
        for filter in filters {
            effects.read_filter(filter, hides_clients, notes);
        }
        effects
    }

    fn read_filter(
        &mut self,
        filter: &ConfigNode,
        hides_clients: bool,
        notes: &mut ConversionNotes,
    ) {
        let name = take_text(filter, "name", notes).unwrap_or_default().to_owned();
        let is_off = take_flag(filter, "disabled", notes).unwrap_or(false);
        take_flag(filter, "is_optional", notes);
        let own = name.clone();
        let kind = extension_type(filter, notes).to_owned();
        self.names.push(name.clone());
        let config = filter.get("typed_config").unwrap_or(filter);
        let kind =
            if kind.is_empty() { name.rsplit('.').next().unwrap_or_default() } else { &kind };
        match kind {
            "Router" | "router" => {
                for field in config.unread_entries() {
                    field.mark_read();
                    notes.not_needed(
                        field.source.whole(),
                        field.describe(),
                        "it tunes Envoy's router",
                    );
                }
            }
            _ if is_off => self.close(filter, &name, 403, true, notes),
            "HealthCheck" | "health_check" => self.health_check(config, notes),
            "RBAC" | "rbac" => self.rules.extend(read_rules(config, hides_clients, notes)),
            "Compressor" => self.compress(config, notes),
            "Buffer" => self.buffer(config, notes),
            "HeaderMutation" => {
                if let Some(mutations) = config.get("mutations") {
                    self.edits = std::mem::take(&mut self.edits)
                        .then(&HeaderEditList::read_mutations(mutations, notes));
                }
            }
            "LocalRateLimit" => match read_limit(config, notes) {
                LimitOutcome::None => {}
                LimitOutcome::Written(limit) => {
                    self.limit = Some(SourcedValue { value: limit, source: config.source })
                }
                LimitOutcome::Unwritable => self.close(filter, &name, 429, false, notes),
            },
            "RateLimit" | "ratelimit" => {
                self.has_rate_limits = true;
                let reason = "no service of limits is asked: routes with `rate_limits` are refused";
                leave_out(filter, reason, "`limit` of rules", notes);
            }
            name if AUTHENTICATION.contains(&name) => self.close(filter, &own, 401, false, notes),
            name if PASSED_OVER.contains(&name) => {
                let reason = "there is no such filter: requests and answers pass without it";
                leave_out(filter, reason, "", notes);
            }
            // Scripts, programs and services may refuse, and so may what is not known.
            _ => self.close(filter, &name, 403, false, notes),
        }
    }

    fn close(
        &mut self,
        filter: &ConfigNode,
        name: &str,
        status: u16,
        is_off: bool,
        notes: &mut ConversionNotes,
    ) {
        if is_off {
            let reason = "it is off, and routes that switch it on are refused";
            notes.changed(filter.source.whole(), filter.describe(), reason, "");
            settle_inside(filter, notes);
        } else {
            let reason = format!(
                "what this filter lets through is not known here: requests are refused with {status}"
            );
            leave_out(
                filter,
                &reason,
                "rules with `deny` for others, or a proxy of its own in front",
                notes,
            );
        }
        self.closing.push(ClosingFilter { name: name.to_owned(), status, is_off });
    }

    /// Answers to health checks.
    fn health_check(&mut self, config: &ConfigNode, notes: &mut ConversionNotes) {
        let passes = take_flag(config, "pass_through_mode", notes).unwrap_or(false);
        let mut parts = Vec::new();
        for item in config.get("headers").map(ConfigNode::items).unwrap_or_default() {
            let is_path = item.text_of("name") == Some(":path");
            let exact = item.get("string_match").and_then(|one| one.text_of("exact"));
            match exact.or_else(|| item.text_of("exact_match")).filter(|_| is_path) {
                Some(path) => {
                    settle_inside(item, notes);
                    parts.push(RuleCondition::texts("path", &[path]));
                }
                None => parts.push(header_condition(item, notes)),
            }
        }
        for other in config.unread_entries() {
            leave_out(other, "the answer does not look at servers", "a rule with `servers`", notes);
        }
        let when = RuleCondition::All(parts);
        if passes || when.unknown().is_some() {
            leave_out(
                config,
                "checks of other balancers go to the servers",
                "a rule with `answer`",
                notes,
            );
            return;
        }
        self.rules.push(EnvoyRule {
            when,
            keys: vec![KeyValue::new("answer", "200")],
            source: config.source,
            text: "health_check".to_owned(),
        });
    }

    fn compress(&mut self, config: &ConfigNode, notes: &mut ConversionNotes) {
        let library = config.get("compressor_library");
        let coding = library.map(|library| {
            take_text(library, "name", notes);
            extension_type(library, notes)
        });
        let coding = match coding.unwrap_or_default() {
            "Gzip" => "gzip",
            "Brotli" => "br",
            "Zstd" => "zstd",
            _ => {
                leave_out(
                    config,
                    "answers are compressed by gzip, br or zstd",
                    "`compress`",
                    notes,
                );
                return;
            }
        };
        let mut pairs = vec![KeyValue::new("codings", value::quote(coding))];
        let direction = config.get("response_direction_config");
        let common = direction.and_then(|one| one.get("common_config")).unwrap_or(config);
        let min = take_number(common, "min_content_length", notes)
            .or_else(|| take_number(config, "content_length", notes))
            .unwrap_or(30);
        let types = take_texts(common, "content_type", notes);
        if !types.is_empty() {
            pairs.push(KeyValue::new("types", value::quote_all(&types)));
        }
        pairs.push(KeyValue::new("min", value::quote(&format!("{}B", min.max(1)))));
        let reason = "levels, windows and switches of compression are our own";
        for node in [Some(config), library, direction, Some(common)].into_iter().flatten() {
            for other in node.unread_entries() {
                note_changed(other, reason, "`compress` of the service", notes);
            }
        }
        for other in library
            .and_then(|one| one.get("typed_config"))
            .into_iter()
            .flat_map(ConfigNode::unread_entries)
        {
            note_changed(other, reason, "`compress` of the service", notes);
        }
        self.service.push(ServiceEntry {
            key: "compress",
            value: value::table(&pairs),
            source: config.source,
        });
    }

    fn buffer(&mut self, config: &ConfigNode, notes: &mut ConversionNotes) {
        let Some(bytes) = take_number(config, "max_request_bytes", notes) else { return };
        let pairs = [
            KeyValue::new("request", value::quote(&format!("{}B", bytes.max(1)))),
            KeyValue::new("beyond", value::quote("refuse")),
        ];
        self.service.push(ServiceEntry {
            key: "buffer",
            value: value::table(&pairs),
            source: config.source,
        });
    }

    /// What filters do with a route. `levels`: the route, its virtual host and its configuration, the nearest first.
    pub fn access(&self, levels: &[&ConfigNode], notes: &mut ConversionNotes) -> RouteAccess {
        let mut access = RouteAccess {
            closed: None,
            limit: self.limit.as_ref().map(|limit| limit.value.clone()),
        };
        let mut switches: Vec<FilterSwitch> = Vec::new();
        for level in levels {
            for entry in
                level.get("typed_per_filter_config").map(ConfigNode::entries).unwrap_or_default()
            {
                let switch = self.read_switch(entry, notes);
                if !switches.iter().any(|known| known.name == switch.name) {
                    if let Some(limit) = &switch.limit {
                        access.limit = Some(limit.clone());
                    }
                    switches.push(switch);
                }
            }
        }
        for filter in &self.closing {
            let switch = switches.iter().find(|switch| switch.name == filter.name);
            let is_off = switch.map_or(filter.is_off, |switch| switch.is_off);
            if !is_off {
                access.closed = access.closed.or(Some(filter.status));
            }
        }
        if switches.iter().any(|switch| switch.closes && self.names.contains(&switch.name)) {
            access.closed = access.closed.or(Some(403));
        }
        let action = levels.first().and_then(|route| route.get("route"));
        let limited =
            levels.iter().copied().chain(action).filter_map(|node| node.get("rate_limits"));
        for field in limited.collect::<Vec<_>>() {
            let reason = "no service of limits is asked";
            leave_out(field, reason, "`limit` of rules", notes);
            if self.has_rate_limits {
                access.closed = access.closed.or(Some(429));
            }
        }
        access
    }

    /// `typed_per_filter_config` of one filter.
    fn read_switch(&self, entry: &ConfigNode, notes: &mut ConversionNotes) -> FilterSwitch {
        let mut switch = FilterSwitch { name: entry.key().to_owned(), ..FilterSwitch::default() };
        let kind = take_type(entry, notes).to_owned();
        switch.is_off = take_flag(entry, "disabled", notes).unwrap_or(false);
        if kind == "LocalRateLimit" {
            match read_limit(entry, notes) {
                LimitOutcome::None => {}
                LimitOutcome::Written(limit) => switch.limit = Some(limit),
                LimitOutcome::Unwritable => switch.closes = true,
            }
            return switch;
        }
        if switch.is_off && entry.unread_entries().next().is_none() {
            return switch;
        }
        switch.is_off = false;
        let harmless = matches!(
            kind.as_str(),
            "CorsPolicy"
                | "FaultConfig"
                | "HTTPFault"
                | "CompressorPerRoute"
                | "BufferPerRoute"
                | "HeaderMutationPerRoute"
                | "GrpcJsonTranscoder"
                | "Tap"
                | "StatefulSessionPerRoute"
        );
        switch.closes = !harmless;
        let reason = if harmless {
            "filters have no settings for single routes"
        } else {
            "what this filter lets through is not known here: such requests are refused"
        };
        leave_out(entry, reason, "", notes);
        switch
    }
}

/// What a route says of one filter.
#[derive(Clone, Debug, Default)]
struct FilterSwitch {
    name: String,
    is_off: bool,
    /// The filter refuses on this route what is not known here.
    closes: bool,
    limit: Option<String>,
}
