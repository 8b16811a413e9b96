//! A shadow run from its input to its report: starts both sides, sends the corpus to both, and reviews what differs.
//!
//! Needs root, for namespaces. Everything that it starts ends with it.

use std::io::{self, Read};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use convert::dialect::Dialect;
use files::TemporaryDir;
use files::create::make_dir;
use thiserror::Error;

use super::config_times::settle_time;
use super::corpus::build_corpus;
use super::failed_turns::FailedTurns;
use super::failing_servers::{failure_requests, plan_failures};
use super::files::{write, write_files};
use super::identity::{ShadowIdentity, ShadowIdentityError};
use super::input::ShadowInput;
use super::inventory::{FileContent, NamedFile, SourceInventory};
use super::limit_relief::ORDERED;
use super::observation::StepObservation;
use super::original::{
    OriginalProgram, find_program, missing_reason, packaged_program, plan_start,
};
use super::plan::ShadowPlan;
use super::private_root::PROGRAM;
use super::process::AUTHORITIES;
use super::report::ShadowReport;
use super::request::ShadowRequest;
use super::review::{DifferenceReview, ServedResources};
use super::side::{ShadowSide, SideError, SideStart};
use super::source_route::ObjectLines;
use super::steelyard::{configuration, wait_known};
use super::usual_form::UsualForms;
use crate::net::{find, sweep_orphans, unique_name};

/// Why nothing could be compared.
#[derive(Debug, Error)]
pub enum ShadowError {
    #[error("{name} is not installed; {package}, and `--original` names one at another place")]
    Missing { name: &'static str, package: &'static str },
    #[error("{program} is a script; name the program that it starts with `--original`")]
    Script { program: String },
    #[error("{program} cannot be read; name the original's program with `--original`")]
    Unreadable {
        program: String,
        #[source]
        source: io::Error,
    },
    #[error("{from} cannot run beside its conversion: {reason}")]
    Unsupported { from: &'static str, reason: &'static str },
    #[error("the configuration has no listener of `http` or `tcp` to compare")]
    NoListener,
    #[error("the original does not run")]
    Original(#[source] SideError),
    #[error("Steelyard does not run what was converted")]
    Ours(#[source] SideError),
    #[error(transparent)]
    Side(#[from] SideError),
    #[error(transparent)]
    Identity(#[from] ShadowIdentityError),
    #[error("cannot write the files of the run")]
    Files(#[from] io::Error),
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShadowProgress {
    Starting,
    /// Requests that both sides answered, of all.
    Asking {
        done: usize,
        all: usize,
    },
}

/// Words of configurations that limit rates or connections of clients.
const LIMITS: [&str; 4] = ["limit_req", "limit_conn", "_rate(", "_cnt("];
/// The longest time for health checks to find dead servers; configurations with slower ones are not asked then.
const SETTLES_WITHIN: Duration = Duration::from_secs(20);
/// Between two reports of progress.
const REPORT: Duration = Duration::from_millis(200);

/// Runs both and compares them. `stop` ends the run early, with a report of what was compared.
pub fn run_shadow(
    input: ShadowInput<'_>,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(ShadowProgress),
) -> Result<ShadowReport, ShadowError> {
    let original = installed_program(input)?;
    let inventory = SourceInventory::read(input.source, input.dialect);
    let plan = ShadowPlan::new(input.converted, &inventory);
    if plan.listeners.is_empty() {
        return Err(ShadowError::NoListener);
    }
    progress(ShadowProgress::Starting);
    // Killed runs leave their networks.
    sweep_orphans();
    let identity = make_identity(&plan, &inventory, input.dialect)?;
    let dir = TemporaryDir::with_prefix(&unique_name("shadow"))?;
    let setup =
        ShadowSetup { input, plan: &plan, inventory: &inventory, identity: &identity, stop };
    let mut sides = setup.start_both(&original, dir.path(), 0)?;
    let corpus = build_corpus(&plan, input.converted, &inventory, input.size);
    let mut report = ShadowReport {
        original: original.name.to_owned(),
        skipped: plan.skipped.clone(),
        ..ShadowReport::default()
    };
    let mut seen = ask_both(sides.both(), &identity, &corpus, stop, progress)?;
    setup.review(&sides.our_dir, &corpus, &seen, &mut report);
    let settles = settle_time(input.converted);
    let mut phases = plan_failures(&plan);
    if settles > SETTLES_WITHIN {
        phases.clear();
        let seconds = settles.as_secs();
        let longer = format!("dead servers: health checks need {seconds} s to find them");
        report.skipped.push(longer);
    }
    for (at, phase) in phases.iter().enumerate() {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        // Both begin anew: what they hold against servers that failed before would decide, and not who is dead.
        sides = setup.start_both(&original, dir.path(), at + 1)?;
        sides.theirs.stop_servers(&phase.dead);
        sides.ours.stop_servers(&phase.dead);
        wait_settled(settles, stop);
        let asked = failure_requests(&corpus, phase, input.size);
        seen = ask_both(sides.both(), &identity, &asked, stop, progress)?;
        // What is left of a run that was ended early cannot be told apart by its place any more.
        if stop.load(Ordering::Relaxed) {
            break;
        }
        setup.review(&sides.our_dir, &asked, &seen, &mut report);
    }
    report.interrupted = stop.load(Ordering::Relaxed);
    report.sort();
    Ok(report)
}

/// The original's program on this machine.
#[derive(Clone, Debug)]
struct InstalledProgram {
    name: &'static str,
    path: PathBuf,
}

fn installed_program(input: ShadowInput<'_>) -> Result<InstalledProgram, ShadowError> {
    let dialect = input.dialect;
    let Some(program) = find_program(dialect) else {
        let reason = missing_reason(dialect);
        return Err(ShadowError::Unsupported { from: dialect.name(), reason });
    };
    let OriginalProgram { name, other_name, package } = program;
    let mut names = [Some(name), other_name].into_iter().flatten();
    let found = match input.original {
        Some(path) => Some(path.to_owned()),
        None => names.find_map(|name| Some(find(name)).filter(|path| path.is_absolute())),
    };
    let Some(found) = found else { return Err(ShadowError::Missing { name, package }) };
    let text = found.display().to_string();
    let unreadable = |source| ShadowError::Unreadable { program: text.clone(), source };
    let path = std::fs::canonicalize(&found).map_err(unreadable)?;
    let mut begin = [0; 2];
    let mut file = std::fs::File::open(&path).map_err(unreadable)?;
    file.read_exact(&mut begin).map_err(unreadable)?;
    if begin != *b"#!" {
        return Ok(InstalledProgram { name, path });
    }
    // pip installs a script that starts the program.
    match packaged_program(&path, name) {
        Some(path) => Ok(InstalledProgram { name, path }),
        None => Err(ShadowError::Script { program: text }),
    }
}

/// Waits for health checks, or until `stop`.
fn wait_settled(settles: Duration, stop: &AtomicBool) {
    let begun = Instant::now();
    while begun.elapsed() < settles && !stop.load(Ordering::Relaxed) {
        std::thread::park_timeout(REPORT.min(settles));
    }
}

fn make_identity(
    plan: &ShadowPlan,
    inventory: &SourceInventory,
    dialect: Dialect,
) -> Result<ShadowIdentity, ShadowIdentityError> {
    let mut names = inventory.hosts.clone();
    names.extend(plan.hosts.iter().map(|entry| entry.name.clone()));
    names.extend(plan.server_names.iter().cloned());
    let mut addresses: Vec<IpAddr> =
        plan.servers.iter().map(|server| server.address.ip()).collect();
    addresses.sort_unstable();
    addresses.dedup();
    // It looks for the address of a server among the names of a certificate alone.
    if dialect == Dialect::Apache {
        names.extend(addresses.iter().map(IpAddr::to_string));
    }
    ShadowIdentity::new(&names, &addresses)
}

/// What both sides are started with.
struct ShadowSetup<'a> {
    input: ShadowInput<'a>,
    plan: &'a ShadowPlan,
    inventory: &'a SourceInventory,
    identity: &'a ShadowIdentity,
    stop: &'a AtomicBool,
}

/// Both balancers, each in its own network.
struct RunningSides {
    theirs: ShadowSide,
    ours: ShadowSide,
    /// The directory of Steelyard's files.
    our_dir: PathBuf,
}

impl RunningSides {
    fn both(&self) -> [&ShadowSide; 2] {
        [&self.theirs, &self.ours]
    }
}

impl ShadowSetup<'_> {
    /// Adds what differs in a part of the run to the report, while its balancers still run. `our_dir`: Steelyard's.
    fn review(
        &self,
        our_dir: &Path,
        requests: &[ShadowRequest],
        seen: &[Vec<Vec<StepObservation>>; 2],
        report: &mut ShadowReport,
    ) {
        let [theirs, ours] = seen;
        let pools = self.plan.pools();
        let review = DifferenceReview {
            input: self.input,
            dir: our_dir,
            objects: ObjectLines::read(self.input.converted),
            has_limits: LIMITS.iter().any(|word| self.input.source.contains(word)),
            let_through: ServedResources::read(requests, theirs),
            turns: FailedTurns::read(requests, theirs),
            forms: UsualForms::read(requests, theirs, ours, &pools),
            pools,
        };
        for ((request, their), our) in requests.iter().zip(theirs).zip(ours) {
            review.add(request, their, our, report);
        }
    }

    /// Starts both, for the part of the run with this number.
    fn start_both(
        &self,
        original: &InstalledProgram,
        dir: &Path,
        part: usize,
    ) -> Result<RunningSides, ShadowError> {
        let original_dir = dir.join(format!("original-{part}"));
        let our_dir = dir.join(format!("ours-{part}"));
        let theirs = self.start_original(original, &original_dir).map_err(ShadowError::Original)?;
        let ours = self.start_ours(&our_dir).map_err(ShadowError::Ours)?;
        wait_known(self.input.program, &our_dir, self.stop);
        Ok(RunningSides { theirs, ours, our_dir })
    }

    fn prepare_files(&self, dir: &Path) -> io::Result<PathBuf> {
        let root = dir.join("files");
        make_dir(&root, 0o755)?;
        let mut named = self.inventory.files.clone();
        let logs = super::plan::target_files(self.input.converted);
        named.extend(logs.into_iter().map(|path| NamedFile { path, content: FileContent::Parent }));
        write_files(&root, &named, &self.plan.hosts, self.identity)?;
        write(&root, AUTHORITIES, &self.identity.authority)?;
        Ok(root)
    }

    fn start_original(
        &self,
        original: &InstalledProgram,
        dir: &Path,
    ) -> Result<ShadowSide, SideError> {
        let root = self.prepare_files(dir).map_err(SideError::Files)?;
        let start = plan_start(self.input.dialect, self.input.source);
        for file in &start.files {
            write(&root, &file.path, &file.text).map_err(SideError::Files)?;
        }
        let mut command = vec!["env".to_owned()];
        command.extend(start.environment);
        command.push(PROGRAM.to_owned());
        command.extend(start.arguments);
        let program = &original.path;
        self.start(SideStart {
            name: original.name,
            command: &command,
            dir,
            program,
            ready: start.ready,
            stop: self.stop,
        })
    }

    fn start_ours(&self, dir: &Path) -> Result<ShadowSide, SideError> {
        let root = self.prepare_files(dir).map_err(SideError::Files)?;
        let file = "/run/shadow.toml";
        let text = configuration(self.input.converted, dir);
        write(&root, file, &text).map_err(SideError::Files)?;
        write(&root, ORDERED, &self.identity.pair).map_err(SideError::Files)?;
        let command = [PROGRAM, "run", "-c", file].map(str::to_owned);
        let program = self.input.program;
        self.start(SideStart {
            name: "steelyard",
            command: &command,
            dir,
            program,
            ready: None,
            stop: self.stop,
        })
    }

    fn start(&self, start: SideStart<'_>) -> Result<ShadowSide, SideError> {
        ShadowSide::start(self.plan, self.identity, start)
    }
}

/// Sends the corpus to both sides at once, and reports progress meanwhile.
fn ask_both(
    sides: [&ShadowSide; 2],
    identity: &ShadowIdentity,
    requests: &[ShadowRequest],
    stop: &AtomicBool,
    progress: &mut dyn FnMut(ShadowProgress),
) -> Result<[Vec<Vec<StepObservation>>; 2], SideError> {
    let done = [AtomicUsize::new(0), AtomicUsize::new(0)];
    let count = |at: usize| done[at].load(Ordering::Relaxed);
    let slowest = || count(0).min(count(1));
    // Ends both as soon as one of them cannot go on.
    let halt = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let ask = |at: usize| {
            let side = sides[at];
            let done = &done[at];
            let halt = &halt;
            scope.spawn(move || {
                let seen = side.ask(identity, requests, done, halt);
                halt.fetch_or(seen.is_err(), Ordering::Relaxed);
                seen
            })
        };
        let running = [ask(0), ask(1)];
        while !running.iter().all(std::thread::ScopedJoinHandle::is_finished) {
            progress(ShadowProgress::Asking { done: slowest(), all: requests.len() });
            let dead = (0..2).any(|at| sides[at].find_death(count(at)).is_some());
            if dead || stop.load(Ordering::Relaxed) {
                halt.store(true, Ordering::Relaxed);
            }
            std::thread::park_timeout(REPORT);
        }
        for (at, side) in sides.iter().enumerate() {
            if let Some(death) = side.find_death(count(at)) {
                return Err(death);
            }
        }
        let [theirs, ours] =
            running.map(|one| one.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        Ok([theirs?, ours?])
    })
}
