//! Measures: a client, a balancer with each allocator, servers, and pages through and past the balancers, in turns.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use files::TemporaryDir;

use super::allocator::{SYSTEM, both};
use super::judge::{Case, Run, Through};
use crate::load::{HttpPlan, Load, Pace, Persist, Plan, Protocol, Secure};
use crate::machine::read::used_by;
use crate::net::{Checksums, Layout, SERVICE_V4, Site, fresh};
use crate::origin::{Kind, Options, Origin};
use crate::study::balancer::Balancer;
use crate::study::parameter::Parameters;
use crate::study::stage::{Stage, StudyError};

/// The ports of the service, plain and over TLS; a second balancer has the next ones.
const PORTS: [u16; 2] = [80, 443];
/// A name in the balancer's certificate.
const NAME: &str = "farm.example";
/// How long a page may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks at the balancer's processor time.
const LOOK: Duration = Duration::from_millis(50);

/// What was measured.
#[derive(Debug, Default)]
pub struct Measured {
    /// Cases with at least one run.
    pub cases: Vec<Case>,
    /// What could not be measured, and why.
    pub missing: Vec<String>,
}

impl Measured {
    /// Adds a run to its case, and returns the case.
    fn add(&mut self, of: &Planned, allocator: Option<&'static str>, run: Run) -> &Case {
        let is = |case: &Case| {
            (case.through, case.allocator, case.connections)
                == (of.through, allocator, of.connections)
        };
        let at = self.cases.iter().position(is).unwrap_or_else(|| {
            let Planned { through, connections, .. } = *of;
            self.cases.push(Case { through, allocator, connections, runs: Vec::new() });
            self.cases.len() - 1
        });
        self.cases[at].runs.push(run);
        &self.cases[at]
    }
}

/// A balancer that runs with an allocator.
struct Balanced {
    allocator: &'static str,
    ports: [u16; 2],
    balancer: Balancer,
}

/// Runs that are to be made.
struct Planned {
    through: Through,
    at: SocketAddr,
    connections: usize,
    /// The balancer's place.
    by: Option<usize>,
}

/// Everything; false: stopped before its end.
pub fn all(
    stage: &Stage<'_>,
    parameters: &Parameters,
    measured: &mut Measured,
) -> Result<bool, StudyError> {
    let servers = u8::try_from(parameters.number("servers")).unwrap_or(u8::MAX).min(16);
    let layout = Layout { near: servers, checksums: Checksums::Offloaded, ..Layout::default() };
    let site = Site::open(&layout)?;
    let body = parameters.size("page");
    let mut origins = Vec::new();
    for node in &site.servers {
        let listen = SocketAddr::from((Ipv4Addr::UNSPECIFIED, PORTS[0]));
        let options = Options { listen, ..Options::new("server", Kind::Http { body }) };
        origins.push(node.within(|| Origin::start(options))??);
    }
    let certificate = Certificate::new()?;
    // All run all the time, so that each can have its turn.
    let mut balancers = start(stage, &site, &certificate, &mut measured.missing)?;
    let plan = plan(parameters, &site, &balancers);
    for round in 0..parameters.number("repeats") {
        // There and back, so that nobody always comes first.
        let turns: Vec<&Planned> =
            if round % 2 == 0 { plan.iter().collect() } else { plan.iter().rev().collect() };
        for planned in turns {
            if stage.stops() {
                return Ok(false);
            }
            let mut by = planned.by.map(|place| &mut balancers[place]);
            let process = by.as_ref().map(|by| by.balancer.process());
            let run = watched(stage, &site, load(parameters, planned)?, process)?;
            if stage.stops() {
                // It ended before its time.
                return Ok(false);
            }
            if let Some(by) = &mut by {
                by.balancer.still_runs()?;
            }
            let rate = run.rate;
            let case = measured.add(planned, by.map(|by| by.allocator), run);
            let told =
                format!("{}: run {}: {rate:.1} pages a second", case.name(), case.runs.len());
            (stage.told)(&told);
        }
    }
    Ok(true)
}

/// A balancer for each allocator, on ports of its own; what another one than the system's does not come to is missing.
fn start(
    stage: &Stage<'_>,
    site: &Site,
    certificate: &Certificate,
    missing: &mut Vec<String>,
) -> Result<Vec<Balanced>, StudyError> {
    let mut balancers: Vec<Balanced> = Vec::new();
    for (number, allocator) in (0..).zip(both()) {
        let ports = PORTS.map(|port| port + number);
        let body = configuration(site, certificate, ports);
        let started = Balancer::start(&site.balancer, stage.program, &body, &allocator.environment);
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
            None => balancers.push(Balanced { allocator: allocator.name, ports, balancer }),
        }
    }
    Ok(balancers)
}

/// A round: what is compared with each other stands together.
fn plan(parameters: &Parameters, site: &Site, balancers: &[Balanced]) -> Vec<Planned> {
    let connections: Vec<usize> =
        parameters.numbers("connections").into_iter().map(|number| number as usize).collect();
    let first = site.servers.first().map_or(Ipv4Addr::LOCALHOST, |server| server.host.v4);
    let (through, at) = (Through::Nothing, SocketAddr::from((first, PORTS[0])));
    let direct = |connections: &usize| Planned { through, at, connections: *connections, by: None };
    let mut out: Vec<Planned> = connections.iter().map(direct).collect();
    for (port, through) in [Through::Plain, Through::Tls].into_iter().enumerate() {
        for connections in &connections {
            out.extend(balancers.iter().enumerate().map(|(place, by)| {
                let at = SocketAddr::from((SERVICE_V4, by.ports[port]));
                Planned { through, at, connections: *connections, by: Some(place) }
            }));
        }
    }
    out
}

fn configuration(site: &Site, certificate: &Certificate, [plain, tls]: [u16; 2]) -> String {
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

/// The load of a run.
fn load(parameters: &Parameters, planned: &Planned) -> Result<Plan, StudyError> {
    let Planned { through, at, connections, .. } = *planned;
    let secure = (through == Through::Tls).then(|| Secure::unverified(NAME, &[b"http/1.1"]));
    let secure = secure.transpose().map_err(|error| StudyError::Nothing(error.to_string()))?;
    Ok(Plan {
        persist: Persist::PerRequest,
        pace: Pace::Closed { connections, think: Duration::ZERO },
        requests: Some(parameters.number("requests").into()),
        timeout: PATIENCE,
        grace: PATIENCE,
        // As ab does: a whole handshake each time.
        secure: secure.map(Secure::whole_handshakes),
        ..Plan::new(at, Protocol::Http(HttpPlan::get(NAME, "/")), connections)
    })
}

/// A run, with the processor time of the balancer meanwhile.
fn watched(
    stage: &Stage<'_>,
    site: &Site,
    plan: Plan,
    process: Option<u32>,
) -> Result<Run, StudyError> {
    let begun = Instant::now();
    let start = process.and_then(used_by);
    let load = site.client.within(|| Load::start(plan))??;
    let (mut trace, mut before) = (Vec::new(), start.map(|used| (0.0, used)));
    while !load.is_finished() {
        std::thread::park_timeout(LOOK);
        if stage.stops() {
            load.stopper().stop();
        }
        let now = process.and_then(used_by).map(|used| (begun.elapsed().as_secs_f64(), used));
        if let (Some((at, used)), Some((then, had))) = (now, before)
            && at - then >= STEP
        {
            trace.push((then, (used - had) / (at - then) * 100.0));
            before = now;
        }
    }
    let took = begun.elapsed().as_secs_f64();
    let used = process.and_then(used_by).zip(start).map(|(after, start)| after - start);
    let report = load.wait();
    Ok(Run {
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

/// Seconds of a step of the trace; processor time is counted in hundredths.
const STEP: f64 = 0.2;

/// A certificate that nobody trusts, in a directory of its own; removed when dropped.
struct Certificate {
    file: PathBuf,
    _dir: TemporaryDir,
}

impl Certificate {
    fn new() -> Result<Certificate, StudyError> {
        let made = rcgen::generate_simple_self_signed(vec![NAME.to_owned()]);
        let made = made.map_err(|error| StudyError::Nothing(format!("a certificate: {error}")))?;
        let dir = TemporaryDir::named(&fresh("study"))?;
        let text = made.cert.pem() + &made.signing_key.serialize_pem();
        Ok(Certificate { file: dir.write("pair.pem", text)?, _dir: dir })
    }
}
