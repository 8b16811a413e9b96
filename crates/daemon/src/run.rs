//! `steelyard run`: the order of starting, serving and leaving, told in one place.
//!
//! What runs is put together by `house`; this file adds the process around it: file, signals, systemd, upgrades.

pub mod absent;
mod limit;
mod process;
mod signals;
mod successor;

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use model::config::{Checked, Control, Findings, SOCKET, load};

use crate::control::{Change, Leave, Origin, Way};
use crate::cover::{Cover, laid};
use crate::event::{Events, Form};
use crate::house::{BuildError, House, Plan};
use crate::keep;
use crate::listeners::Keeper;
use crate::secrets::{As, Exposed, exposed};
use crate::serve::bind::{BindError, Over, bind};
use crate::systemd::{self, Notify};
use crate::upgrade::frame::Offer;
use crate::upgrade::socket_beside;
use crate::upgrade::spawn::Program;
use crate::upgrade::take::{TakeError, Taken, take};
use process::{Around, Doors, FILE_BYTES, Process};
use signals::Signals;

/// Only root and our own user may take over.
const UPGRADE_MODE: u32 = 0o600;

/// Background work that is still under way at the end gets this long.
const LEAVE: std::time::Duration = std::time::Duration::from_millis(200);

/// How to run.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// The configuration file.
    pub config: PathBuf,
    /// Take over from the daemon that is running: its sockets, and what is in force there rather than in the file.
    pub takeover: bool,
    /// The form of the daemon's own events.
    pub events: Form,
}

/// Why it did not run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The file has mistakes.
    #[error("{0}")]
    Invalid(Findings),
    /// Files of secrets that others can use.
    #[error("{}", exposed.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Exposed {
        /// Each.
        exposed: Vec<Exposed>,
    },
    /// The process cannot be set up.
    #[error("cannot {action}: {source}")]
    Process {
        /// What was tried.
        action: &'static str,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The API's socket.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// There was nothing to take over.
    #[error(transparent)]
    Take(#[from] TakeError),
    /// Something that runs.
    #[error(transparent)]
    Build(#[from] BuildError),
}

impl RunError {
    /// 2 for input that cannot be read, 1 for everything else.
    pub fn exit_code(&self) -> u8 {
        if matches!(self, RunError::Read { .. }) { 2 } else { 1 }
    }
}

/// Runs until told to leave.
///
/// # Errors
/// It could not start; nothing is left behind.
pub fn run(options: RunOptions) -> Result<(), RunError> {
    // Before anything else is opened: systemd hands descriptors over by number.
    let kept = systemd::kept_sockets();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(in_the_way("start the runtime"))?;
    let events = Events::stderr(options.events);
    let result = runtime.block_on(life(&options, kept, &events));
    // A look-up that hangs in the system's resolver must not keep the process.
    runtime.shutdown_timeout(LEAVE);
    events.flush();
    result
}

async fn life(
    options: &RunOptions,
    kept: Vec<(SocketAddr, OwnedFd)>,
    events: &Events,
) -> Result<(), RunError> {
    let written = read(&options.config, events)?;
    let mut signals = Signals::new().map_err(in_the_way("listen for signals"))?;
    limit::raise_descriptors(events);
    let notify = Notify::from_environment();
    let around = Around {
        config: options.config.clone(),
        events: events.clone(),
        notify: notify.clone(),
        watchdog: systemd::watchdog(std::env::var("WATCHDOG_USEC").ok().as_deref()),
        program: Program::this().ok(),
    };
    let start = Start { config: options.config.clone(), events: events.clone(), notify };
    let (house, doors) = if options.takeover {
        start.take_over(written).await?
    } else {
        start.fresh(written, kept).await?
    };
    let opened = Process::open(house, doors, around);
    let mut process = opened.map_err(in_the_way("open the API's socket"))?;
    let how = process.serve(&mut signals).await;
    process.leave(how, &mut signals).await;
    Ok(())
}

/// A configuration that was read.
struct Written {
    text: String,
    file: String,
    origin: Origin,
    checked: Checked,
    /// The file's own text.
    base: Arc<str>,
}

fn read(path: &Path, events: &Events) -> Result<Written, RunError> {
    let failed = |source| RunError::Read { path: path.to_owned(), source };
    let text = keep::read(path, FILE_BYTES).map_err(failed)?;
    let text = text.ok_or_else(|| failed(io::ErrorKind::NotFound.into()))?;
    let file = path.display().to_string();
    let base: Arc<str> = text.into();
    let text = laid(&base, &file, events);
    let checked = load(&text, &file).map_err(RunError::Invalid)?;
    let exposed = exposed(&checked.config, As::Reader);
    if !exposed.is_empty() {
        return Err(RunError::Exposed { exposed });
    }
    Ok(Written { text, file, origin: Origin::new("run", Way::Start), checked, base })
}

/// The two ways to start.
struct Start {
    config: PathBuf,
    events: Events,
    notify: Notify,
}

impl Start {
    /// Alone: the doors first, so that a second daemon finds the first one before it touches anything.
    async fn fresh(
        &self,
        written: Written,
        kept: Vec<(SocketAddr, OwnedFd)>,
    ) -> Result<(House, Option<Doors>), RunError> {
        let doors = self.doors(&written.checked.config.global.control, Over::Dead)?;
        let house = House::build(self.plan(written, kept)).await.inspect_err(|_| {
            for bound in doors.iter().flat_map(|doors| [&doors.control, &doors.upgrade]) {
                bound.place().remove();
            }
        })?;
        Ok((house, doors))
    }

    /// From the daemon that is running: the doors last, so that it keeps them if we fail.
    async fn take_over(&self, written: Written) -> Result<(House, Option<Doors>), RunError> {
        let running = written.checked.config.global.control.socket.clone();
        let mut taken = take(&socket_beside(&running)).await?;
        let written = self.in_force(&taken, written);
        let control = written.checked.config.global.control.clone();
        let sockets = std::mem::take(&mut taken.sockets);
        let before = (taken.offer.generation, taken.offer.memory.clone());
        let plan = Plan { before: Some(before), ..self.plan(written, sockets) };
        let mut house = House::build(plan).await?;
        let before = taken.offer.pid;
        match taken.ready().await {
            Ok(line) => house.follow_predecessor(before, line),
            Err(error) => {
                // What we have accepted meanwhile is finished.
                let how = Leave { handed: true, limit: None, detach: true };
                house.leave(how, std::future::pending()).await;
                return Err(error.into());
            }
        }
        Ok((house, self.doors(&control, Over::Living)?))
    }

    /// The sockets; `None`: nobody has chosen a path, and there can be none at the usual one. Traffic needs none.
    fn doors(&self, control: &Control, over: Over) -> Result<Option<Doors>, BindError> {
        match doors(control, over) {
            Err(error) if control.socket == Path::new(SOCKET) && error.is_no_room() => {
                let text = format!(
                    "{error}; the API is served by no socket, and this process can be asked for nothing but by signals \
                     and over TCP: set `socket` in `global.control` to a path that can be written"
                );
                self.events.warn("api-socket", text);
                Ok(None)
            }
            done => done.map(Some),
        }
    }

    /// What is in force in the process before, if this one understands it; the file may say something else by now.
    fn in_force(&self, taken: &Taken, written: Written) -> Written {
        let offer = &taken.offer;
        if offer.text == written.text {
            return Written { origin: offer.origin.clone(), ..written };
        }
        match load(&offer.text, &offer.file) {
            Ok(checked) => {
                let text = format!(
                    "generation {} of process {} stays in force; {} says something else: reload to put that in force",
                    offer.generation, offer.pid, written.file
                );
                self.events.warn("file-differs", text);
                let (text, file) = (offer.text.clone(), offer.file.clone());
                let origin = offer.origin.clone();
                let base = self.base_of(offer, &written);
                Written { text, file, origin, checked, base }
            }
            Err(findings) => {
                let text = format!(
                    "what was in force is not valid any more, {} is taken instead: {findings}",
                    written.file
                );
                self.events.warn("file-differs", text);
                written
            }
        }
    }

    /// The file's text that what is in force in the process before was made of.
    fn base_of(&self, offer: &Offer, written: &Written) -> Arc<str> {
        let kept = Cover::read(&written.checked.config.global.control.state);
        let same = kept.ok().flatten().filter(|cover| cover.text == offer.text);
        same.map_or_else(|| offer.text.as_str().into(), |cover| cover.base.into())
    }

    fn plan(&self, written: Written, inherited: Vec<(SocketAddr, OwnedFd)>) -> Plan {
        let Written { text, file, origin, checked, base } = written;
        for warning in &checked.warnings {
            self.events.warn("configuration", warning.to_string());
        }
        let global = checked.config.global;
        let keeper: Box<dyn Keeper> = Box::new(self.notify.clone());
        Plan {
            change: Change { base: Some(base), ..Change::new(text, file, origin) },
            state: Some(global.control.state.clone()),
            file: Some(self.config.clone()),
            global,
            inherited,
            before: None,
            keeper,
            events: self.events.clone(),
        }
    }
}

fn doors(config: &Control, over: Over) -> Result<Doors, BindError> {
    let control = bind(&config.socket, config.mode, over)?;
    let upgrade = bind(&socket_beside(&config.socket), UPGRADE_MODE, Over::Living);
    let upgrade = upgrade.inspect_err(|_| control.place().remove())?;
    Ok(Doors { control, upgrade })
}

fn in_the_way(action: &'static str) -> impl Fn(io::Error) -> RunError {
    move |source| RunError::Process { action, source }
}
