//! Measures rows of Table 1: a site, its server, the balancer with the return addresses wanted, and load from the client.

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
use crate::net::{BpfFs, SERVICE_V4, SiteLayout, TestSite};
use crate::origin::{OriginKind, OriginOptions, TestOrigin};
use crate::study::balancer::StudyBalancer;
use crate::study::context::{StudyContext, StudyError};
use crate::study::parameter::Parameters;

/// The port of the service and of the server.
const PORT: u16 = 80;
/// Less than a client waits before it sends a SYN again: what finds no port fails once.
pub const REQUEST_TIMEOUT: Duration = Duration::from_millis(900);
/// Ports of one client address that are used in a minute, so that none comes again while it rests. Linux gives every
/// second port first, and once those are used up looks through all of them for each connection.
const CLIENT_PORTS: f64 = 20_000.0;
/// Above a minute of connections at every rate.
const MOST_RESTING: &str = "8000000";
/// Between two looks at whether the run is over.
const LOOK: Duration = Duration::from_millis(20);

/// A site with a server, and what the balancer needs.
pub struct NatSite {
    // In the order in which it goes: what runs, what is mounted, where.
    /// The balancer, once it is started.
    pub balancer: Option<StudyBalancer>,
    _origin: TestOrigin,
    pins: BpfFs,
    /// Where all of it is.
    pub site: TestSite,
}

impl NatSite {
    pub fn open(parameters: &Parameters) -> Result<NatSite, StudyError> {
        let site = TestSite::open(&SiteLayout { local_servers: 1, ..SiteLayout::default() })?;
        // A port of the client's that rests is not taken again: it would meet the translation that rests with it.
        // So all of them must rest: beyond this number they are forgotten at once.
        site.client.write_sysctls(&[
            ("net/ipv4/tcp_tw_reuse", "0"),
            ("net/ipv4/tcp_max_tw_buckets", MOST_RESTING),
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

    /// Starts the balancer; `more` belongs to its service, `packets` to the packet plane.
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
             [pool.web]\nprobe = {{ tcp = true, every = \"500ms\", timeout = \"400ms\" }}\nservers = [\"{server}:{PORT}\"]\n",
            self.pins.path().display(),
        );
        self.balancer = Some(StudyBalancer::start(&self.site.balancer, stage.program, &body, &[])?);
        Ok(())
    }

    /// Whether what was measured was the balancer.
    pub fn check_balancer(&mut self) -> Result<(), StudyError> {
        Ok(self.balancer.as_mut().map_or(Ok(()), StudyBalancer::check_running)?)
    }

    /// Addresses of the client for so many connections: each has ports for a minute.
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

/// Connections with one request each.
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

/// The smallest table of flows with which so many return addresses have so many ports on average.
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

/// A row of Table 1.
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
    // The first closing time fills the ports; from then on as many come free as are taken.
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

/// Waits until then, or until told to stop; what the load has come to.
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
