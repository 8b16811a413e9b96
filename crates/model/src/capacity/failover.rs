//! Failover capacity: whether one member of a pair can carry the services of all shared addresses after another failed.
//!
//! A configuration file describes one member: groups whose priorities differ in it may be held by different members.
//! The capacity of other members is not known here.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::Serialize;

use super::forecast::{LimitKind, ServiceForecast};
use crate::config::{Config, ForwardingMode, ServiceConfig, VrrpConfig};

/// Groups that different members may hold at a time.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct FailoverCapacity {
    pub groups: Vec<GroupShare>,
    /// How much of each limit of one member all groups use together, the most used first; empty while no rate is
    /// stated.
    pub uses: Vec<FailoverUsage>,
    /// Services of these groups whose rates were not stated.
    pub unstated: Vec<String>,
    /// Whether one member carries everything; `None`: the stated rates do not decide that.
    pub one_carries_all: Option<bool>,
}

/// A group, and the services that the member holding it carries.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct GroupShare {
    pub group: String,
    /// The priority of this member in the group.
    pub priority: u8,
    pub services: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct FailoverUsage {
    pub kind: LimitKind,
    /// The service that alone has this limit; `None`: services share the limit.
    pub service: Option<String>,
    /// The part of each group, where 1 is all of the limit; in the order of the groups.
    pub groups: Vec<f64>,
    pub together: f64,
}

/// Sums the use of each limit over the groups. `rates`: requests a second of services, as far as stated. `None`: all
/// groups that have services have the same priority here, so one member holds them all.
pub fn forecast_failover(
    config: &Config,
    forecasts: &[ServiceForecast],
    rates: &BTreeMap<String, f64>,
) -> Option<FailoverCapacity> {
    let groups = group_shares(config);
    let first = groups.first()?.priority;
    if groups.iter().all(|share| share.priority == first) {
        return None;
    }
    let services = || groups.iter().flat_map(|share| &share.services);
    let unstated: Vec<String> =
        services().filter(|name| !rates.contains_key(*name)).cloned().collect();
    let uses = limit_usages(config, &groups, forecasts, rates);
    let one_carries_all = match uses.first() {
        Some(fullest) if fullest.together > 1.0 => Some(false),
        Some(_) if unstated.is_empty() => Some(true),
        _ => None,
    };
    Some(FailoverCapacity { groups, uses, unstated, one_carries_all })
}

/// Groups with the services at their addresses; a service at several belongs to the first.
fn group_shares(config: &Config) -> Vec<GroupShare> {
    let mut shares: Vec<GroupShare> = Vec::new();
    for group in config.vrrp.values() {
        let assigned = |name: &String| shares.iter().any(|share| share.services.contains(name));
        let here = config.services.values().filter(|service| is_served_by(service, group));
        let services: Vec<String> =
            here.map(|service| service.name.clone()).filter(|name| !assigned(name)).collect();
        if !services.is_empty() {
            shares.push(GroupShare {
                group: group.name.clone(),
                priority: group.priority,
                services,
            });
        }
    }
    shares
}

fn is_served_by(service: &ServiceConfig, group: &VrrpConfig) -> bool {
    let ours = |ip: IpAddr| group.addresses.contains(&ip);
    let packets = service.packets.iter().flat_map(|packets| &packets.listen);
    service.listen.iter().any(|listen| ours(listen.ip()))
        || packets.map(|span| span.address).any(ours)
}

fn limit_usages(
    config: &Config,
    groups: &[GroupShare],
    forecasts: &[ServiceForecast],
    rates: &BTreeMap<String, f64>,
) -> Vec<FailoverUsage> {
    // Translated connections use a separate flow table.
    let mut uses: Vec<(bool, FailoverUsage)> = Vec::new();
    for (place, name) in groups
        .iter()
        .enumerate()
        .flat_map(|(place, share)| share.services.iter().map(move |name| (place, name)))
    {
        let (Some(rate), Some(forecast)) =
            (rates.get(name), forecasts.iter().find(|forecast| &forecast.service == name))
        else {
            continue;
        };
        for limit in &forecast.limits {
            let own = is_own_limit(config, name, limit.kind).then(|| name.clone());
            let table = limit.kind == LimitKind::Flows && forecast.forward == ForwardingMode::Nat;
            let same = |(other, usage): &&mut (bool, FailoverUsage)| {
                *other == table && usage.kind == limit.kind && usage.service == own
            };
            let used = rate / limit.requests_per_second.0;
            let (_, usage) = match uses.iter_mut().find(same) {
                Some(usage) => usage,
                None => {
                    let none = vec![0.0; groups.len()];
                    let kind = limit.kind;
                    let service = own;
                    uses.push((
                        table,
                        FailoverUsage { kind, service, groups: none, together: 0.0 },
                    ));
                    let Some(last) = uses.last_mut() else { continue };
                    last
                }
            };
            if let Some(group) = usage.groups.get_mut(place) {
                *group += used;
            }
            usage.together += used;
        }
    }
    let mut uses: Vec<FailoverUsage> = uses.into_iter().map(|(_, usage)| usage).collect();
    uses.sort_by(|a, b| b.together.total_cmp(&a.together));
    uses
}

/// Whether a limit applies to this service alone. Ports count for each server's address, and two services are assumed
/// to have different servers.
fn is_own_limit(config: &Config, service: &str, kind: LimitKind) -> bool {
    match kind {
        LimitKind::Ports | LimitKind::Cap => true,
        LimitKind::Connections => {
            config.services.get(service).is_some_and(|service| service.limit.connections.is_some())
        }
        LimitKind::Flows
        | LimitKind::Descriptors
        | LimitKind::Bandwidth
        | LimitKind::Processors => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::demand::{MachineCapacity, ProcessingCost, TrafficDemand};
    use super::super::forecast::forecast_services;
    use super::super::ports::TimeWaitPolicy;
    use super::super::quantity::ByteCount;
    use super::super::wire::Duplex;
    use super::*;

    fn text(priorities: [u8; 2]) -> String {
        let [a, b] = priorities;
        let group = |name: &str, id, last, priority| {
            format!(
                "[vrrp.{name}]\ninterface = \"eth0\"\nid = {id}\naddresses = \"192.0.2.{last}\"\npriority = {priority}\n\
                 [service.{name}-shop]\nlisten = \"192.0.2.{last}:80\"\nforward = \"http\"\npool = \"web\"\n"
            )
        };
        let pool = "[pool.web]\nservers = [\"10.0.0.9:80\"]\n";
        group("a", 1, 10, a) + &group("b", 2, 11, b) + pool
    }

    /// Processors carry 20,000 requests a second of either service; descriptors carry 512 connections a second.
    fn machine() -> MachineCapacity {
        MachineCapacity {
            processors: 2,
            descriptors: 1_000_000,
            ports: 60_000,
            time_wait: TimeWaitPolicy::WHOLE,
            link: None,
            duplex: Duplex::Full,
            receive_buffer: ByteCount(6e6),
            send_buffer: ByteCount(4e6),
            cost: Some(ProcessingCost { request_us: 100.0, connection_us: 0.0, kibibyte_us: 0.0 }),
        }
    }

    fn forecast(priorities: [u8; 2], rates: &[(&str, f64)]) -> Option<FailoverCapacity> {
        let config = crate::config::load(&text(priorities), "test.toml").unwrap().config;
        let forecasts = forecast_services(&config, &TrafficDemand::default(), &machine());
        let rates = rates.iter().map(|(name, rate)| ((*name).to_owned(), *rate)).collect();
        forecast_failover(&config, &forecasts, &rates)
    }

    #[test]
    fn groups_of_one_priority_are_held_by_one_member() {
        assert_eq!(forecast([150, 150], &[]), None);
        let capacity = forecast([150, 100], &[]).unwrap();
        let names: Vec<&str> = capacity.groups.iter().map(|share| share.group.as_str()).collect();
        assert_eq!(
            (names, capacity.one_carries_all, capacity.uses),
            (vec!["a", "b"], None, vec![])
        );
        assert_eq!(capacity.unstated, ["a-shop", "b-shop"]);
    }

    #[test]
    fn both_shares_must_fit_into_one_member() {
        // Each rate is below the 20,000 a second that processors carry; both together are above.
        let rows = [(9_000.0, 9_000.0, Some(true)), (12_000.0, 9_000.0, Some(false))];
        for (a, b, carries) in rows {
            let capacity = forecast([150, 100], &[("a-shop", a), ("b-shop", b)]).unwrap();
            assert_eq!(capacity.one_carries_all, carries, "{capacity:?}");
            let shared =
                capacity.uses.iter().find(|usage| usage.kind == LimitKind::Processors).unwrap();
            assert!((shared.together - (a + b) / 20_000.0).abs() < 1e-9, "{shared:?}");
            assert!((shared.groups[0] - a / 20_000.0).abs() < 1e-9, "{shared:?}");
        }
    }

    #[test]
    fn what_was_not_stated_is_not_taken_to_be_nothing() {
        let capacity = forecast([150, 100], &[("a-shop", 9_000.0)]).unwrap();
        assert_eq!(
            (capacity.one_carries_all, capacity.unstated),
            (None, vec!["b-shop".to_owned()])
        );
        let capacity = forecast([150, 100], &[("a-shop", 21_000.0)]).unwrap();
        assert_eq!(capacity.one_carries_all, Some(false));
    }

    #[test]
    fn translated_connections_are_in_a_table_of_their_own() {
        let plane = "[packets]\nflows = 4096\nreturn = \"192.0.2.99\"\n";
        let tables = |forwards: [&str; 2]| {
            let text = text([150, 100]).replacen("http", forwards[0], 1);
            let text = plane.to_owned() + &text.replacen("http", forwards[1], 1);
            let config = crate::config::load(&text, "test.toml").unwrap().config;
            let forecasts = forecast_services(&config, &TrafficDemand::default(), &machine());
            let rates = ["a-shop", "b-shop"].map(|name| (name.to_owned(), 10.0)).into();
            let capacity = forecast_failover(&config, &forecasts, &rates).unwrap();
            capacity.uses.iter().filter(|one| one.kind == LimitKind::Flows).count()
        };
        assert_eq!([tables(["nat", "nat"]), tables(["nat", "tunnel"])], [1, 2]);
    }

    #[test]
    fn ports_towards_its_servers_are_a_services_own() {
        let capacity = forecast([150, 100], &[("a-shop", 9_000.0), ("b-shop", 9_000.0)]).unwrap();
        let ports: Vec<&FailoverUsage> =
            capacity.uses.iter().filter(|one| one.kind == LimitKind::Ports).collect();
        assert_eq!(ports.len(), 2);
        assert!(
            ports.iter().all(|usage| usage.service.is_some() && usage.together < 1.0),
            "{ports:?}"
        );
    }
}
