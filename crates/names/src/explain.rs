//! Explains which answer a client gets for a name, and why: the same walk as an answer's, in sentences.

use std::net::IpAddr;

use model::config::NamePolicy;

use super::address_set::{AddressSet, SelectionOrder};
use super::answer::ClientView;
use super::domain::{DomainName, format_name};
use super::record::{A, AAAA, SRV};
use super::zone_data::{NameState, ZoneData};
use super::zone_plan::{ALIASES, NameNodeKind, NamePlan};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct NameExplanation {
    /// The name's zone. `None` if no zone contains the name; such a query is refused.
    pub zone: Option<String>,
    /// Sentences, from the question to the answer.
    pub steps: Vec<String>,
    /// The name at the end of the aliases.
    pub name: Option<String>,
    /// Bits of the client's address that the answer depends on.
    pub scope: u8,
    /// The possible answers of the name.
    pub candidates: Vec<ExplainedCandidate>,
}

/// A candidate and its share of the answers to this client.
#[derive(Clone, Debug, PartialEq)]
pub struct ExplainedCandidate {
    pub name: String,
    pub addresses: Vec<IpAddr>,
    pub weight: u16,
    /// Whether the candidate may be answered while another one is up too.
    pub up: bool,
    pub reason: String,
    /// The candidate's share of the answers of this type to this client, 0–1.
    pub share: f64,
}

/// Explains the answer to `client` for a name and a type.
pub fn explain(
    zone_data: &ZoneData,
    name: &DomainName,
    kind: u16,
    client: IpAddr,
) -> NameExplanation {
    let mut out = NameExplanation::default();
    let Some(zone) = zone_data.plan.zone_of(name.wire()) else {
        out.steps.push(format!("{name} lies in no zone of ours: refused"));
        return out;
    };
    out.zone = Some(zone.domain.to_string());
    let negative = zone.negative_ttl;
    let mut at = name.clone();
    for _ in 0..=ALIASES {
        let Some(node) = zone_data.plan.node(at.wire()) else {
            let text = format!("{at} does not exist: NXDOMAIN, kept for {negative} s");
            out.steps.push(text);
            return out;
        };
        match &node.kind {
            NameNodeKind::Alias(target, ttl) => {
                out.steps.push(format!("{at} is another name for {target} (CNAME, {ttl} s)"));
                at = target.clone();
                if zone_data.plan.zone_of(at.wire()).is_none() {
                    out.steps.push(format!("{at} is not ours: whoever asks goes on by itself"));
                    return out;
                }
            }
            NameNodeKind::Empty => {
                let what = if node.apex { "the zone's own name" } else { "only above other names" };
                out.steps.push(format!("{at} is {what}: it has no addresses"));
                return out;
            }
            NameNodeKind::Target(name, who) => {
                explain_candidate(zone_data, *name, *who, &mut out);
                return out;
            }
            NameNodeKind::Srv(name) | NameNodeKind::Name(name) => {
                let (Some(plan), Some(state)) =
                    (zone_data.plan.names.get(*name), zone_data.states.get(*name))
                else {
                    return out;
                };
                explain_name(plan, state, kind, client, &mut out);
                return out;
            }
        }
    }
    out.steps.push(format!("more than {ALIASES} aliases are not followed"));
    out
}

fn explain_candidate(zone_data: &ZoneData, name: usize, who: usize, out: &mut NameExplanation) {
    let candidate = zone_data.states.get(name).and_then(|state| state.candidates.get(who));
    let Some(candidate) = candidate else { return };
    let text = format!(
        "it names one alone, whatever its state: {} ({})",
        candidate.name, candidate.reason
    );
    out.steps.push(text);
    out.candidates.push(ExplainedCandidate {
        name: candidate.name.clone(),
        addresses: candidate.addresses.clone(),
        weight: candidate.weight,
        up: candidate.up,
        reason: candidate.reason.clone(),
        share: 1.0,
    });
}

fn explain_name(
    plan: &NamePlan,
    state: &NameState,
    kind: u16,
    client: IpAddr,
    out: &mut NameExplanation,
) {
    out.name = Some(format_name(plan.domain.wire()));
    let view = ClientView::for_client(plan, state, client);
    out.scope = view.scope;
    let up = state.up_candidates();
    out.steps.push(format!("{up} of {} may be given", state.candidates.len()));
    if state.uses_fallback {
        out.steps.push(explain_fallback(plan));
    }
    out.steps.push(explain_policy(plan, client, &view));
    let set = view.address_set(kind == AAAA);
    if set.is_empty() && (kind == A || kind == AAAA) {
        out.steps.push("there is no address of this family: an answer without records".to_owned());
    }
    let shares = candidate_shares(plan, &view, set, state.candidates.len());
    for (candidate, share) in state.candidates.iter().zip(shares) {
        out.candidates.push(ExplainedCandidate {
            name: candidate.name.clone(),
            addresses: candidate.addresses.clone(),
            weight: candidate.weight,
            up: candidate.up,
            reason: candidate.reason.clone(),
            share: if kind == SRV { f64::from(u8::from(candidate.up)) } else { share },
        });
    }
    out.steps
        .push(format!("kept for {} s, at most {} in one answer", plan.ttl, plan.config.answers));
}

fn explain_fallback(plan: &NamePlan) -> String {
    match &plan.config.fallback {
        model::config::NameFallback::All => "none is up: all are given as if they were".to_owned(),
        model::config::NameFallback::None => "none is up: no address is given".to_owned(),
        model::config::NameFallback::LastResort(addresses) => {
            let list: Vec<String> = addresses.iter().map(ToString::to_string).collect();
            format!("none is up: those of last resort are given, {}", list.join(", "))
        }
    }
}

fn explain_policy(plan: &NamePlan, client: IpAddr, view: &ClientView<'_>) -> String {
    let name = plan.config.policy.name();
    match plan.config.policy {
        NamePolicy::RoundRobin => format!("{name}: each address in turn, whoever asks"),
        NamePolicy::Weighted => format!("{name}: in proportion to weights, whoever asks"),
        NamePolicy::Failover => format!("{name}: the first in the order of the file"),
        NamePolicy::Sticky => format!(
            "{name}: {client} counts by its first {} bits, and this network keeps its address",
            view.scope
        ),
        NamePolicy::Nearest => {
            let found = plan.networks.find(client);
            let region = found.region.and_then(|at| plan.config.near.get(usize::from(at)));
            match (found.network, region) {
                (Some(network), Some(region)) => format!(
                    "{name}: {client} lies in {network}, which prefers {}; among them by weight",
                    region.prefer.join(", ")
                ),
                _ => format!("{name}: {client} lies in no region; all by weight"),
            }
        }
    }
}

/// How often each candidate is the first address of an answer.
fn candidate_shares(
    plan: &NamePlan,
    view: &ClientView<'_>,
    set: &AddressSet,
    candidates: usize,
) -> Vec<f64> {
    let mut shares = vec![0.0; candidates];
    let keeper = match view.selection_order(plan, || 0) {
        order @ (SelectionOrder::ClientHash(_) | SelectionOrder::First) => Some(set.pick(order)),
        SelectionOrder::RoundRobin(_) | SelectionOrder::Weighted(_) => None,
    };
    for at in 0..set.len() {
        let share = match (keeper, plan.config.policy) {
            (Some(keeper), _) => f64::from(u8::from(keeper == at)),
            (None, NamePolicy::RoundRobin) => 1.0 / set.len() as f64,
            (None, _) => set.share(at),
        };
        if let Some(sum) = set.candidate(at).and_then(|who| shares.get_mut(who)) {
            *sum += share;
        }
    }
    shares
}
