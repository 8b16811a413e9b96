//! HTTP filters: what they refuse, answer and change, for all routes or for some.

use crate::document::SourcedValue;
use crate::notes::ConversionNotes;
use crate::structured::node::ConfigNode;

use super::filter_keys::{ServiceEntry, compression, health_answer, request_buffer};
use super::header_edits::HeaderEditList;
use super::hidden_fields::{HiddenFields, mutated_names};
use super::rate_limit::{LimitOutcome, read_limit};
use super::rbac::{AddressSight, read_rules};
use super::reader::{leave_out, settle_inside, take_flag, take_text, take_type};
use super::route_match::fraction;
use super::rule::EnvoyRule;
use super::strings::extension_type;

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
    /// Fields that filters have written before the next filter.
    hidden: HiddenFields,
    /// Fields that filters write before routes are looked for again.
    pub written: Vec<String>,
    /// Names that mutations of single routes change.
    route_names: Vec<String>,
    /// Mutations of a route come after those around it.
    nearest_wins: bool,
}

/// What filters do with one route.
#[derive(Clone, Debug, Default)]
pub struct RouteAccess {
    /// Requests are refused with this status.
    pub closed: Option<u16>,
    /// The value of `limit`.
    pub limit: Option<String>,
    /// Edits of the filters, those for this route included.
    pub edits: HeaderEditList,
}

impl FilterEffects {
    pub fn read(
        filters: &[ConfigNode],
        place: HttpFilterPlace<'_>,
        notes: &mut ConversionNotes,
    ) -> FilterEffects {
        let mut effects = FilterEffects {
            hidden: place.hidden.clone(),
            route_names: place.config.map(mutated_names).unwrap_or_default(),
            ..FilterEffects::default()
        };
        let sight = place.sight;
        for filter in filters {
            effects.read_filter(filter, sight, notes);
        }
        effects
    }

    fn read_filter(
        &mut self,
        filter: &ConfigNode,
        sight: AddressSight,
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
                if let Some(inner) = config.get("upstream_http_filters") {
                    self.read_inner(inner, &name, notes);
                }
                for field in config.unread_entries() {
                    field.mark_read();
                    notes.not_needed(
                        field.source.whole(),
                        field.describe(),
                        "it tunes Envoy's router",
                    );
                }
            }
            // What it is stands elsewhere.
            _ if is_off || filter.has("config_discovery") => {
                self.close(filter, &name, 403, is_off, notes);
            }
            "HealthCheck" | "health_check" => {
                self.rules.extend(health_answer(config, &self.hidden, notes));
            }
            "RBAC" | "rbac" => {
                self.rules.extend(read_rules(config, sight, &self.hidden, notes));
            }
            "Compressor" => self.service.extend(compression(config, notes)),
            "Buffer" => self.service.extend(request_buffer(config, notes)),
            "HeaderMutation" => self.read_mutations(config, notes),
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
            "HTTPFault" if aborts_all(config, notes) => self.close(filter, &own, 503, false, notes),
            name if PASSED_OVER.contains(&name) => {
                let tags = (name == "IPTagging").then(|| "x-envoy-ip-tags".to_owned());
                for field in written_fields(config).into_iter().chain(tags) {
                    self.edits.request.remove_field(&field);
                    self.hidden.add(&field);
                    self.written.push(field);
                }
                let reason = "there is no such filter: requests and answers pass without it";
                leave_out(filter, reason, "", notes);
            }
            // Scripts, programs and services may refuse, and so may what is not known.
            _ => self.close(filter, &name, 403, false, notes),
        }
    }

    /// A filter that changes fields, for all routes and for single ones.
    fn read_mutations(&mut self, config: &ConfigNode, notes: &mut ConversionNotes) {
        if let Some(mutations) = config.get("mutations") {
            let own = HeaderEditList::read_mutations(mutations, notes);
            self.hidden.extend(own.changed_requests());
            self.edits = own.within(&self.edits);
        }
        let wins = take_flag(config, "most_specific_header_mutations_wins", notes);
        self.nearest_wins |= wins.unwrap_or(false);
        self.hidden.extend(self.route_names.clone());
    }

    /// Filters of the router, which come behind the choice of a server.
    fn read_inner(&mut self, inner: &ConfigNode, name: &str, notes: &mut ConversionNotes) {
        let is_codec = |one: &ConfigNode| extension_type(one, notes) == "UpstreamCodec";
        if !inner.items().iter().all(is_codec) {
            self.close(inner, name, 403, false, notes);
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

    /// What filters do with a route. `levels`: the route, its virtual host and its configuration, the nearest first.
    pub fn access(&self, levels: &[&ConfigNode], notes: &mut ConversionNotes) -> RouteAccess {
        let mut access = RouteAccess {
            closed: None,
            limit: self.limit.as_ref().map(|limit| limit.value.clone()),
            edits: self.edits.clone(),
        };
        let mut switches: Vec<FilterSwitch> = Vec::new();
        let mut mutations: Vec<HeaderEditList> = Vec::new();
        for level in levels {
            for entry in
                level.get("typed_per_filter_config").map(ConfigNode::entries).unwrap_or_default()
            {
                let mut switch = self.read_switch(entry, notes);
                mutations.extend(switch.edits.take());
                if !switches.iter().any(|known| known.name == switch.name) {
                    if let Some(limit) = &switch.limit {
                        access.limit = Some(limit.clone());
                    }
                    switches.push(switch);
                }
            }
        }
        // All levels change fields, and the last one stays.
        if self.nearest_wins {
            mutations.reverse();
        }
        for edits in &mutations {
            access.edits = access.edits.then(edits);
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
        if kind == "HeaderMutationPerRoute" && !switch.is_off {
            let is_there = self.names.contains(&switch.name);
            if let Some(mutations) = entry.get("mutations").filter(|_| is_there) {
                switch.edits = Some(HeaderEditList::read_mutations(mutations, notes));
            }
            return switch;
        }
        if switch.is_off && entry.unread_entries().next().is_none() {
            if !self.closing.iter().any(|filter| filter.name == switch.name) {
                let reason = "filters have no settings for single routes";
                leave_out(entry, reason, "rules of their own", notes);
            }
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

/// What stands around the filters of a connection manager.
#[derive(Clone, Copy)]
pub struct HttpFilterPlace<'c> {
    pub sight: AddressSight,
    /// Fields that are written before all filters.
    pub hidden: &'c HiddenFields,
    /// The routes, which may have settings for single filters.
    pub config: Option<&'c ConfigNode>,
}

/// What a route says of one filter.
#[derive(Clone, Debug, Default)]
struct FilterSwitch {
    name: String,
    is_off: bool,
    /// The filter refuses on this route what is not known here.
    closes: bool,
    limit: Option<String>,
    edits: Option<HeaderEditList>,
}

/// Whether an injector of faults answers all requests itself.
fn aborts_all(config: &ConfigNode, notes: &mut ConversionNotes) -> bool {
    let share = config.get("abort").and_then(|abort| abort.get("percentage"));
    share.is_some_and(|share| fraction(share, notes).is_none())
}

/// Names of fields that a filter writes into requests, in place of what clients send.
fn written_fields(config: &ConfigNode) -> Vec<String> {
    const HOLDERS: [&str; 2] = ["geo_headers_to_add", "geo_field_keys"];
    let mut names = Vec::new();
    let mut waiting = vec![config];
    while let Some(node) = waiting.pop() {
        for field in node.entries() {
            if HOLDERS.contains(&field.key()) {
                names.extend(field.entries().iter().filter_map(ConfigNode::text));
            } else if field.key() == "ip_tag_header" {
                names.extend(field.text_of("header"));
            }
            waiting.push(field);
        }
        waiting.extend(node.items());
    }
    names.iter().map(|name| name.to_ascii_lowercase()).collect()
}
