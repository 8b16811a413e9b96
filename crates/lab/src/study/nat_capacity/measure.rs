//! Measures rows of Table 1: a site with its server, a balancer with the return addresses, and load from the client.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use l4::plan::distribute_ports;
use model::capacity::ports::sustained_rate;

use super::measurements::CapacityRow;
use crate::load::{
    ClosingSide, ConnectionReuse, FailureCause, HttpPlan, LoadModel, LoadPlan, LoadProtocol,
    LoadReport, LoadRun,
};
use crate::machine::procfs::machine_facts;
use crate::net::{BpfFs, SERVICE_V4, SiteLayout, SysctlSetting, TestSite};
use crate::origin::{OriginKind, OriginOptions, TestOrigin};
use crate::study::balancer::StudyBalancer;
use crate::study::context::{StudyContext, StudyError};
use crate::study::parameter::Parameters;

/// The port of the service and of the server.
const PORT: u16 = 80;
/// Shorter than the first SYN retransmission timeout, so that a connection without a port fails exactly once.
pub const REQUEST_TIMEOUT: Duration = Duration::from_millis(900);
/// Ports of one client address used in a minute, few enough that none is reused in TIME_WAIT. Linux uses every second
/// port first; once they are exhausted, each connection searches all ports.
const CLIENT_PORTS: f64 = 20_000.0;
/// More than the connections of a minute at any rate.
const MOST_RESTING: &str = "8000000";
/// Interval between checks for the end of a run.
const LOOK: Duration = Duration::from_millis(20);

/// A site with a server, and what the balancer needs.
pub struct NatSite {
    // Fields drop in this order: processes first, then the mount, then the namespaces.
    /// The balancer, once started.
    pub balancer: Option<StudyBalancer>,
    _origin: TestOrigin,
    pins: BpfFs,
    pub site: TestSite,
}

impl NatSite {
    pub fn open(parameters: &Parameters) -> Result<NatSite, StudyError> {
        let site = TestSite::open(&SiteLayout { local_servers: 1, ..SiteLayout::default() })?;
        // A client port in TIME_WAIT must not be reused: it would meet the NAT entry that waits with it. So the limit
        // must cover all of them: the kernel drops TIME_WAIT sockets beyond it at once.
        site.client.write_sysctls(&[
            SysctlSetting { path: "net/ipv4/tcp_tw_reuse", value: "0" },
            SysctlSetting { path: "net/ipv4/tcp_max_tw_buckets", value: MOST_RESTING },
        ])?;
        let body = parameters.size("answer");
        let listen = SocketAddr::from((Ipv4Addr::UNSPECIFIED, PORT));
        let options =
            OriginOptions { listen, ..OriginOptions::new("server", OriginKind::Http { body }) };
        let server =
            site.servers.first().ok_or_else(|| StudyError::Nothing("no server".to_owned()))?;
        let origin = server.run_inside(|| TestOrigin::start(options))??;
        Ok(NatSite { balancer: None, _origin: origin, pins: BpfFs::mount()?, site })
    }

    /// Starts the balancer; `more` is added to its service, `packets` to the `[packets]` section.
    pub fn start_balancer(
        &mut self,
        stage: &StudyContext<'_>,
        forward: &str,
        more: &str,
        packets: &str,
    ) -> Result<(), StudyError> {
        let server = self.site.servers.first().map_or(Ipv4Addr::LOCALHOST, |server| server.host.v4);
        let body = format!(
            "[packets]\ninterfaces = [\"eth0\"]\npins = \"{}/plane\"\n{packets}\n\
             [service.shop]\nlisten = \"{SERVICE_V4}:{PORT}\"\nforward = \"{forward}\"\npool = \"web\"\n{more}\n\
             [pool.web]\nprobe = {{ tcp = true, interval = \"500ms\", timeout = \"400ms\" }}\nservers = [\"{server}:{PORT}\"]\n",
            self.pins.path().display(),
        );
        self.balancer = Some(StudyBalancer::start(&self.site.balancer, stage.program, &body, &[])?);
        Ok(())
    }

    /// Fails if the balancer has ended, because the measurement is then invalid.
    pub fn check_balancer(&mut self) -> Result<(), StudyError> {
        Ok(self.balancer.as_mut().map_or(Ok(()), StudyBalancer::check_running)?)
    }

    /// Adds enough client addresses for this many connections; a port of each serves once a minute.
    pub fn sources(&self, connections: f64) -> Result<Vec<IpAddr>, StudyError> {
        // Host numbers 100 to 219 of the client's subnet.
        let count = (connections / CLIENT_PORTS).ceil().clamp(1.0, 120.0) as u8;
        let [a, b, c, _] = self.site.client.host.v4.octets();
        let more: Vec<Ipv4Addr> =
            (0..count).map(|number| Ipv4Addr::new(a, b, c, 100 + number)).collect();
        let lines: String =
            more.iter().map(|one| format!("addr add {one}/24 dev eth0\n")).collect();
        self.site.client.ip(&lines)?;
        Ok(more.into_iter().map(IpAddr::from).collect())
    }
}

/// A load plan with one request per connection.
pub fn connection_plan(pace: LoadModel, sources: Vec<IpAddr>) -> LoadPlan {
    let at = SocketAddr::from((SERVICE_V4, PORT));
    let connections = match pace {
        LoadModel::Open { connections, .. } | LoadModel::Closed { connections, .. } => connections,
    };
    LoadPlan {
        pace,
        persist: ConnectionReuse::ClosedBy(ClosingSide::Client),
        timeout: REQUEST_TIMEOUT,
        grace: REQUEST_TIMEOUT,
        sources,
        ..LoadPlan::new(at, LoadProtocol::Http(HttpPlan::get(&at.to_string(), "/")), connections)
    }
}

/// The smallest flow table that gives the return addresses this many ports each on average.
fn flow_table_size(ports: u32, addresses: u32) -> u32 {
    let wanted = u64::from(ports) * u64::from(addresses);
    let has = |flows: u32| {
        distribute_ports(flows, addresses).iter().map(|n| u64::from(*n)).sum::<u64>() >= wanted
    };
    let mut least = 1_024;
    let mut most = 1 << 22;
    while least < most {
        let middle = least + (most - least) / 2;
        if has(middle) { most = middle } else { least = middle + 1 }
    }
    least
}

pub fn measure_row(
    stage: &StudyContext<'_>,
    parameters: &Parameters,
    addresses: u32,
    closing: Duration,
) -> Result<CapacityRow, StudyError> {
    let flows = flow_table_size(parameters.number("ports"), addresses);
    let ports = distribute_ports(flows, addresses);
    let all: u32 = ports.iter().sum();
    let allowed = sustained_rate(all, 1, Duration::ZERO, closing).0;
    let offered = allowed * f64::from(parameters.number("offered")) / 100.0;
    let mut bench = NatSite::open(parameters)?;
    let returns: Vec<String> = bench
        .site
        .return_addresses()
        .iter()
        .take(addresses as usize)
        .map(|host| format!("\"{}\"", host.v4))
        .collect();
    let packets = format!("flows = {flows}\nreturn = [{}]", returns.join(", "));
    bench.start_balancer(
        stage,
        "nat",
        &format!("fin-timeout = \"{}ms\"", closing.as_millis()),
        &packets,
    )?;
    let periods = parameters.number("periods");
    // A client port rests for a minute in TIME_WAIT, so a longer run needs no more addresses.
    let sources = bench.sources(offered * (closing * (periods + 1)).as_secs_f64().min(60.0))?;
    // Half more than the connections that may wait for their timeout at once.
    let waiting = (offered * REQUEST_TIMEOUT.as_secs_f64() * 1.5) as usize;
    // 200 descriptors are for everything else of the process.
    let most = machine_facts().descriptors.saturating_sub(200) as usize;
    let pace = LoadModel::Open { per_second: offered, connections: waiting.max(64).min(most) };
    let load =
        bench.site.client.run_inside(|| LoadRun::start(connection_plan(pace, sources)))??;
    // The first closing time fills the ports; afterwards as many are released as are allocated.
    let first = wait_until(stage, &load, Instant::now() + closing);
    let counted = wait_until(stage, &load, Instant::now() + closing * periods);
    let steady = counted.since(&first);
    let busiest = load.cpu().iter().map(Duration::as_secs_f64).fold(0.0, f64::max)
        / counted.seconds.max(1e-9);
    load.stopper().stop();
    load.wait();
    bench.check_balancer()?;
    Ok(CapacityRow {
        addresses,
        closing: closing.as_secs_f64(),
        ports,
        allowed,
        offered: steady.requests as f64 / steady.seconds.max(1e-9),
        rate: steady.answered_per_second,
        no_port: steady.count(FailureCause::ConnectTimeout)
            + steady.count(FailureCause::Timeout)
            + steady.count(FailureCause::NotSent),
        failed: steady
            .failed_by_cause
            .iter()
            .map(|(cause, count)| ((*cause).to_owned(), *count))
            .collect(),
        generator_busy: busiest,
    })
}

/// Waits until `end` or until the study is stopped; returns the report of the load so far.
pub fn wait_until(stage: &StudyContext<'_>, load: &LoadRun, end: Instant) -> LoadReport {
    while Instant::now() < end && !stage.is_stopped() && !load.is_finished() {
        std::thread::park_timeout(LOOK);
    }
    load.report()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_have_room_for_the_ports_that_are_wanted() {
        for (ports, addresses) in [(600, 1), (600, 2), (64_510, 1), (64_510, 2), (300, 4)] {
            let flows = flow_table_size(ports, addresses);
            let has: u32 = distribute_ports(flows, addresses).iter().sum();
            assert!(
                has >= ports * addresses && has <= ports * addresses + addresses,
                "{ports} × {addresses}: {has}"
            );
            assert!(flows >= 1_024);
        }
    }
}
