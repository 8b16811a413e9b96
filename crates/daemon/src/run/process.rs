//! The running process: what it does on signals, and how it leaves.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use l7::Open;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::signals::{Signal, Signals};
use super::successor::{ASKS_WITHIN, Successor};
use crate::control::{Change, Leave, Origin, Way};
use crate::cover::laid;
use crate::event::Events;
use crate::footprint::give_back_code;
use crate::house::House;
use crate::keep;
use crate::serve::bind::{Bound, Place};
use crate::systemd::Notify;
use crate::upgrade::frame::{self, Word};
use crate::upgrade::give;
use crate::upgrade::remains::EVERY;
use crate::upgrade::spawn::Program;

/// Bytes of a configuration file that are read; more is refused.
pub(super) const FILE_BYTES: u64 = 16 << 20;

/// The running process.
pub(super) struct Process {
    house: House,
    config: PathBuf,
    events: Events,
    notify: Notify,
    watchdog: Option<Duration>,
    program: Option<Program>,
    child: Option<Successor>,
    /// Somebody takes over at this moment.
    takes_over: Arc<AtomicBool>,
    handed: mpsc::Receiver<(u32, UnixStream)>,
    /// To the process that has taken over.
    line: Option<UnixStream>,
    giver: Option<JoinHandle<()>>,
    upgrade_place: Option<Place>,
}

/// The sockets by which others speak to this process.
pub(super) struct Doors {
    /// The API.
    pub control: Bound,
    /// The takeover.
    pub upgrade: Bound,
}

/// What a process consists of beside its house.
pub(super) struct Around {
    /// The configuration file.
    pub config: PathBuf,
    /// What the daemon says.
    pub events: Events,
    /// systemd.
    pub notify: Notify,
    /// How often systemd wants a sign of life.
    pub watchdog: Option<Duration>,
    /// What is started for an upgrade; `None`: not known.
    pub program: Option<Program>,
}

impl Process {
    /// Opens the doors.
    ///
    /// # Errors
    /// A socket cannot be handed to the runtime.
    pub fn open(
        mut house: House,
        doors: Option<Doors>,
        around: Around,
    ) -> std::io::Result<Process> {
        let (control, upgrade) = doors.map(|doors| (doors.control, doors.upgrade)).unzip();
        let upgrade_place = upgrade.as_ref().map(Bound::place);
        let listener = upgrade.map(|bound| UnixListener::from_std(bound.listener)).transpose()?;
        house.serve(control);
        let (tell, handed) = mpsc::channel(1);
        let takes_over = Arc::new(AtomicBool::new(false));
        let ours = (house.control.clone(), house.admin());
        let give = |listener| give::serve(listener, ours, Arc::clone(&takes_over), tell);
        let giver = listener.map(|listener| tokio::spawn(give(listener)));
        let Around { config, events, notify, watchdog, program } = around;
        let child = None;
        Ok(Process {
            house,
            config,
            events,
            notify,
            watchdog,
            program,
            child,
            takes_over,
            handed,
            line: None,
            giver,
            upgrade_place,
        })
    }

    /// Tells systemd and people that everything runs.
    fn ready(&self) {
        self.notify.ready(&self.status());
        self.events.info("ready", self.status());
        // Only memory is at stake: a kernel that refuses has its reasons, and everything works.
        let _ = give_back_code();
    }

    /// Serves until told to leave; says how. It is ready when packets are forwarded too, where they are to be.
    pub async fn serve(&mut self, signals: &mut Signals) -> Leave {
        let mut life = interval(self.watchdog);
        let mut settled = std::pin::pin!(self.house.packets_settled());
        let mut ready = false;
        loop {
            tokio::select! {
                () = &mut settled, if !ready => {
                    ready = true;
                    self.ready();
                }
                signal = signals.next() => match signal {
                    Signal::Leave => return Leave { handed: false, limit: None, detach: true },
                    Signal::Reload => self.reload().await,
                    Signal::Reopen => self.house.access.reopen(),
                    Signal::Upgrade => self.upgrade(),
                },
                asked = self.house.asked_to_leave() => {
                    return Leave { handed: false, limit: asked.limit, detach: asked.detach };
                }
                Some((pid, line)) = self.handed.recv() => {
                    self.line = Some(line);
                    self.events.info("handed-over", format!("process {pid} has taken over; we finish what we have"));
                    return Leave { handed: true, limit: None, detach: true };
                }
                why = failed(&mut self.child, &self.takes_over) => {
                    self.child = None;
                    self.events.error("upgrade-failed", format!("the new process did not take over: {why}; we go on"));
                }
                () = life.tick() => self.notify.alive(),
            }
        }
    }

    /// Leaves; a second signal cuts what is left.
    pub async fn leave(self, how: Leave, signals: &mut Signals) {
        let Process { house, events, notify, watchdog, giver, upgrade_place, mut line, .. } = self;
        let drain = how.limit.unwrap_or(house.control.picture().config.global.drain);
        let open = house.open();
        let text = format!("leaving within {drain:?}: {} connections are open", open.connections);
        if !how.handed {
            // The service itself goes on in another process otherwise.
            notify.stopping(&text, drain);
        }
        events.info("leaving", text);
        if let Some(giver) = giver {
            giver.abort();
        }
        let count = house.counter();
        let again = async {
            let mut life = interval(watchdog);
            let mut tell = tokio::time::interval(EVERY);
            loop {
                tokio::select! {
                    signal = signals.next() => if signal == Signal::Leave { return },
                    () = life.tick() => notify.alive(),
                    _ = tell.tick(), if line.is_some() => tell_remains(&mut line, &count()).await,
                }
            }
        };
        let left = house.leave(how, again).await;
        if let Some(place) = upgrade_place {
            place.remove();
        }
        events.info("left", cut(&left));
    }

    async fn reload(&self) {
        self.notify.reloading();
        let file = self.config.display().to_string();
        match keep::read(&self.config, FILE_BYTES) {
            Ok(Some(text)) => {
                let laid = laid(&text, &file, &self.events);
                if self.house.control.is_emptied_by(&laid) {
                    let why = "it is empty, which would end every service; `[global]` alone says so on purpose";
                    let text = format!("{file} is not in force, nothing has changed: {why}");
                    self.events.error("reload-failed", text);
                } else {
                    self.take_up(laid, text, &file).await;
                }
            }
            Ok(None) => self.events.error("reload-failed", format!("{file} is not there")),
            Err(error) => {
                self.events.error("reload-failed", format!("cannot read {file}: {error}"))
            }
        }
        self.notify.ready(&self.status());
    }

    /// Puts a text in force that was made of the file's own.
    async fn take_up(&self, laid: String, own: String, file: &str) {
        let origin = Origin::new("SIGHUP", Way::Reload);
        let change = Change { base: Some(own.into()), ..Change::new(laid, file, origin) };
        if let Err(error) = self.house.control.apply(change).await {
            let text = format!("{file} is not in force, nothing has changed: {error}");
            self.events.error("reload-failed", text);
        }
    }

    fn upgrade(&mut self) {
        if self.child.is_some() {
            self.events.warn("upgrade-running", "a new process has been started already");
            return;
        }
        let Some(program) = &self.program else {
            self.events
                .error("upgrade-failed", "the path of this program is not known: is /proc there?");
            return;
        };
        let path = program.path.display();
        match program.start() {
            Ok(child) => {
                let pid = child.id().unwrap_or_default();
                self.events.info("upgrading", format!("{path} was started as process {pid}"));
                self.child = Some(Successor::new(child, ASKS_WITHIN));
            }
            Err(error) => {
                self.events.error("upgrade-failed", format!("{path} cannot be started: {error}"));
            }
        }
    }

    fn status(&self) -> String {
        let picture = self.house.control.picture();
        let (services, pools) = (picture.config.services.len(), picture.config.pools.len());
        format!("generation {}: {services} services, {pools} pools", picture.generation)
    }
}

/// Tells the process that has taken over what is left here.
async fn tell_remains(line: &mut Option<UnixStream>, open: &Open) {
    let (connections, exchanges) = (u64::from(open.connections), u64::from(open.exchanges));
    let Some(stream) = line else { return };
    // One that does not listen is of another release, or gone.
    if frame::say(stream, &Word::Remains { connections, exchanges }).await.is_err() {
        *line = None;
    }
}

/// What was cut, by kind.
fn cut(left: &Open) -> String {
    let Open { connections, exchanges, tunnels, idle, .. } = left;
    if *connections == 0 && *exchanges == 0 {
        return "nothing was cut".to_owned();
    }
    let exchanges = exchanges.saturating_sub(*tunnels);
    format!(
        "cut {connections} client connections: {exchanges} with an exchange, {tunnels} tunnels, {idle} idle"
    )
}

/// How an upgrade failed; never when there is none.
async fn failed(child: &mut Option<Successor>, takes_over: &AtomicBool) -> String {
    match child {
        Some(child) => child.failed(takes_over).await,
        None => std::future::pending().await,
    }
}

/// Ticks at most that often; never without a period.
struct Life(Option<tokio::time::Interval>);

fn interval(period: Option<Duration>) -> Life {
    Life(period.map(|period| tokio::time::interval_at(Instant::now() + period, period)))
}

impl Life {
    async fn tick(&mut self) {
        match &mut self.0 {
            Some(interval) => drop(interval.tick().await),
            None => std::future::pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_cut_is_told_by_kind() {
        assert_eq!(cut(&Open::default()), "nothing was cut");
        let left = Open { connections: 5, exchanges: 4, tunnels: 1, idle: 1, ..Open::default() };
        assert_eq!(cut(&left), "cut 5 client connections: 3 with an exchange, 1 tunnels, 1 idle");
    }
}
