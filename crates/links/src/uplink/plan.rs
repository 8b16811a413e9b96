//! Which routing rules and tables lead packets to their uplinks, and the steps from the current to the planned ones.
//! Pure.
//!
//! ```text
//! rule      a packet that                      looks in
//! FIRST     asks a target (strict mark)        its uplink's table, whatever else leads there
//! FIRST+1   finds a nearer route than default  main
//! FIRST+2   has an uplink's own address        that uplink's table
//! FIRST+3   has an uplink's mark               that uplink's table
//! FIRST+4   has neither                        the table of all, by a hash of its addresses
//! ```

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::packet_mark::MarkBits;
use super::uplink_wheel::{UplinkCandidate, select_uplinks};

/// Kinds of rules, each at its own priority: as many as the plan installs for each family.
pub const RULES: u32 = 5;
/// The kernel's main table (`RT_TABLE_MAIN`).
const MAIN: u32 = 254;

/// The numbers of our tables and rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoutingBase {
    pub marks: MarkBits,
    /// The table of all uplinks; the tables of single uplinks follow.
    pub first_table: u32,
    pub first_priority: u32,
}

/// The current state of an uplink in one family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UplinkGateway {
    /// The candidate for the wheel; without a gateway it is unusable.
    pub candidate: UplinkCandidate,
    pub ifindex: u32,
    pub gateway: IpAddr,
    /// The source address of packets that leave by it.
    pub source: IpAddr,
}

/// The match of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RuleSelector {
    /// A mark, of which only these bits count.
    Mark {
        value: u32,
        mask: u32,
    },
    From(IpAddr),
    /// Any packet for which the table has a more specific route than the default.
    Nearer,
    Any,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rule {
    pub v6: bool,
    pub priority: u32,
    pub selector: RuleSelector,
    /// The table that it leads to.
    pub table: u32,
}

/// A next hop of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    pub ifindex: u32,
    pub gateway: IpAddr,
    pub weight: u16,
}

/// A route over some gateways: the only route of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// One or several next hops; empty: unreachable.
    pub hops: Vec<Hop>,
    /// The source of packets without one; missing: the interface's.
    pub source: Option<IpAddr>,
}

/// The family (IPv6) and number of a table.
pub type TableKey = (bool, u32);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoutingPlan {
    pub rules: Vec<Rule>,
    pub routes: BTreeMap<TableKey, Route>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RoutingStep {
    /// A table gets this route.
    Route(TableKey, Route),
    Add(Rule),
    Remove(Rule),
    /// A table loses its route.
    Clear(TableKey),
}

impl RoutingStep {
    /// The kernel's object that the step changes, for messages.
    pub fn object(&self) -> String {
        let family = |v6: bool| if v6 { "-6" } else { "-4" };
        match self {
            RoutingStep::Route(key, _) | RoutingStep::Clear(key) => {
                format!(
                    "the route of table {1} (`ip {0} route show table {1}`)",
                    family(key.0),
                    key.1
                )
            }
            RoutingStep::Add(rule) | RoutingStep::Remove(rule) => {
                format!("the rule of priority {} (`ip {} rule`)", rule.priority, family(rule.v6))
            }
        }
    }
}

impl RoutingPlan {
    /// The plan for these gateways of both families.
    pub fn from_paths(ground: RoutingBase, paths: &[UplinkGateway]) -> RoutingPlan {
        let mut plan = RoutingPlan::default();
        for v6 in [false, true] {
            let of = |path: &&UplinkGateway| path.gateway.is_ipv6() == v6;
            let paths: Vec<&UplinkGateway> = paths.iter().filter(of).collect();
            if !paths.is_empty() {
                plan.add_family(ground, v6, &paths);
            }
        }
        plan.rules.sort_unstable();
        plan
    }

    fn add_family(&mut self, ground: RoutingBase, v6: bool, paths: &[&UplinkGateway]) {
        let RoutingBase { marks, first_table: table, first_priority: rule } = ground;
        let mut add = |kind: u32, selector, table| {
            self.rules.push(Rule { v6, priority: rule + kind, selector, table });
        };
        add(1, RuleSelector::Nearer, MAIN);
        add(4, RuleSelector::Any, table);
        for path in paths {
            let number = path.candidate.number;
            let own = table + u32::from(number);
            let marked = |value| RuleSelector::Mark { value, mask: marks.mask() };
            add(0, marked(marks.strict_mark_for(number)), own);
            add(2, RuleSelector::From(path.source), own);
            add(3, marked(marks.mark_for(number)), own);
            let hop = Hop { ifindex: path.ifindex, gateway: path.gateway, weight: 1 };
            // Without a next hop its packets are unreachable; another uplink must not carry an address of this one.
            let route = match path.candidate.is_usable {
                true => Route { hops: vec![hop], source: Some(path.source) },
                false => Route { hops: Vec::new(), source: None },
            };
            self.routes.insert((v6, own), route);
        }
        let candidates: Vec<UplinkCandidate> = paths.iter().map(|path| path.candidate).collect();
        let hops: Vec<Hop> = select_uplinks(&candidates)
            .uplinks
            .iter()
            .filter_map(|one| {
                let path = paths.iter().find(|path| path.candidate.number == one.number)?;
                // The kernel holds a hop's weight in one byte, less one (rtnexthop of linux/rtnetlink.h).
                let weight = one.weight.clamp(1, 256);
                Some(Hop { ifindex: path.ifindex, gateway: path.gateway, weight })
            })
            .collect();
        let alone = hops.len() == 1;
        let first = hops.first().and_then(|hop| {
            paths.iter().find(|path| (path.gateway, path.ifindex) == (hop.gateway, hop.ifindex))
        });
        if let Some(first) = first {
            let source = alone.then_some(first.source);
            self.routes.insert((v6, table), Route { hops, source });
        }
    }

    /// The steps from the current plan to this one, in an order in which no packet finds a rule without its table.
    pub fn steps_from(&self, there: &RoutingPlan) -> Vec<RoutingStep> {
        let mut steps = Vec::new();
        for (place, route) in &self.routes {
            if there.routes.get(place) != Some(route) {
                steps.push(RoutingStep::Route(*place, route.clone()));
            }
        }
        let missing = self.rules.iter().filter(|rule| !there.rules.contains(rule));
        steps.extend(missing.map(|rule| RoutingStep::Add(*rule)));
        let needless = there.rules.iter().filter(|rule| !self.rules.contains(rule));
        steps.extend(needless.map(|rule| RoutingStep::Remove(*rule)));
        let empty = there.routes.keys().filter(|place| !self.routes.contains_key(place));
        steps.extend(empty.map(|place| RoutingStep::Clear(*place)));
        steps
    }

    /// How many wanted entries existed before and are missing now.
    pub fn count_missing(&self, stood: &RoutingPlan, there: &RoutingPlan) -> usize {
        let rules = stood.rules.iter().filter(|rule| self.rules.contains(rule));
        let rules = rules.filter(|rule| !there.rules.contains(rule)).count();
        let places = stood.routes.keys().filter(|place| self.routes.contains_key(place));
        rules + places.filter(|place| !there.routes.contains_key(place)).count()
    }

    /// Applies a step to this plan.
    pub fn apply_step(&mut self, step: &RoutingStep) {
        match step {
            RoutingStep::Route(place, route) => drop(self.routes.insert(*place, route.clone())),
            RoutingStep::Add(rule) => self.rules.push(*rule),
            RoutingStep::Remove(rule) => self.rules.retain(|one| one != rule),
            RoutingStep::Clear(place) => drop(self.routes.remove(place)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TEST_BASE: RoutingBase =
        RoutingBase { marks: MarkBits { bit: 24 }, first_table: 7_800, first_priority: 30_000 };

    fn path(number: u8, up: bool, weight: u16, priority: u8, v6: bool) -> UplinkGateway {
        let ip = |last: u8| -> IpAddr {
            let text =
                if v6 { format!("fd00:{number}::{last}") } else { format!("10.0.{number}.{last}") };
            text.parse().unwrap()
        };
        let candidate = UplinkCandidate { number, up, is_usable: true, weight, priority };
        UplinkGateway { candidate, ifindex: u32::from(number), gateway: ip(1), source: ip(2) }
    }

    #[test]
    fn two_uplinks() {
        let a = path(1, true, 3, 1, false);
        let b = path(2, true, 1, 1, false);
        let plan = RoutingPlan::from_paths(TEST_BASE, &[a, b]);
        assert_eq!(plan.rules.len(), 8);
        assert_eq!(plan.routes[&(false, 7_801)].source, Some(a.source));
        let all = &plan.routes[&(false, 7_800)];
        assert_eq!(all.hops.iter().map(|hop| hop.weight).collect::<Vec<_>>(), [3, 1]);
        assert_eq!(all.source, None);
        let down = UplinkGateway { candidate: UplinkCandidate { up: false, ..a.candidate }, ..a };
        let left = RoutingPlan::from_paths(TEST_BASE, &[down, b]);
        // An uplink that is down has its table still: connections stay, and probes use it.
        assert_eq!(left.rules, plan.rules);
        assert_eq!(left.routes[&(false, 7_800)].source, Some(b.source));
        let steps = left.steps_from(&plan);
        assert!(matches!(&steps[..], [RoutingStep::Route((false, 7_800), _)]), "{steps:?}");
        assert_eq!(RoutingPlan::default().steps_from(&plan).len(), 8 + 3);
    }

    fn paths() -> impl Strategy<Value = Vec<UplinkGateway>> {
        let one = (any::<bool>(), 0..=256_u16, 1..4_u8, any::<bool>(), any::<bool>());
        prop::collection::vec(one, 0..=8).prop_map(|all| {
            let made = |((up, weight, priority, v6, stands), number): (_, u8)| {
                let path = path(number, up, weight, priority, v6);
                UplinkGateway {
                    candidate: UplinkCandidate { is_usable: stands, ..path.candidate },
                    ..path
                }
            };
            all.into_iter().zip(1..).map(made).collect()
        })
    }

    #[test]
    fn entries_removed_by_others_differ_from_planned_changes() {
        let a = path(1, true, 1, 1, false);
        let b = path(2, true, 1, 1, false);
        let both = RoutingPlan::from_paths(TEST_BASE, &[a, b]);
        let one = RoutingPlan::from_paths(TEST_BASE, &[a]);
        assert_eq!(both.count_missing(&both, &both), 0);
        assert_eq!(one.count_missing(&both, &one), 0, "what is not wanted any more is no loss");
        assert_eq!(both.count_missing(&one, &one), 0, "what did not stand yet is none");
        let mut there = both.clone();
        there.rules.remove(0);
        there.routes.remove(&(false, 7_801));
        assert_eq!(both.count_missing(&both, &there), 2);
    }

    proptest! {
        #[test]
        fn steps_lead_there_and_no_rule_waits_for_its_table(before in paths(), after in paths()) {
            let (mut there, to) = (RoutingPlan::from_paths(TEST_BASE, &before), RoutingPlan::from_paths(TEST_BASE, &after));
            for step in to.steps_from(&there) {
                match &step {
                    RoutingStep::Clear(place) => prop_assert!(
                        !there.rules.iter().any(|rule| (rule.v6, rule.table) == *place && rule.priority != TEST_BASE.first_priority + 4)
                    ),
                    RoutingStep::Add(rule) if rule.priority != TEST_BASE.first_priority + 4 && rule.table != MAIN => {
                        prop_assert!(there.routes.contains_key(&(rule.v6, rule.table)));
                    }
                    _ => {}
                }
                there.apply_step(&step);
            }
            there.rules.sort_unstable();
            prop_assert_eq!(&there, &to);
            prop_assert!(to.steps_from(&there).is_empty());
            prop_assert!(to.rules.iter().all(|rule| (30_000..30_000 + RULES).contains(&rule.priority)));
            prop_assert!(to.routes.keys().all(|(_, table)| (7_800..=7_808).contains(table)));
            for path in after.iter().filter(|path| path.candidate.is_usable) {
                // An existing connection stays on its uplink, regardless of weights and health.
                let place = (path.gateway.is_ipv6(), TEST_BASE.first_table + u32::from(path.candidate.number));
                prop_assert_eq!(to.routes[&place].hops[0].gateway, path.gateway);
                prop_assert!(to.rules.iter().any(|rule| rule.selector == RuleSelector::From(path.source)));
            }
        }
    }
}
