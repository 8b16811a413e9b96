//! State snapshot → which service, rule, pool and servers would take a request. Pure: asking counts and takes nothing.

mod request_client;
mod request_edits;
mod request_query;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use api::types::{
    MatchingRule, PoolShare, RequestDescription, RequestExplained, RuleMismatch, ServerCandidate,
};
use model::config::{ForwardingMode, NoServersAction, RuleConfig};
use model::load_balancing::eligible_servers::EligibleServers;
use model::monotonic_time::MonotonicTime;
use model::path::PathReadings;
use model::rules::edits::EditStage;
use model::rules::{
    CompiledRule, RuleAction, RuleContext, RuleMatch, RuleState, ServiceRules, describe,
};
use model::snapshot::rule_state::LiveRuleState;
use model::snapshot::{PoolView, ServerState, ServiceView};

use crate::state::StateSnapshot;
use request_client::{client_text, named_client};
use request_edits::{QueryConnection, make_edits, rewrite_request};
use request_query::{
    NormalizedRequest, RequestText, UrlParts, apply_request_policy, build_request_text, parse_url,
};

/// Bounds the list of rules that do not match.
const MAX_RULES: usize = 100;

/// Explains it.
///
/// # Errors
/// The error is a sentence about the mistake in the query.
pub fn explain_request(
    snapshot: &StateSnapshot,
    asked: &RequestDescription,
    now: MonotonicTime,
    unix_seconds: i64,
) -> Result<RequestExplained, String> {
    let place = parse_url(&asked.url)?;
    let ChosenService { view, because } = service(snapshot, asked, &place)?;
    let http = view.config.forward == ForwardingMode::Http;
    let written = if http { Some(build_request_text(asked, &place, view)?) } else { None };
    let NormalizedRequest { text: written, refused } = apply_request_policy(view, written);
    let host = (place.scheme == "https").then_some(place.host);
    let sni = asked.sni.as_deref().or(host).map(str::to_ascii_lowercase);
    let from = asked.from.unwrap_or(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)));
    let named = named_client(view, SocketAddr::new(from, 40_000), written.as_ref());
    let connection = QueryConnection {
        client: named.as_ref().map_or(SocketAddr::new(from, 40_000), |found| found.address),
        port: view.config.listen.first().map_or(0, SocketAddr::port),
        scheme: if place.scheme == "https" { "https" } else { "http" },
        sni: sni.as_deref(),
        unix_seconds,
    };
    let edited = make_edits(view, EditStage::BeforeRules, written, connection);
    let head = edited.text.as_ref().map(RequestText::head);
    let question = connection.rule_context(head.as_ref());
    let mut explained = RequestExplained {
        generation: snapshot.generation,
        service: view.config.name.clone(),
        reason: because,
        client: named.map(|found| client_text(view, found)),
        path: head.as_ref().map(|head| text(head.path())).unwrap_or_default(),
        readings: Vec::new(),
        unmatched_rules: Vec::new(),
        unmatched_unlisted: 0,
        edits: edited.names,
        rule: None,
        local_reply: edited.refused.map(str::to_owned),
        pools: Vec::new(),
        sticky_server: None,
        servers: Vec::new(),
    };
    let pool = |at: usize| {
        let id = view.rules.as_ref().map_or(Some(&view.pool), |rules| rules.pools.get(at))?;
        snapshot.snapshot.pools.get(id).cloned()
    };
    match &view.rules {
        _ if refused => {
            explained.edits.clear();
            explained.local_reply =
                Some("refused: 400, `ambiguous-path`: the path can be read in several ways".into());
        }
        _ if explained.local_reply.is_some() => {}
        Some(ruling) => {
            let facts =
                LiveRuleState { rules: ruling, service: view, pool: &pool, now, worker: None };
            let written = edited.text.as_ref();
            rules(&mut explained, view, ruling, &question, &facts, written, connection);
        }
        None => share(&mut explained, pool(0), 100.0),
    }
    explain_edits_after_rules(&mut explained, view, edited.text.as_ref(), connection);
    for share in &explained.pools {
        let found = snapshot.snapshot.pools.values().find(|pool| pool.config.name == share.name);
        explained.servers.extend(found.iter().flat_map(|pool| servers(snapshot, pool)));
    }
    explained.sticky_server = view.config.sticky.as_ref().map(affinity_text);
    Ok(explained)
}

fn affinity_text(sticky: &model::config::AffinityConfig) -> String {
    format!(
        "the service keeps clients by {}: one that is known goes to its server first",
        affinity_server(sticky)
    )
}

fn rules(
    explained: &mut RequestExplained,
    view: &ServiceView,
    ruling: &ServiceRules,
    question: &RuleContext<'_>,
    facts: &LiveRuleState<'_>,
    written: Option<&RequestText>,
    connection: QueryConnection<'_>,
) {
    let found = ruling.table.find_rule(question, facts);
    let taken = match found {
        RuleMatch::Rule(at) | RuleMatch::NoServer(at) => Some(at),
        RuleMatch::DefaultPool | RuleMatch::AmbiguousPath(_) | RuleMatch::AmbiguousRequest(_) => {
            None
        }
    };
    let before = match found {
        RuleMatch::AmbiguousPath(at) => at.unwrap_or(0),
        RuleMatch::AmbiguousRequest(at) => at,
        _ => taken.unwrap_or(ruling.table.rules().len()),
    };
    skipped_rules(explained, view, question, facts, before);
    let refused = ambiguous_rejection(ruling, found);
    if refused.is_some() {
        explained.local_reply = refused;
        return;
    }
    let Some((at, (rule, compiled))) = taken
        .and_then(|at| Some((at, (view.config.rules.get(at)?, ruling.table.rules().get(at)?))))
    else {
        return share(explained, (facts.pool)(0), 100.0);
    };
    let target = target(compiled, written, connection);
    explained.rule = Some(MatchingRule {
        position: at as u64 + 1,
        name: compiled.name.clone(),
        when: describe::describe_condition(&rule.when),
        action: describe::describe_action(rule),
        target: target.clone().flatten(),
        mirror: rule.mirror.as_ref().map(|it| format!("{} % to pool {}", it.percent, it.pool)),
    });
    explained.local_reply = match (&compiled.action, found) {
        _ if target.is_none() => {
            Some("refused: 400, `ambiguous-path`: so is the path that the rule writes".into())
        }
        (_, RuleMatch::NoServer(_)) => Some("503: no server of its pool is available".into()),
        (RuleAction::Deny, _) => Some("refused: 403, or a reset for a connection".into()),
        (RuleAction::Redirect(..) | RuleAction::Answer, _) => {
            Some(format!("the balancer's own: {}", describe::describe_action(rule)))
        }
        _ => None,
    };
    if explained.local_reply.is_some() {
        return;
    }
    let able = |at: usize| rule.without_servers == NoServersAction::Pool || facts.has_server(at);
    match &compiled.action {
        RuleAction::Split { parts, .. } => {
            let some = parts.iter().any(|part| facts.has_server(part.pool));
            let takes = |at: usize| if some { facts.has_server(at) } else { able(at) };
            let taking = || parts.iter().filter(|part| takes(part.pool));
            let sum: u32 = taking().map(|part| part.weight).sum();
            for part in taking().filter(|part| part.weight > 0) {
                let percent = f64::from(part.weight) * 100.0 / f64::from(sum.max(1));
                share(explained, (facts.pool)(part.pool), percent);
            }
        }
        _ => compiled.pools().for_each(|at| share(explained, (facts.pool)(at), 100.0)),
    }
}

/// The rule that rejects a request if one of its interpretations matches.
fn ambiguous_rejection(ruling: &ServiceRules, found: RuleMatch) -> Option<String> {
    let name = |at: usize| ruling.table.rules().get(at).map_or("", |rule| &rule.name);
    match found {
        RuleMatch::AmbiguousPath(None) => {
            Some("refused: 400, `ambiguous-path`: the path has too many readings".into())
        }
        RuleMatch::AmbiguousPath(Some(at)) => Some(format!(
            "refused: 400, `ambiguous-path`: rule {} fits some readings of the path and others not",
            name(at)
        )),
        RuleMatch::AmbiguousRequest(at) => Some(format!(
            "refused: 400, `ambiguous-request`: rule {} fits some readings of a field, a cookie, a parameter or the \
             method and others not",
            name(at)
        )),
        RuleMatch::Rule(_) | RuleMatch::NoServer(_) | RuleMatch::DefaultPool => None,
    }
}

/// The readings of the path, and the rules before one, none of which takes it.
fn skipped_rules(
    explained: &mut RequestExplained,
    view: &ServiceView,
    question: &RuleContext<'_>,
    facts: &LiveRuleState<'_>,
    before: usize,
) {
    let table = &facts.rules.table;
    if let Some(PathReadings::Several(all)) = question.head.map(|head| table.readings(head)) {
        explained.readings = all.iter().map(|reading| text(reading)).collect();
    }
    let position = |name: &str| table.pools().iter().position(|pool| pool == name).unwrap_or(0);
    let each = view.config.rules.iter().zip(table.rules()).enumerate().take(before);
    for (at, (rule, compiled)) in each {
        if explained.unmatched_rules.len() == MAX_RULES {
            explained.unmatched_unlisted = (before - MAX_RULES) as u64;
            break;
        }
        let own = compiled.pools().next().unwrap_or(0);
        let why =
            describe::explain_mismatch(rule, at, own, table.case(), &position, question, facts);
        explained.unmatched_rules.push(RuleMismatch {
            position: at as u64 + 1,
            name: compiled.name.clone(),
            reason: why.unwrap_or_else(|| no_server(rule)),
        });
    }
}

fn no_server(rule: &RuleConfig) -> String {
    match rule.without_servers {
        NoServersAction::Next => "it fits, and no server of its pool is available".into(),
        _ => "it does not fit".into(),
    }
}

/// The target that the server gets, where the rule changes it; `None`: it would be ambiguous.
fn target(
    rule: &CompiledRule,
    written: Option<&RequestText>,
    connection: QueryConnection<'_>,
) -> Option<Option<String>> {
    let Some(written) = written.filter(|_| rule.request_rewrite.is_some()) else {
        return Some(None);
    };
    let after = rewrite_request(rule, written, connection)?;
    let target = after.bytes.get(after.target).unwrap_or_default();
    let before = written.bytes.get(written.target.clone()).unwrap_or_default();
    Some((target != before).then(|| text(target)))
}

/// Names the edits that would be made for the pools that may take it.
fn explain_edits_after_rules(
    explained: &mut RequestExplained,
    view: &ServiceView,
    written: Option<&RequestText>,
    connection: QueryConnection<'_>,
) {
    let at = explained.rule.as_ref().and_then(|rule| (rule.position as usize).checked_sub(1));
    let rule = view.rules.as_ref().zip(at).and_then(|(rules, at)| rules.table.rules().get(at));
    for pool in explained.pools.clone() {
        let text = match (written, rule) {
            (Some(written), Some(rule)) => rewrite_request(rule, written, connection),
            (written, _) => written.cloned(),
        };
        let edited = make_edits(view, EditStage::AfterRules(&pool.name), text, connection);
        for name in edited.names {
            if !explained.edits.contains(&name) {
                explained.edits.push(name);
            }
        }
        if let Some(refused) = edited.refused {
            explained.local_reply = Some(refused.to_owned());
        }
    }
}

fn share(explained: &mut RequestExplained, pool: Option<Arc<PoolView>>, percent: f64) {
    explained.pools.extend(pool.map(|pool| PoolShare {
        name: pool.config.name.clone(),
        percent,
        balance: pool.config.balance.name().to_owned(),
    }));
}

fn servers(snapshot: &StateSnapshot, pool: &PoolView) -> Vec<ServerCandidate> {
    let eligible = EligibleServers::from_view(pool);
    let each = pool.servers.iter().enumerate();
    each.map(|(at, server)| {
        let may = eligible.servers.iter().any(|slot| slot.index == at);
        let facts = snapshot.servers.get(&server.id);
        let cap = server.config.connections;
        let full = cap.is_some_and(|cap| server.stats.in_flight.get() >= cap);
        let because = match (may, server.state) {
            (true, _) if full => {
                "is available, and at its connection limit: requests wait for it".into()
            }
            (true, state) => format!("is available: it is {}", state.name()),
            (false, _) if server.address.is_none() => "its name does not resolve".into(),
            (false, _) if server.weight.get() == 0 => "its weight is 0".into(),
            (false, ServerState::Up | ServerState::Unknown) => {
                "it is not its turn: servers of a better rank or state take the work".into()
            }
            (false, state) => {
                let reason = facts.map(|facts| facts.reason.as_str()).unwrap_or_default();
                format!("it is {}: {reason}", state.name())
            }
        };
        ServerCandidate {
            pool: pool.config.name.clone(),
            name: server.config.name.clone(),
            address: server.address.as_ref().map(ToString::to_string),
            state: server.state,
            available: may,
            reason: because,
        }
    })
    .collect()
}

fn affinity_server(sticky: &model::config::AffinityConfig) -> String {
    use model::config::AffinityKey;
    match &sticky.by {
        AffinityKey::Address(..) => "address".into(),
        AffinityKey::Header(name) => format!("field {name}"),
        AffinityKey::Path => "path".into(),
        AffinityKey::Query(name) => format!("parameter {name}"),
        AffinityKey::Cookie(cookie) => format!("cookie {}", cookie.name),
        AffinityKey::TlsSession => "TLS session".into(),
    }
}

/// The service that takes a request, and why it is that one.
struct ChosenService<'p> {
    view: &'p Arc<ServiceView>,
    because: String,
}

/// The service that the URL leads to.
fn service<'p>(
    snapshot: &'p StateSnapshot,
    asked: &RequestDescription,
    place: &UrlParts<'_>,
) -> Result<ChosenService<'p>, String> {
    let all = || {
        let mut all: Vec<_> = snapshot.snapshot.services.values().collect();
        all.sort_by(|a, b| a.config.name.cmp(&b.config.name));
        all.into_iter().filter(|view| !view.config.forward.forwards_packets())
    };
    if let Some(name) = &asked.service {
        let found = all().find(|view| view.config.name == *name);
        let found = found.ok_or_else(|| format!("there is no proxied service `{name}`"))?;
        return Ok(ChosenService { view: found, because: "it was named".into() });
    }
    let port = place.port.unwrap_or(if place.scheme == "https" { 443 } else { 80 });
    let host = place.host.trim_matches(['[', ']']).parse::<IpAddr>().ok();
    let listens = |view: &&Arc<ServiceView>| {
        view.config.listen.iter().any(|at| {
            at.port() == port
                && (at.ip().is_unspecified() || host.is_none_or(|host| host == at.ip()))
        })
    };
    let found: Vec<_> = all().filter(listens).collect();
    match found.as_slice() {
        [view] => Ok(ChosenService { view, because: format!("it listens on port {port}") }),
        [] => {
            let mut services = all();
            match (services.next(), services.next(), place.port) {
                (Some(view), None, None) => {
                    let because = "it is the only proxied service".into();
                    Ok(ChosenService { view, because })
                }
                _ => Err(format!(
                    "no proxied service listens there on port {port}: name one with `service`"
                )),
            }
        }
        several => {
            let names: Vec<&str> = several.iter().map(|view| view.config.name.as_str()).collect();
            Err(format!("port {port} is that of {}: name one with `service`", names.join(", ")))
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
