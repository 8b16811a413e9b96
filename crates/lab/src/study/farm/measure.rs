//! Measures: a client, the balancer with each allocator, servers, and pages through and past the balancer.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::judge::{Case, Run, Through};
use crate::load::{HttpPlan, Load, Pace, Persist, Plan, Protocol, Secure};
use crate::machine::read::used_by;
use crate::net::{Checksums, Layout, SERVICE_V4, Site, fresh};
use crate::origin::{Kind, Options, Origin};
use crate::study::balancer::Balancer;
use crate::study::parameter::Parameters;
use crate::study::stage::{Stage, StudyError};

/// The ports of the service, plain and over TLS.
const PORTS: [u16; 2] = [80, 443];
/// A name in the balancer's certificate.
const NAME: &str = "farm.example";
/// How long a page may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks at the balancer's processor time.
const LOOK: Duration = Duration::from_millis(50);
/// The system's own allocator.
pub const SYSTEM: &str = "the system's";
/// Other allocators by their libraries, the most usual first.
const LIBRARIES: [(&str, &str); 3] = [
    ("jemalloc", "libjemalloc.so.2"),
    ("tcmalloc", "libtcmalloc_minimal.so.4"),
    ("mimalloc", "libmimalloc.so.2"),
];
/// Where libraries lie.
const PLACES: [&str; 5] = [
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/local/lib",
];

/// An allocator: what it is called and what makes the balancer use it.
type Allocator = (&'static str, Vec<(String, String)>);

/// The system's allocator and another one: a library that is installed, else the system's with a single arena.
fn allocators() -> [Allocator; 2] {
    let installed = LIBRARIES.iter().find_map(|(name, file)| {
        let path =
            PLACES.iter().map(|place| Path::new(place).join(file)).find(|path| path.is_file())?;
        Some((*name, vec![("LD_PRELOAD".to_owned(), path.display().to_string())]))
    });
    let one_arena = || {
        let tunable = "glibc.malloc.arena_max=1".to_owned();
        ("the system's with one arena", vec![("GLIBC_TUNABLES".to_owned(), tunable)])
    };
    [(SYSTEM, Vec::new()), installed.unwrap_or_else(one_arena)]
}

/// Everything; false: stopped before its end.
pub fn all(
    stage: &Stage<'_>,
    parameters: &Parameters,
    cases: &mut Vec<Case>,
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
    let first = site.servers.first().map_or(Ipv4Addr::LOCALHOST, |server| server.host.v4);
    for connections in parameters.numbers("connections") {
        let target = (Through::Nothing, SocketAddr::from((first, PORTS[0])));
        let Some(case) = case(stage, parameters, &site, target, connections, None)? else {
            return Ok(false);
        };
        cases.push(case);
    }
    let certificate = Certificate::new()?;
    for (name, environment) in allocators() {
        let body = configuration(&site, &certificate);
        let mut balancer = Balancer::start(&site.balancer, stage.program, &body, &environment)?;
        for (through, port) in [Through::Plain, Through::Tls].into_iter().zip(PORTS) {
            for connections in parameters.numbers("connections") {
                let target = (through, SocketAddr::from((SERVICE_V4, port)));
                let by = Some((name, &mut balancer));
                let Some(case) = case(stage, parameters, &site, target, connections, by)? else {
                    return Ok(false);
                };
                cases.push(case);
            }
        }
    }
    Ok(true)
}

fn configuration(site: &Site, certificate: &Certificate) -> String {
    let servers: Vec<String> =
        site.servers.iter().map(|server| format!("\"{}:{}\"", server.host.v4, PORTS[0])).collect();
    let [plain, tls] = PORTS;
    format!(
        "[service.plain]\nlisten = \"{SERVICE_V4}:{plain}\"\nforward = \"http\"\npool = \"farm\"\n\
         [service.secure]\nlisten = \"{SERVICE_V4}:{tls}\"\nforward = \"http\"\npool = \"farm\"\ntls = \"{}\"\n\
         [pool.farm]\nservers = [{}]\n",
        certificate.file().display(),
        servers.join(", "),
    )
}

/// A case with all its runs; none when told to stop.
fn case(
    stage: &Stage<'_>,
    parameters: &Parameters,
    site: &Site,
    (through, at): (Through, SocketAddr),
    connections: u32,
    mut by: Option<(&'static str, &mut Balancer)>,
) -> Result<Option<Case>, StudyError> {
    let (mut runs, connections) = (Vec::new(), connections as usize);
    for _ in 0..parameters.number("repeats") {
        if stage.stops() {
            return Ok(None);
        }
        let secure = (through == Through::Tls).then(|| Secure::unverified(NAME, &[b"http/1.1"]));
        let secure = secure.transpose().map_err(|error| StudyError::Nothing(error.to_string()))?;
        let plan = Plan {
            persist: Persist::PerRequest,
            pace: Pace::Closed { connections, think: Duration::ZERO },
            requests: Some(parameters.number("requests").into()),
            timeout: PATIENCE,
            grace: PATIENCE,
            // As ab does: a whole handshake each time.
            secure: secure.map(Secure::whole_handshakes),
            ..Plan::new(at, Protocol::Http(HttpPlan::get(NAME, "/")), connections)
        };
        let process = by.as_ref().map(|(_, balancer)| balancer.process());
        let run = watched(stage, site, plan, process)?;
        if let Some((_, balancer)) = &mut by {
            balancer.still_runs()?;
        }
        runs.push(run);
    }
    if stage.stops() {
        // The last run ended before its time.
        return Ok(None);
    }
    let case = Case { through, allocator: by.map(|(name, _)| name), connections, runs };
    (stage.told)(&format!("{}: {:.1} pages a second", case.name(), case.rate()));
    Ok(Some(case))
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
struct Certificate(PathBuf);

impl Certificate {
    fn new() -> Result<Certificate, StudyError> {
        let made = rcgen::generate_simple_self_signed(vec![NAME.to_owned()]);
        let made = made.map_err(|error| StudyError::Nothing(format!("a certificate: {error}")))?;
        let certificate = Certificate(std::env::temp_dir().join(fresh("study")));
        std::fs::create_dir(&certificate.0)?;
        let text = made.cert.pem() + &made.signing_key.serialize_pem();
        write_private(&certificate.file(), &text)?;
        Ok(certificate)
    }

    fn file(&self) -> PathBuf {
        self.0.join("pair.pem")
    }
}

fn write_private(path: &Path, text: &str) -> std::io::Result<()> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())
}

impl Drop for Certificate {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
