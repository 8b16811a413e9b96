//! What each policy would give over links of measured rates, and which suits them best. Pure; the bundle itself is not
//! measured.

use model::config::LinkPolicy;

use crate::advice::{BundleFacts, FindingSeverity, LinkFinding};
use crate::delay_equalizer::{ALIKE, LONGEST};
use crate::packet_train::format_rate;

/// A share that differs from the link's part of the rates by more than this leaves a link idle.
const UNEVEN: f64 = 0.25;
/// A policy is recommended when it gives one stream at least this many times as much.
const BETTER: f64 = 1.2;

/// A policy's expected rates in bits a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PolicyForecast {
    pub policy: LinkPolicy,
    /// The rate of one stream; `None`: reordering ruins it.
    pub single_flow: Option<f64>,
    pub many_flows: f64,
    /// Only a lower bound is known of some link: the policy may give more.
    pub at_least: bool,
}

/// The forecast for each policy over these links; empty while a link's rate is unknown. `equalise`: packets of faster
/// links may be held.
pub fn forecast_policies(bundle: &BundleFacts, equalise: bool) -> Vec<PolicyForecast> {
    let links = || bundle.links.iter().filter(|link| link.down_reason.is_none());
    let rates: Vec<f64> = links().filter_map(|link| Some(link.rate?.bits as f64)).collect();
    if rates.is_empty() || rates.len() < links().count() {
        return Vec::new();
    }
    let shares: Vec<f64> = links().map(|link| link.capacity.unwrap_or(1) as f64).collect();
    let all: f64 = shares.iter().sum();
    // With shares that do not match the rates, the first full link holds the others up.
    let least = |values: &mut dyn Iterator<Item = f64>| values.fold(f64::INFINITY, f64::min);
    let together = least(&mut rates.iter().zip(&shares).map(|(rate, share)| rate * all / share));
    let single = least(&mut rates.iter().copied());
    let in_order = bundle.skew < ALIKE || equalise && bundle.skew <= LONGEST;
    let at_least = links().any(|link| link.rate.is_some_and(|rate| rate.at_least));
    let of =
        |policy, one, many| PolicyForecast { policy, single_flow: one, many_flows: many, at_least };
    vec![
        of(LinkPolicy::Failover, Some(rates[0]), rates[0]),
        of(LinkPolicy::Hash, Some(single), together),
        of(LinkPolicy::Flowlet, Some(single), together),
        of(LinkPolicy::RoundRobin, in_order.then_some(together), together),
    ]
}

/// The findings about a bundle with measured links.
pub fn findings(bundle: &BundleFacts, mptcp: bool) -> Vec<LinkFinding> {
    let about = format!("bundle {}", bundle.name);
    let say = |verdict, found: String, advice: String| LinkFinding {
        severity: verdict,
        subject: about.clone(),
        observation: found,
        advice,
        commands: Vec::new(),
    };
    let mut out: Vec<LinkFinding> = idle_link_shares(bundle)
        .into_iter()
        .map(|(found, advice)| say(FindingSeverity::Note, found, advice))
        .collect();
    let gives = forecast_policies(bundle, true);
    out.extend(gives.iter().map(|one| {
        let found = format!(
            "{} would give one stream {}{}, many {}",
            one.policy.name(),
            if one.at_least && one.single_flow.is_some() { "at least " } else { "" },
            one.single_flow.map_or_else(|| "less than one link".to_owned(), format_rate),
            format_rate(one.many_flows)
        );
        say(FindingSeverity::Note, found, String::new())
    }));
    if let Some(advice) = recommended_policy(bundle, &gives, mptcp) {
        let found = format!("{} is active", bundle.policy);
        out.push(say(FindingSeverity::Note, found, advice));
    }
    out
}

/// The shares, where they leave a link idle.
fn idle_link_shares(bundle: &BundleFacts) -> Option<(String, String)> {
    let known = || {
        bundle.links.iter().filter_map(|link| Some((link.rate?.bits, link.capacity.unwrap_or(1))))
    };
    let (rates, shares) = known().fold((0.0, 0.0), |(rates, shares), (rate, share)| {
        (rates + rate as f64, shares + share as f64)
    });
    // A link of which only a lower bound is known may be as fast as the others.
    let all_measured = bundle.links.iter().all(|link| link.rate.is_some_and(|rate| !rate.at_least));
    let off = |(rate, share): (u64, u64)| {
        let rate = rate as f64 / rates;
        let share = share as f64 / shares;
        (rate / share - 1.0).abs() > UNEVEN
    };
    if !all_measured || bundle.policy == LinkPolicy::Failover.name() || !known().any(off) {
        return None;
    }
    let carries = bundle.links.iter().filter_map(|link| {
        Some(format!("{} {}", link.interface, format_rate(link.rate?.bits as f64)))
    });
    Some((
        format!("its links carry {}", carries.collect::<Vec<_>>().join(", ")),
        "their shares are others, so that one is full while another has room: give each its `capacity`".to_owned(),
    ))
}

fn recommended_policy(
    bundle: &BundleFacts,
    gives: &[PolicyForecast],
    mptcp: bool,
) -> Option<String> {
    let of = |name: &str| gives.iter().find(|one| one.policy.name() == name);
    let now = of(&bundle.policy)?;
    let turns = of(LinkPolicy::RoundRobin.name())?;
    let also = if mptcp { ", or `socket.mptcp` at both ends" } else { "" };
    let most = gives.iter().map(|one| one.many_flows).fold(0.0, f64::max);
    let one = turns.single_flow;
    let alone = now.single_flow.unwrap_or(0.0);
    Some(match one {
        Some(one) if one > alone * BETTER => {
            let held = if bundle.skew < ALIKE { "" } else { " with `equalise`" };
            format!("for few long streams `policy = \"round-robin\"`{held}{also}; for many flows `flowlet`")
        }
        None if now.policy == LinkPolicy::RoundRobin => format!("`policy = \"flowlet\"`{also}"),
        None if mptcp => "for few long streams `socket.mptcp` at both ends: links differ too much to be equalised".to_owned(),
        _ if now.many_flows * BETTER < most => "`policy = \"flowlet\"` would use all links".to_owned(),
        _ => "nothing would give more".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::advice::LinkFacts;
    use crate::packet_train::MeasuredRate;

    fn bundle(policy: &str, skew_ms: u64, links: &[(u64, Option<u64>)]) -> BundleFacts {
        let link = |(number, (mbit, capacity)): (usize, &(u64, Option<u64>))| LinkFacts {
            interface: format!("eth{number}"),
            rate: Some(MeasuredRate { bits: mbit * 1_000_000, at_least: false }),
            capacity: *capacity,
            ..LinkFacts::default()
        };
        BundleFacts {
            name: "up".to_owned(),
            policy: policy.to_owned(),
            skew: Duration::from_millis(skew_ms),
            gap: None,
            links: links.iter().enumerate().map(link).collect(),
        }
    }

    fn of(gives: &[PolicyForecast], policy: LinkPolicy) -> (Option<u64>, u64) {
        let one = gives.iter().find(|one| one.policy == policy).unwrap();
        let mbit = |bits: f64| (bits / 1e6).round() as u64;
        (one.single_flow.map(mbit), mbit(one.many_flows))
    }

    // Rows: L05
    #[test]
    fn rows() {
        use LinkPolicy::{Failover, Flowlet, Hash, RoundRobin};
        let even = forecast_policies(&bundle("hash", 0, &[(500, None), (500, None)]), true);
        assert_eq!(of(&even, Failover), (Some(500), 500));
        assert_eq!(of(&even, Hash), (Some(500), 1_000));
        assert_eq!(of(&even, Flowlet), (Some(500), 1_000));
        assert_eq!(of(&even, RoundRobin), (Some(1_000), 1_000));
        let far = bundle("hash", 9, &[(500, None), (500, None)]);
        assert_eq!(of(&forecast_policies(&far, true), RoundRobin).0, Some(1_000), "held");
        assert_eq!(of(&forecast_policies(&far, false), RoundRobin).0, None);
        let farther = bundle("hash", 600, &[(500, None), (500, None)]);
        assert_eq!(of(&forecast_policies(&farther, true), RoundRobin).0, None);
        // Without configured shares the slower link holds the faster one up.
        let odd = bundle("round-robin", 0, &[(900, None), (100, None)]);
        assert_eq!(of(&forecast_policies(&odd, true), RoundRobin), (Some(200), 200));
        let measured_bundle = bundle("round-robin", 0, &[(900, Some(9)), (100, Some(1))]);
        assert_eq!(
            of(&forecast_policies(&measured_bundle, true), RoundRobin),
            (Some(1_000), 1_000)
        );
        let mut unknown = measured_bundle;
        unknown.links[0].rate = None;
        assert!(forecast_policies(&unknown, true).is_empty());
        assert!(!even[0].at_least);
        let mut bound = bundle("hash", 0, &[(500, None), (500, None)]);
        bound.links[0].rate = Some(MeasuredRate { bits: 500_000_000, at_least: true });
        assert!(forecast_policies(&bound, true)[0].at_least);
        unknown.links[0].down_reason = Some("it has no carrier".to_owned());
        assert_eq!(of(&forecast_policies(&unknown, true), RoundRobin), (Some(100), 100));
    }

    fn advice(bundle: &BundleFacts) -> Vec<String> {
        findings(bundle, true)
            .into_iter()
            .map(|one| one.advice)
            .filter(|one| !one.is_empty())
            .collect()
    }

    #[test]
    fn the_best_is_recommended_and_shares_that_idle_are_wrong() {
        let row = |policy, skew, links: &[_]| advice(&bundle(policy, skew, links));
        let even = [(500, None), (500, None)];
        assert!(
            row("hash", 0, &even)[0]
                .starts_with("for few long streams `policy = \"round-robin\"`, or")
        );
        assert!(row("hash", 9, &even)[0].contains("with `equalise`"));
        assert_eq!(row("round-robin", 0, &even), ["nothing would give more"]);
        assert!(row("round-robin", 600, &even)[0].starts_with("`policy = \"flowlet\"`"));
        assert!(row("hash", 600, &even)[0].contains("differ too much"));
        let odd = [(900, None), (100, None)];
        assert!(row("hash", 0, &odd)[0].contains("give each its `capacity`"));
        let found = findings(&bundle("hash", 0, &odd), false);
        assert_eq!(found[0].severity, FindingSeverity::Note, "a busy machine measures badly");
        assert_eq!(found[0].observation, "its links carry eth0 900 Mbit/s, eth1 100 Mbit/s");
        assert_eq!(
            found[1].observation,
            "failover would give one stream 900 Mbit/s, many 900 Mbit/s"
        );
        assert_eq!(row("hash", 0, &[(900, Some(9)), (100, Some(1))]).len(), 1);
    }
}
