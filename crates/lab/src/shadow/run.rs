//! A shadow run from its input to its report: starts both sides, sends the corpus to both, and reviews what differs.
//!
//! Needs root, for namespaces. Everything that it starts ends with it.

use std::cell::OnceCell;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use convert::dialect::Dialect;
use convert::notes::ConversionNote;
use files::TemporaryDir;
use files::create::make_dir;
use thiserror::Error;

use super::accepted::{DifferenceContext, LIMITED, accept};
use super::comparison::{DifferenceTopic, ServerPools, compare};
use super::corpus::{CorpusSize, build_corpus};
use super::explanation::find_note;
use super::files::{write, write_files};
use super::identity::{ShadowIdentity, ShadowIdentityError};
use super::inventory::{FileContent, NamedFile, SourceInventory};
use super::observation::StepObservation;
use super::original::{OriginalProgram, find_program, missing_reason, plan_start};
use super::plan::ShadowPlan;
use super::private_root::PROGRAM;
use super::report::{DifferenceRow, DifferenceVerdict, ShadowReport};
use super::request::ShadowRequest;
use super::side::{ShadowSide, SideError, SideStart};
use super::source_route::{MatchedObjects, ObjectLines, route_lines};
use super::steelyard::{configuration, find_matched, wait_known};
use crate::net::{find, sweep_orphans, unique_name};

/// What is compared.
#[derive(Clone, Copy, Debug)]
pub struct ShadowInput<'a> {
    /// The original's file.
    pub source: &'a str,
    pub dialect: Dialect,
    /// The converted configuration.
    pub converted: &'a str,
    pub notes: &'a [ConversionNote],
    /// Steelyard's program.
    pub program: &'a Path,
    pub size: CorpusSize,
}

/// Why nothing could be compared.
#[derive(Debug, Error)]
pub enum ShadowError {
    #[error("{name} is not installed; Debian has it in the package {package}")]
    Missing { name: &'static str, package: &'static str },
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
/// Between two reports of progress.
const REPORT: Duration = Duration::from_millis(200);

/// Runs both and compares them. `stop` ends the run early, with a report of what was compared.
pub fn run_shadow(
    input: ShadowInput<'_>,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(ShadowProgress),
) -> Result<ShadowReport, ShadowError> {
    let original = installed_program(input.dialect)?;
    let inventory = SourceInventory::read(input.source, input.dialect);
    let plan = ShadowPlan::new(input.converted, &inventory);
    if plan.listeners.is_empty() {
        return Err(ShadowError::NoListener);
    }
    progress(ShadowProgress::Starting);
    // Killed runs leave their networks.
    sweep_orphans();
    let identity = make_identity(&plan, &inventory)?;
    let dir = TemporaryDir::with_prefix(&unique_name("shadow"))?;
    let setup =
        ShadowSetup { input, plan: &plan, inventory: &inventory, identity: &identity, stop };
    let original_dir = dir.path().join("original");
    let our_dir = dir.path().join("ours");
    let theirs = setup.start_original(original, &original_dir).map_err(ShadowError::Original)?;
    let ours = setup.start_ours(&our_dir).map_err(ShadowError::Ours)?;
    wait_known(input.program, &our_dir, stop);
    let requests = build_corpus(&plan, input.converted, &inventory, input.size);
    let seen = ask_both([&theirs, &ours], &identity, &requests, stop, progress)?;
    let mut report = ShadowReport {
        original: original.name.to_owned(),
        skipped: plan.skipped.clone(),
        interrupted: stop.load(Ordering::Relaxed),
        ..ShadowReport::default()
    };
    let review = DifferenceReview {
        input,
        dir: &our_dir,
        pools: plan.pools(),
        objects: ObjectLines::read(input.converted),
        has_limits: LIMITS.iter().any(|word| input.source.contains(word)),
    };
    let [theirs, ours] = &seen;
    for ((request, their), our) in requests.iter().zip(theirs).zip(ours) {
        review.add(request, their, our, &mut report);
    }
    report.sort();
    Ok(report)
}

fn installed_program(dialect: Dialect) -> Result<OriginalProgram, ShadowError> {
    let Some(program) = find_program(dialect) else {
        let reason = missing_reason(dialect);
        return Err(ShadowError::Unsupported { from: dialect.name(), reason });
    };
    if !find(program.name).is_absolute() {
        let OriginalProgram { name, package } = program;
        return Err(ShadowError::Missing { name, package });
    }
    Ok(program)
}

fn make_identity(
    plan: &ShadowPlan,
    inventory: &SourceInventory,
) -> Result<ShadowIdentity, ShadowIdentityError> {
    let mut names = inventory.hosts.clone();
    names.extend(plan.hosts.iter().map(|entry| entry.name.clone()));
    let mut addresses: Vec<IpAddr> =
        plan.servers.iter().map(|server| server.address.ip()).collect();
    addresses.sort_unstable();
    addresses.dedup();
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

impl ShadowSetup<'_> {
    fn prepare_files(&self, dir: &Path) -> io::Result<PathBuf> {
        let root = dir.join("files");
        make_dir(&root, 0o755)?;
        let mut named = self.inventory.files.clone();
        let logs = super::plan::target_files(self.input.converted);
        named.extend(logs.into_iter().map(|path| NamedFile { path, content: FileContent::Parent }));
        write_files(&root, &named, &self.plan.hosts, self.identity)?;
        Ok(root)
    }

    fn start_original(
        &self,
        original: OriginalProgram,
        dir: &Path,
    ) -> Result<ShadowSide, SideError> {
        let root = self.prepare_files(dir).map_err(SideError::Files)?;
        let start = plan_start(self.input.dialect, self.input.source);
        for file in &start.files {
            write(&root, &file.path, &file.text).map_err(SideError::Files)?;
        }
        // The search path of administrators may not be that of this program.
        let mut command = vec![find(original.name).display().to_string()];
        command.extend(start.arguments);
        self.start(original.name, &command, dir)
    }

    fn start_ours(&self, dir: &Path) -> Result<ShadowSide, SideError> {
        let root = self.prepare_files(dir).map_err(SideError::Files)?;
        let file = "/run/shadow.toml";
        let text = configuration(self.input.converted, dir);
        write(&root, file, &text).map_err(SideError::Files)?;
        let command = [PROGRAM, "run", "-c", file].map(str::to_owned);
        self.start("steelyard", &command, dir)
    }

    fn start(&self, name: &str, command: &[String], dir: &Path) -> Result<ShadowSide, SideError> {
        let ShadowSetup { input, plan, identity, stop, .. } = *self;
        let start = SideStart { name, command, dir, program: input.program, stop };
        ShadowSide::start(plan, identity, start)
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
    let slowest = || done.iter().map(|one| one.load(Ordering::Relaxed)).min().unwrap_or(0);
    std::thread::scope(|scope| {
        let ask = |at: usize| {
            let side = sides[at];
            let done = &done[at];
            scope.spawn(move || side.ask(identity, requests, done, stop))
        };
        let running = [ask(0), ask(1)];
        while !running.iter().all(std::thread::ScopedJoinHandle::is_finished) {
            progress(ShadowProgress::Asking { done: slowest(), all: requests.len() });
            std::thread::park_timeout(REPORT);
        }
        let [theirs, ours] =
            running.map(|one| one.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        Ok([theirs?, ours?])
    })
}

/// Reviews differences, with what the running daemon says of the rule that took a request.
struct DifferenceReview<'a> {
    input: ShadowInput<'a>,
    dir: &'a Path,
    pools: ServerPools,
    objects: ObjectLines,
    has_limits: bool,
}

impl DifferenceReview<'_> {
    fn add(
        &self,
        request: &ShadowRequest,
        theirs: &[StepObservation],
        ours: &[StepObservation],
        report: &mut ShadowReport,
    ) {
        report.requests += 1;
        let differences = compare(request, theirs, ours, &self.pools);
        report.equal += u64::from(differences.is_empty());
        let matched = OnceCell::new();
        for difference in &differences {
            let Some(their) = theirs.get(difference.step) else { continue };
            let Some(our) = ours.get(difference.step) else { continue };
            let seen = DifferenceContext {
                request,
                difference,
                theirs: their,
                ours: our,
                has_limits: self.has_limits,
            };
            report.add(self.row(seen, &matched));
        }
    }

    /// Whether both sides chose a server of the pools among which the request's own rule shares out.
    fn is_share(&self, seen: DifferenceContext<'_>, matched: &MatchedObjects) -> bool {
        let shared = |step: &StepObservation| {
            let pools = step.server().and_then(|served| self.pools.get(&served.server));
            pools.is_some_and(|pools| pools.iter().any(|one| matched.pools.contains(&one.pool)))
        };
        seen.difference.topic == DifferenceTopic::Pool
            && matched.pools.len() > 1
            && shared(seen.theirs)
            && shared(seen.ours)
    }

    fn row(
        &self,
        seen: DifferenceContext<'_>,
        matched: &OnceCell<MatchedObjects>,
    ) -> DifferenceRow {
        let difference = seen.difference;
        let mut row = DifferenceRow {
            verdict: DifferenceVerdict::Unexplained,
            request: seen.request.describe(),
            count: 1,
            what: difference.topic.describe(),
            theirs: difference.theirs.clone(),
            ours: difference.ours.clone(),
            reason: String::new(),
            line: 0,
        };
        let reason = accept(seen);
        if let Some(reason) = reason.filter(|reason| *reason != LIMITED) {
            row.verdict = DifferenceVerdict::Accepted;
            row.reason = reason.to_owned();
            return row;
        }
        let find = || find_matched(self.input.program, self.dir, seen.request);
        let matched = matched.get_or_init(find);
        let ShadowInput { source, dialect, notes, .. } = self.input;
        if self.is_share(seen, matched) {
            row.verdict = DifferenceVerdict::Accepted;
            row.reason = "shares are drawn anew for each request".to_owned();
            return row;
        }
        let route = route_lines(source, dialect, &self.objects, matched);
        match find_note(seen, notes, &route) {
            Some(note) => {
                row.verdict = DifferenceVerdict::Explained;
                row.reason = note.directive.clone();
                row.line = note.line;
            }
            None if reason.is_some() => {
                row.verdict = DifferenceVerdict::Accepted;
                row.reason = LIMITED.to_owned();
            }
            None if matched.rule > 0 => {
                row.reason = format!("rule {} of {}", matched.rule, matched.service);
            }
            None => row.reason.clone_from(&matched.service),
        }
        row
    }
}
