//! The difference between two states of the live feed: services, pools and servers that did not change are left out.
//!
//! It compares values and knows no meaning; `api::types::live` says what readers do with it.

use std::mem::take;

use api::types::{PoolReport, PoolStatus, Report, StateUpdate, Status};

/// The changed parts of a scene. `None`: names were added or removed, so only the whole scene describes the change.
/// `now` is complete on return.
pub(super) fn scene_difference(before: &StateUpdate, now: &mut StateUpdate) -> Option<StateUpdate> {
    let status = status_difference(&before.status, &mut now.status)?;
    let report = report_difference(&before.report, &mut now.report)?;
    Some(StateUpdate { sequence: now.sequence, next_ms: now.next_ms, status, report })
}

fn status_difference(old: &Status, new: &mut Status) -> Option<Status> {
    let services = differing(&old.services, &new.services, |service| &service.name)?;
    let pairs = pair_by_name(&old.pools, &new.pools, |pool| &pool.name)?;
    let pools: Option<Vec<Option<PoolStatus>>> =
        pairs.map(|(old, new)| pool_status(old, new)).collect();
    let pools = pools?.into_iter().flatten().collect();
    // The long parts are moved away, so that copying the rest is cheap.
    let long_services = take(&mut new.services);
    let long_pools = take(&mut new.pools);
    let rest = new.clone();
    new.services = long_services;
    new.pools = long_pools;
    Some(Status { services, pools, ..rest })
}

fn report_difference(old: &Report, new: &mut Report) -> Option<Report> {
    let services = differing(&old.services, &new.services, |service| &service.name)?;
    let pairs = pair_by_name(&old.pools, &new.pools, |pool| &pool.name)?;
    let pools: Option<Vec<Option<PoolReport>>> =
        pairs.map(|(old, new)| pool_report(old, new)).collect();
    let pools = pools?.into_iter().flatten().collect();
    let long_services = take(&mut new.services);
    let long_pools = take(&mut new.pools);
    let rest = new.clone();
    new.services = long_services;
    new.pools = long_pools;
    Some(Report { services, pools, ..rest })
}

/// `None`: servers were added or removed. `Some(None)`: nothing has changed.
fn pool_status(old: &PoolStatus, new: &PoolStatus) -> Option<Option<PoolStatus>> {
    let servers = differing(&old.servers, &new.servers, |server| &server.name)?;
    let bare = |pool: &PoolStatus, servers| PoolStatus {
        name: pool.name.clone(),
        balance: pool.balance.clone(),
        errors: pool.errors,
        servers,
        waiting: pool.waiting,
        shedding_since_unix_ms: pool.shedding_since_unix_ms,
        circuit_breakers: pool.circuit_breakers.clone(),
    };
    let same = servers.is_empty() && bare(old, Vec::new()) == bare(new, Vec::new());
    Some((!same).then(|| bare(new, servers)))
}

fn pool_report(old: &PoolReport, new: &PoolReport) -> Option<Option<PoolReport>> {
    let servers = differing(&old.servers, &new.servers, |server| &server.name)?;
    let same = servers.is_empty() && old.counts == new.counts && old.errors == new.errors;
    let name = new.name.clone();
    let counts = new.counts.clone();
    let errors = new.errors;
    Some((!same).then_some(PoolReport { name, counts, errors, servers }))
}

fn differing<T: Clone + PartialEq>(
    old: &[T],
    new: &[T],
    name: impl Fn(&T) -> &String,
) -> Option<Vec<T>> {
    let pairs = pair_by_name(old, new, name)?;
    Some(pairs.filter(|(old, new)| old != new).map(|(_, new)| new.clone()).collect())
}

/// Both of each name; `None`: the names or their order differ.
fn pair_by_name<'t, T>(
    old: &'t [T],
    new: &'t [T],
    name: impl Fn(&T) -> &String,
) -> Option<impl Iterator<Item = (&'t T, &'t T)>> {
    let same =
        old.len() == new.len() && old.iter().zip(new).all(|(old, new)| name(old) == name(new));
    same.then(|| old.iter().zip(new))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observability::report::{self, fixture};
    use std::sync::Arc;
    use std::time::{Instant, SystemTime};

    const TEXT: &str = r#"
[service.shop]
listen = "127.0.0.1:8080"
forward = "http"
pool = "web"
[service.blog]
listen = "127.0.0.1:8081"
forward = "http"
pool = "blog"
[pool.web]
servers = [ { name = "a", address = "127.0.0.1:1001" }, { name = "b", address = "127.0.0.1:1002" } ]
[pool.blog]
servers = [ { name = "c", address = "127.0.0.1:1003" } ]
"#;

    fn scene(sequence: u64) -> StateUpdate {
        let snapshot = fixture::state_snapshot(TEXT, 1);
        let facts = report::report_sources::ProcessFacts::default();
        let now = SystemTime::UNIX_EPOCH;
        let status = report::status::build_status(&snapshot, &facts, |_| None, now);
        let sample =
            report::sample::CounterSample::read(&snapshot.snapshot, 0, Instant::now(), None);
        let sample = Arc::new(sample);
        let report = report::build_report(&snapshot.snapshot, &sample, &sample, &facts, now);
        StateUpdate { sequence, next_ms: 1000, status, report }
    }

    fn put<T>(into: &mut [T], new: T, name: impl Fn(&T) -> &String) {
        let at = into.iter().position(|entry| name(entry) == name(&new)).unwrap();
        into[at] = new;
    }

    /// How a client applies a change, as `api::types::live` documents it.
    fn applied(mut old: StateUpdate, change: StateUpdate) -> StateUpdate {
        let status = change.status.clone();
        let report = change.report.clone();
        for service in status.services {
            put(&mut old.status.services, service, |service_status| &service_status.name);
        }
        for pool in status.pools {
            let into = old.status.pools.iter_mut().find(|status| status.name == pool.name).unwrap();
            let mut servers = take(&mut into.servers);
            for server in &pool.servers {
                put(&mut servers, server.clone(), |server_status| &server_status.name);
            }
            *into = PoolStatus { servers, ..pool };
        }
        for service in report.services {
            put(&mut old.report.services, service, |service_report| &service_report.name);
        }
        for pool in report.pools {
            let into = old.report.pools.iter_mut().find(|report| report.name == pool.name).unwrap();
            into.counts = pool.counts;
            into.errors = pool.errors;
            for server in pool.servers {
                put(&mut into.servers, server, |server_report| &server_report.name);
            }
        }
        StateUpdate {
            status: Status {
                services: old.status.services,
                pools: old.status.pools,
                ..change.status
            },
            report: Report {
                services: old.report.services,
                pools: old.report.pools,
                ..change.report
            },
            ..change
        }
    }

    #[test]
    fn only_what_differs_is_reported_and_the_reader_has_all_of_it_again() {
        let before = scene(1);
        let mut now = StateUpdate { sequence: 2, ..before.clone() };
        now.status.pools[1].servers[0].in_flight = 7;
        now.report.services[0].counts.requests.in_flight = 7;
        now.status.warnings.push("one".into());
        let unchanged = now.clone();
        let change = scene_difference(&before, &mut now).unwrap();
        assert_eq!(now, unchanged);
        assert_eq!((change.status.services.len(), change.status.pools.len()), (0, 1));
        assert_eq!((change.status.pools[0].servers.len(), change.report.services.len()), (1, 1));
        assert!(change.report.pools.is_empty());
        assert_eq!(applied(before, change), now);
    }

    #[test]
    fn names_that_come_or_go_need_the_whole() {
        let before = scene(1);
        let mut fewer = before.clone();
        fewer.status.pools[1].servers.pop();
        assert_eq!(scene_difference(&before, &mut fewer), None);
        let mut other = before.clone();
        other.report.services[0].name = "other".into();
        assert_eq!(scene_difference(&before, &mut other), None);
        let mut more = before.clone();
        more.status.services.push(more.status.services[0].clone());
        assert_eq!(scene_difference(&before, &mut more), None);
    }
}
