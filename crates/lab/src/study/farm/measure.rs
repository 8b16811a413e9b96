//! Measures page rates in turns: a client, servers, a balancer with each allocator, and direct requests.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use files::TemporaryDir;

use super::allocator::{SYSTEM, available_allocators};
use super::analysis::{FarmCase, FarmPath, FarmRun};
use crate::load::{
    ConnectionReuse, HttpPlan, LoadModel, LoadPlan, LoadProtocol, LoadRun, TargetTls,
};
use crate::machine::procfs::process_seconds;
use crate::net::{ChecksumMode, SERVICE_V4, SiteLayout, TestSite, unique_name};
use crate::origin::{OriginKind, OriginOptions, TestOrigin};
use crate::study::balancer::StudyBalancer;
use crate::study::context::{StudyContext, StudyError};
use crate::study::parameter::Parameters;
use crate::study::report::PlotPoint;

/// The ports of the service, HTTP and HTTPS; a second balancer uses the next ones.
const PORTS: [u16; 2] = [80, 443];
/// The name in the balancer's certificate.
const NAME: &str = "farm.example";
/// Time limit for a page.
const LOAD_TIMEOUT: Duration = Duration::from_secs(60);
/// Interval between samples of the balancer's processor time.
const LOOK: Duration = Duration::from_millis(50);

#[derive(Debug, Default)]
pub struct FarmMeasurements {
    /// Cases with at least one run.
    pub cases: Vec<FarmCase>,
    /// Allocators that could not be measured, and why.
    pub unavailable: Vec<String>,
}

impl FarmMeasurements {
    /// Adds a run to its case, and returns the case.
    fn add(&mut self, of: &PlannedRun, allocator: Option<&'static str>, run: FarmRun) -> &FarmCase {
        let is = |case: &FarmCase| {
            (case.path, case.allocator, case.connections) == (of.path, allocator, of.connections)
        };
        let at = self.cases.iter().position(is).unwrap_or_else(|| {
            let PlannedRun { path: through, connections, .. } = *of;
            self.cases.push(FarmCase { path: through, allocator, connections, runs: Vec::new() });
            self.cases.len() - 1
        });
        self.cases[at].runs.push(run);
        &self.cases[at]
    }
}

/// A balancer and the allocator that it runs with.
struct AllocatorBalancer {
    allocator: &'static str,
    ports: [u16; 2],
    balancer: StudyBalancer,
}

/// A run of the plan.
struct PlannedRun {
    path: FarmPath,
    at: SocketAddr,
    connections: usize,
    by: Option<usize>,
}

/// Measures all cases. Returns false when the study was stopped early.
pub fn measure_all(
    stage: &StudyContext<'_>,
    parameters: &Parameters,
    measured: &mut FarmMeasurements,
) -> Result<bool, StudyError> {
    // Each server is a namespace and a process; 16 are as many as a small machine runs beside the balancer.
    let servers = u8::try_from(parameters.number("servers")).unwrap_or(u8::MAX).min(16);
    let layout = SiteLayout {
        local_servers: servers,
        checksums: ChecksumMode::Offloaded,
        ..SiteLayout::default()
    };
    let site = TestSite::open(&layout)?;
    let body = parameters.size("page");
    let mut origins = Vec::new();
    for node in &site.servers {
        let listen = SocketAddr::from((Ipv4Addr::UNSPECIFIED, PORTS[0]));
        let options =
            OriginOptions { listen, ..OriginOptions::new("server", OriginKind::Http { body }) };
        origins.push(node.run_inside(|| TestOrigin::start(options))??);
    }
    let certificate = SelfSignedCertificate::new()?;
    // All balancers run throughout, so that their runs can alternate.
    let mut balancers = start_balancers(stage, &site, &certificate, &mut measured.unavailable)?;
    let plan = plan_round(parameters, &site, &balancers);
    for round in 0..parameters.number("repeats") {
        // The order reverses in every other round, so that no case always runs first.
        let turns: Vec<&PlannedRun> =
            if round % 2 == 0 { plan.iter().collect() } else { plan.iter().rev().collect() };
        for planned in turns {
            if stage.is_stopped() {
                return Ok(false);
            }
            let mut by = planned.by.map(|place| &mut balancers[place]);
            let process = by.as_ref().map(|by| by.balancer.process());
            let run = run_load(stage, &site, load_plan(parameters, planned)?, process)?;
            if stage.is_stopped() {
                // The run was cut short.
                return Ok(false);
            }
            if let Some(by) = &mut by {
                by.balancer.check_running()?;
            }
            let rate = run.rate;
            let case = measured.add(planned, by.map(|by| by.allocator), run);
            let report =
                format!("{}: run {}: {rate:.1} pages a second", case.name(), case.runs.len());
            (stage.log)(&report);
        }
    }
    Ok(true)
}

/// Starts a balancer for each allocator, on its own ports. Every allocator but the system's may be unavailable.
fn start_balancers(
    stage: &StudyContext<'_>,
    site: &TestSite,
    certificate: &SelfSignedCertificate,
    missing: &mut Vec<String>,
) -> Result<Vec<AllocatorBalancer>, StudyError> {
    let mut balancers: Vec<AllocatorBalancer> = Vec::new();
    for (number, allocator) in (0..).zip(available_allocators()) {
        let ports = PORTS.map(|port| port + number);
        let body = configuration(site, certificate, ports);
        let started =
            StudyBalancer::start(&site.balancer, stage.program, &body, &allocator.environment);
        let balancer = match started {
            Ok(balancer) => balancer,
            Err(error) if allocator.name != SYSTEM => {
                missing.push(format!("the allocator {}: {error}", allocator.name));
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        match allocator.missing(balancer.process()) {
            Some(why) => missing.push(why),
            None => {
                balancers.push(AllocatorBalancer { allocator: allocator.name, ports, balancer })
            }
        }
    }
    Ok(balancers)
}

/// The runs of one round; runs that are compared with each other are neighbours.
fn plan_round(
    parameters: &Parameters,
    site: &TestSite,
    balancers: &[AllocatorBalancer],
) -> Vec<PlannedRun> {
    let connections: Vec<usize> =
        parameters.numbers("connections").into_iter().map(|number| number as usize).collect();
    let first = site.servers.first().map_or(Ipv4Addr::LOCALHOST, |server| server.host.v4);
    let through = FarmPath::Nothing;
    let at = SocketAddr::from((first, PORTS[0]));
    let direct =
        |connections: &usize| PlannedRun { path: through, at, connections: *connections, by: None };
    let mut out: Vec<PlannedRun> = connections.iter().map(direct).collect();
    for (port, through) in [FarmPath::Plain, FarmPath::Tls].into_iter().enumerate() {
        for connections in &connections {
            out.extend(balancers.iter().enumerate().map(|(place, by)| {
                let at = SocketAddr::from((SERVICE_V4, by.ports[port]));
                PlannedRun { path: through, at, connections: *connections, by: Some(place) }
            }));
        }
    }
    out
}

fn configuration(
    site: &TestSite,
    certificate: &SelfSignedCertificate,
    [plain, tls]: [u16; 2],
) -> String {
    let servers: Vec<String> =
        site.servers.iter().map(|server| format!("\"{}:{}\"", server.host.v4, PORTS[0])).collect();
    format!(
        "[service.plain]\nlisten = \"{SERVICE_V4}:{plain}\"\nforward = \"http\"\npool = \"farm\"\n\
         [service.secure]\nlisten = \"{SERVICE_V4}:{tls}\"\nforward = \"http\"\npool = \"farm\"\ntls = \"{}\"\n\
         [pool.farm]\nservers = [{}]\n",
        certificate.file.display(),
        servers.join(", "),
    )
}

fn load_plan(parameters: &Parameters, planned: &PlannedRun) -> Result<LoadPlan, StudyError> {
    let PlannedRun { path: through, at, connections, .. } = *planned;
    let secure = (through == FarmPath::Tls).then(|| TargetTls::unverified(NAME, &[b"http/1.1"]));
    let secure = secure.transpose().map_err(|error| StudyError::Nothing(error.to_string()))?;
    Ok(LoadPlan {
        persist: ConnectionReuse::PerRequest,
        pace: LoadModel::Closed { connections, think: Duration::ZERO },
        requests: Some(parameters.number("requests").into()),
        timeout: LOAD_TIMEOUT,
        grace: LOAD_TIMEOUT,
        // A full handshake for each connection, as ab makes.
        secure: secure.map(TargetTls::without_resumption),
        ..LoadPlan::new(at, LoadProtocol::Http(HttpPlan::get(NAME, "/")), connections)
    })
}

/// Makes a run and samples the balancer's processor time meanwhile.
fn run_load(
    stage: &StudyContext<'_>,
    site: &TestSite,
    plan: LoadPlan,
    process: Option<u32>,
) -> Result<FarmRun, StudyError> {
    let begun = Instant::now();
    let start = process.and_then(process_seconds);
    let load = site.client.run_inside(|| LoadRun::start(plan))??;
    let mut trace = Vec::new();
    let mut before = start.map(|used| (0.0, used));
    while !load.is_finished() {
        std::thread::park_timeout(LOOK);
        if stage.is_stopped() {
            load.stopper().stop();
        }
        let now =
            process.and_then(process_seconds).map(|used| (begun.elapsed().as_secs_f64(), used));
        if let (Some((at, used)), Some((then, had))) = (now, before)
            && at - then >= STEP
        {
            let value = (used - had) / (at - then) * 100.0;
            trace.push(PlotPoint { seconds: then, value });
            before = now;
        }
    }
    let took = begun.elapsed().as_secs_f64();
    let used = process.and_then(process_seconds).zip(start).map(|(after, start)| after - start);
    let report = load.wait();
    Ok(FarmRun {
        rate: report.answered as f64 / report.seconds.max(1e-9),
        mbit: report.bytes_in as f64 * 8e-6 / report.seconds.max(1e-9),
        half_ms: report.latency.p50_us / 1e3,
        longest_ms: report.latency.max_us / 1e3,
        failed: report.failed,
        busy: used.map(|used| used / took.max(1e-9) * 100.0),
        each_ms: used.map(|used| used * 1e3 / report.answered.max(1) as f64),
        trace,
    })
}

/// Seconds of a step of the trace. Processor time is counted in hundredths of a second.
/// Twenty ticks of 10 ms: processor time is exact to five percent.
const STEP: f64 = 0.2;

/// A self-signed certificate in a temporary directory, which is removed on drop.
struct SelfSignedCertificate {
    file: PathBuf,
    _dir: TemporaryDir,
}

impl SelfSignedCertificate {
    fn new() -> Result<SelfSignedCertificate, StudyError> {
        let made = rcgen::generate_simple_self_signed(vec![NAME.to_owned()]);
        let made = made.map_err(|error| StudyError::Nothing(format!("a certificate: {error}")))?;
        let dir = TemporaryDir::with_prefix(&unique_name("study"))?;
        let text = made.cert.pem() + &made.signing_key.serialize_pem();
        Ok(SelfSignedCertificate { file: dir.write("pair.pem", text)?, _dir: dir })
    }
}
