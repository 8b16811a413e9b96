//! A snapshot of servers and clients, and the difference of two: the rows of the table. Pure.
//!
//! `environment` takes the snapshots.

use std::net::SocketAddr;
use std::time::{Duration, SystemTime};

use lab::load::LoadReport;
use model::snapshot::ServerState;
use model::stats::HistogramSum;

/// Everything as of one moment.
#[derive(Clone, Debug)]
pub struct DemoSnapshot {
    /// Since the load began.
    pub at: Duration,
    /// The same moment, for ages.
    pub clock: SystemTime,
    /// The clients' results of each service.
    pub clients: Vec<ServiceClients>,
    /// The balancer's view of its servers, in the order of their numbers.
    pub servers: Vec<ServerSnapshot>,
    /// Attempts after the first, and replays.
    pub retried: u64,
}

/// The clients of one service.
#[derive(Clone, Debug)]
pub struct ServiceClients {
    pub service: &'static str,
    pub forward: &'static str,
    pub listen: SocketAddr,
    pub report: LoadReport,
}

/// One server, as the balancer sees it.
#[derive(Clone, Debug)]
pub struct ServerSnapshot {
    pub name: String,
    /// The state of the server.
    pub state: ServerState,
    pub since: SystemTime,
    pub reason: String,
    /// Whether it was killed here.
    pub killed: bool,
    /// Exchanges or connections under way.
    pub in_flight: u32,
    /// Requests or connections that it was given.
    pub requests: u64,
    /// Of those, ended other than well, at this server.
    pub failures: u64,
    pub times: HistogramSum,
}

/// The content of the screen.
#[derive(Clone, Debug)]
pub struct DemoFrame {
    /// Since the load began.
    pub at: Duration,
    /// A row a service.
    pub services: Vec<ServiceRow>,
    /// A row a server.
    pub servers: Vec<ServerRow>,
    /// Requests of all clients.
    pub requests: u64,
    pub failed: u64,
    pub causes: Vec<DemoFailures>,
    /// Attempts after the first, and replays.
    pub retried: u64,
}

/// The failed requests of all clients with one cause.
#[derive(Clone, Copy, Debug)]
pub struct DemoFailures {
    /// The cause's name.
    pub cause: &'static str,
    pub failed: u64,
}

/// A service, as its clients see it.
#[derive(Clone, Debug, PartialEq)]
pub struct ServiceRow {
    pub name: &'static str,
    pub forward: &'static str,
    pub listen: SocketAddr,
    /// Over the last second or so.
    pub recent: RecentRates,
    /// Asked and not answered yet.
    pub in_flight: u64,
    /// Failed since the start.
    pub failed: u64,
}

/// A server, as the balancer sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerRow {
    pub name: String,
    /// The state of the server.
    pub state: ServerState,
    pub age: Duration,
    pub reason: String,
    /// Whether it was killed here.
    pub killed: bool,
    /// Over the last second or so.
    pub recent: RecentRates,
    pub in_flight: u32,
    /// Ended other than well, since the start.
    pub failures: u64,
}

/// Rates and times of a short span.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RecentRates {
    pub per_second: f64,
    /// Half took at most so many microseconds; `None`: nothing was answered.
    pub p50_us: Option<u64>,
    /// 99 % took at most so many microseconds.
    pub p99_us: Option<u64>,
}

impl DemoFrame {
    /// The present state, with rates since `earlier`.
    pub fn between(earlier: &DemoSnapshot, now: &DemoSnapshot) -> DemoFrame {
        let span = now.at.saturating_sub(earlier.at);
        let services = now.clients.iter().zip(&earlier.clients);
        let servers = now.servers.iter().zip(&earlier.servers);
        let mut causes: Vec<DemoFailures> = Vec::new();
        for (cause, count) in now.clients.iter().flat_map(|clients| &clients.report.failed_by_cause)
        {
            match causes.iter_mut().find(|known| known.cause == *cause) {
                Some(known) => known.failed += count,
                None => causes.push(DemoFailures { cause, failed: *count }),
            }
        }
        DemoFrame {
            at: now.at,
            services: services.map(|(now, earlier)| ServiceRow::between(earlier, now)).collect(),
            servers: servers
                .map(|(server, earlier)| ServerRow::between(earlier, server, span, now.clock))
                .collect(),
            requests: now.requests(),
            failed: now.failed(),
            causes,
            retried: now.retried,
        }
    }
}

impl DemoSnapshot {
    /// Requests of all clients.
    pub fn requests(&self) -> u64 {
        self.clients.iter().map(|clients| clients.report.requests).sum()
    }

    /// Failed requests of all clients.
    pub fn failed(&self) -> u64 {
        self.clients.iter().map(|clients| clients.report.failed).sum()
    }
}

impl ServiceRow {
    fn between(earlier: &ServiceClients, now: &ServiceClients) -> ServiceRow {
        let span = now.report.since(&earlier.report);
        let micros = |value: f64| (span.answered > 0).then_some(value as u64);
        ServiceRow {
            name: now.service,
            forward: now.forward,
            listen: now.listen,
            recent: RecentRates {
                per_second: span.answered_per_second,
                p50_us: micros(span.latency.p50_us),
                p99_us: micros(span.latency.p99_us),
            },
            in_flight: now.report.in_flight,
            failed: now.report.failed,
        }
    }
}

impl ServerRow {
    fn between(
        earlier: &ServerSnapshot,
        now: &ServerSnapshot,
        span: Duration,
        clock: SystemTime,
    ) -> ServerRow {
        let requests = now.requests.saturating_sub(earlier.requests) as f64;
        let seconds = span.as_secs_f64();
        let times = difference(&earlier.times, &now.times);
        let micros = |quantile| {
            let time: Duration = times.quantile(quantile)?;
            u64::try_from(time.as_micros()).ok()
        };
        ServerRow {
            name: now.name.clone(),
            state: now.state,
            age: clock.duration_since(now.since).unwrap_or_default(),
            reason: now.reason.clone(),
            killed: now.killed,
            recent: RecentRates {
                per_second: if seconds > 0.0 { requests / seconds } else { 0.0 },
                p50_us: micros(0.5),
                p99_us: micros(0.99),
            },
            in_flight: now.in_flight,
            failures: now.failures,
        }
    }
}

fn difference(earlier: &HistogramSum, now: &HistogramSum) -> HistogramSum {
    let mut span = now.clone();
    for (left, before) in span.buckets.iter_mut().zip(&earlier.buckets) {
        *left = left.saturating_sub(*before);
    }
    span.sum_nanos = span.sum_nanos.saturating_sub(earlier.sum_nanos);
    span
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(requests: u64, times: &[(usize, u64)]) -> ServerSnapshot {
        let mut sum = HistogramSum::default();
        times.iter().for_each(|(bucket, count)| sum.buckets[*bucket] = *count);
        ServerSnapshot {
            name: "web/a".to_owned(),
            state: ServerState::Up,
            since: SystemTime::UNIX_EPOCH + Duration::from_secs(10),
            reason: "it answers".to_owned(),
            killed: false,
            in_flight: 2,
            requests,
            failures: 1,
            times: sum,
        }
    }

    #[test]
    fn rates_and_times_are_of_the_span_alone() {
        let earlier = server(1_000, &[(100, 1_000)]);
        let now = server(1_500, &[(0, 495), (2, 5), (100, 1_000)]);
        let clock = SystemTime::UNIX_EPOCH + Duration::from_secs(13);
        let row = ServerRow::between(&earlier, &now, Duration::from_secs(2), clock);
        assert_eq!(row.recent.per_second, 250.0);
        assert_eq!((row.recent.p50_us, row.recent.p99_us), (Some(1), Some(1)));
        assert_eq!(row.age, Duration::from_secs(3));
        let same = ServerRow::between(&now, &now, Duration::ZERO, clock);
        assert_eq!(same.recent, RecentRates::default(), "no span, no rate");
    }
}
