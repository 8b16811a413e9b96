//! The thread's life: what is waited for, and what follows in which order.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use links::uplink::mark::Numbers;
use links::uplink::wheel::Wheel;
use model::config::{Config, Uplinks};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::MissedTickBehavior;

use super::asker::Heard;
use super::path::Path;
use super::routes::{Change, Netlink};
use super::view::{PathView, View};
use super::write::{Written, marks, wheel};
use crate::control::Control;
use crate::event::Events;
use crate::pins;
use crate::vrrp::now;

/// Between two looks at what is due.
const LOOK: Duration = Duration::from_millis(10);
/// Between two looks at what is counted, and at what should stand.
const SHOW: Duration = Duration::from_millis(250);
/// Everything is compared with the kernel again after so many of those.
const DOUBT: u32 = 40;
/// Answers that may wait; more stay in the sockets, and are lost there.
const HEARD: usize = 256;

/// The thread is to end.
#[derive(Debug)]
pub(super) struct End {
    /// Rules, routes and programs are removed.
    pub give: bool,
    /// When it is done.
    pub done: oneshot::Sender<()>,
}

/// Follows the pictures until told to end.
pub(super) async fn run(
    control: Control,
    mut ended: mpsc::Receiver<End>,
    show: watch::Sender<Arc<View>>,
) {
    let mut pictures = control.watch();
    let (to, mut heard) = mpsc::channel(HEARD);
    let mut life = Life::new(control.events().clone(), to);
    let (mut look, mut tell) = (tokio::time::interval(LOOK), tokio::time::interval(SHOW));
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    tell.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut alive, mut stale, mut looks) = (true, true, 0_u32);
    loop {
        tokio::select! {
            end = ended.recv() => {
                let Some(End { give, done }) = end else { return };
                if give {
                    life.end().await;
                }
                show.send_replace(Arc::new(View::default()));
                let _ = done.send(());
                return;
            }
            answer = heard.recv() => if let Some(answer) = answer { life.hear(&answer) },
            changed = pictures.changed(), if alive => (alive, stale) = (changed.is_ok(), true),
            () = life.changed() => stale = true,
            _ = look.tick(), if life.busy() => life.tick().await,
            _ = tell.tick(), if life.busy() => {
                looks += 1;
                if looks.is_multiple_of(DOUBT) {
                    life.written.doubt();
                }
                stale |= life.unsettled() || looks.is_multiple_of(DOUBT);
                show.send_replace(Arc::new(life.view()));
            }
        }
        if std::mem::take(&mut stale) {
            let config = Arc::clone(&pictures.borrow_and_update().config);
            life.follow(&config).await;
            show.send_replace(Arc::new(life.view()));
        }
    }
}

struct Life {
    events: Events,
    netlink: Option<Netlink>,
    numbers: Numbers,
    paths: Vec<Path>,
    all: Option<Uplinks>,
    /// Where pins of ours lie.
    pins: Option<PathBuf>,
    written: Written,
    verdicts: Vec<(bool, bool)>,
    heard: mpsc::Sender<Heard>,
    troubles: Vec<String>,
}

impl Life {
    fn new(events: Events, heard: mpsc::Sender<Heard>) -> Life {
        Life {
            events,
            netlink: None,
            numbers: Numbers::default(),
            paths: Vec::new(),
            all: None,
            pins: None,
            written: Written::default(),
            verdicts: Vec::new(),
            heard,
            troubles: Vec::new(),
        }
    }

    fn has_pins(&self) -> bool {
        self.pins.as_ref().is_some_and(|pins| pins.exists())
    }

    fn busy(&self) -> bool {
        !self.paths.is_empty()
    }

    /// Whether something that should stand does not.
    fn unsettled(&self) -> bool {
        self.netlink.is_none()
            || !self.troubles.is_empty()
            || self.paths.iter().any(|path| path.source.is_none())
    }

    /// Interfaces or addresses changed, or the connection was lost and another one is to be made.
    async fn changed(&mut self) {
        match &mut self.netlink {
            Some(netlink) => match netlink.changed().await {
                Some(Change::Ground) => {}
                Some(Change::Ours) => self.written.doubt_routes(),
                None => self.netlink = None,
            },
            None => std::future::pending().await,
        }
    }

    /// Has the uplinks of this configuration, on the machine as it is now.
    async fn follow(&mut self, config: &Config) {
        // Those of another daemon are not ours to remove.
        self.pins = pins::Plane::Uplinks.is_own(config).then(|| pins::Plane::Uplinks.root(config));
        let idle = config.uplinks.is_empty();
        if idle && self.paths.is_empty() && (self.netlink.is_some() || !self.has_pins()) {
            return;
        }
        if self.netlink.is_none() {
            match Netlink::connect() {
                Ok(netlink) => self.netlink = Some(netlink),
                Err(error) => return self.say(vec![format!("no uplink is used: {error}")]),
            }
        }
        if idle {
            return self.end().await;
        }
        if self.all.as_ref() != Some(&config.outward) {
            self.written.doubt();
            self.all = Some(config.outward.clone());
            // Their marks may be others now.
            self.paths.clear();
        }
        let owners = self.written.open(config, &self.events);
        self.adopt(config, &owners);
        self.find().await;
        self.written.places(&config.outward);
        self.write().await;
    }

    /// Takes up the uplinks of a configuration; paths that stay keep what is known of them.
    fn adopt(&mut self, config: &Config, owners: &[u64]) {
        self.numbers.settle(config.uplinks.keys().map(String::as_str), owners);
        let mut before: Vec<Path> = std::mem::take(&mut self.paths);
        for (name, uplink) in &config.uplinks {
            let Some(number) = self.numbers.of(name) else { continue };
            for gateway in &uplink.via {
                let kept = before.iter().position(|path| path.serves(uplink, *gateway));
                let path = match kept {
                    Some(at) => before.swap_remove(at).with(uplink),
                    None => Path::new(uplink, *gateway, number),
                };
                self.paths.push(path);
            }
        }
    }

    async fn find(&mut self) {
        let Some(netlink) = &self.netlink else { return };
        let found = (netlink.interfaces().await, netlink.addresses().await);
        match found {
            (Ok(interfaces), Ok(addresses)) => {
                for path in &mut self.paths {
                    path.find(&interfaces, &addresses);
                }
            }
            (Err(error), _) | (_, Err(error)) => {
                for path in &mut self.paths {
                    path.fail(format!("the kernel does not tell its interfaces: {error}"));
                }
            }
        }
    }

    fn hear(&mut self, heard: &Heard) {
        // An answer to a socket that is closed by now is nobody's.
        let _ = self.paths.iter_mut().any(|path| path.hear(heard));
    }

    /// Time passed: asks, and writes what changed.
    async fn tick(&mut self) {
        let Some(marks) = self.all.as_ref().map(marks) else { return };
        let mut failed = Vec::new();
        for path in &mut self.paths {
            failed.extend(path.ask(now(), marks, &self.heard));
        }
        if !failed.is_empty() {
            self.say(failed);
        }
        if self.verdicts != self.seen() {
            self.write().await;
        }
    }

    fn seen(&self) -> Vec<(bool, bool)> {
        let verdict = |path: &Path| (path.candidate().up, path.candidate().stands);
        self.paths.iter().map(verdict).collect()
    }

    /// Writes what follows from how paths stand, and says what changed.
    async fn write(&mut self) {
        let Some(all) = self.all.clone() else { return };
        self.verdicts = self.seen();
        self.tell();
        self.written.programs(&all, &self.paths);
        if let Some(netlink) = &self.netlink {
            self.written.routes(&all, &self.paths, netlink).await;
        }
        self.written.translations(&all, &self.paths);
        let lost = std::mem::take(&mut self.written.lost);
        if lost > 0 {
            let text = format!(
                "{lost} rules or routes of uplinks were gone, which another program removes; they are set again"
            );
            self.events.warn("kernel-restored", text);
        }
        for name in std::mem::take(&mut self.written.taken_off) {
            let text = format!(
                "the program that shares what comes in by {name} among uplinks was taken off; it is back"
            );
            self.events.warn("kernel-restored", text);
        }
        let troubles = std::mem::take(&mut self.written.troubles);
        self.say(troubles);
    }

    /// Says which paths came and went.
    fn tell(&mut self) {
        let up = self.paths.iter().filter(|path| path.candidate().up).count();
        let (all, spread) =
            (self.paths.len(), [false, true].map(|v6| wheel(&self.paths, v6).spread));
        for path in &mut self.paths {
            let now = path.candidate().up;
            if path.said == Some(now) {
                continue;
            }
            let v6 = path.gateway.is_ipv6();
            let reason = path.judge.reason(&path.config.interface);
            let text = format!(
                "uplink {} ({}): {reason}; {up} of {all} are up",
                path.config.name,
                family(v6)
            );
            match (now, spread[usize::from(v6)]) {
                (true, _) => self.events.info("uplink-up", text),
                (false, false) => self.events.warn("uplink-down", text),
                (false, true) => {
                    let text = format!("{text}: all that can send are used as if they were");
                    self.events.warn("uplink-down", text);
                }
            }
            path.said = Some(now);
        }
    }

    fn say(&mut self, troubles: Vec<String>) {
        for trouble in troubles.iter().filter(|one| !self.troubles.contains(one)) {
            self.events.warn("uplink-trouble", trouble.clone());
        }
        self.troubles = troubles;
    }

    /// Gives everything up and leaves no trace.
    async fn end(&mut self) {
        self.paths.clear();
        self.verdicts.clear();
        self.numbers = Numbers::default();
        self.all = None;
        if self.has_pins() || self.netlink.is_some() {
            if self.netlink.is_none() {
                self.netlink = Netlink::connect().ok();
            }
            if let Some(netlink) = &self.netlink {
                let left = self.written.end(self.pins.as_deref(), netlink).await;
                self.say(left);
            }
        }
    }

    fn view(&self) -> View {
        let Some(all) = &self.all else { return View::default() };
        let wheels = [false, true].map(|v6| wheel(&self.paths, v6));
        let paths = self.paths.iter().map(|path| self.shown(path, all, &wheels)).collect();
        View { paths, troubles: self.troubles.clone(), rule: all.rule }
    }

    fn shown(&self, path: &Path, all: &Uplinks, wheels: &[Wheel; 2]) -> PathView {
        let Path { config, gateway, number, judge, source, .. } = path;
        PathView {
            name: config.name.clone(),
            v6: gateway.is_ipv6(),
            interface: config.interface.clone(),
            gateway: *gateway,
            source: *source,
            up: path.candidate().up,
            reason: judge.reason(&config.interface),
            weight: config.weight,
            priority: config.priority,
            share: wheels[usize::from(gateway.is_ipv6())].share(*number),
            round_trip: judge.round_trip(),
            loss: judge.loss(),
            table: all.table + u32::from(*number),
            mark: marks(all).of(*number),
            counts: self.written.counts(*number),
        }
    }
}

fn family(v6: bool) -> &'static str {
    if v6 { "IPv6" } else { "IPv4" }
}
