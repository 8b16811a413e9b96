//! One group at work: its machine, its socket, its addresses. It carries out what the machine says, in order.

mod elsewhere;
mod hold;
mod pair;
mod restore;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::SystemTime;

use ha::advert::{Advert, Defect, Envelope, GROUP_V4, GROUP_V6, emit};
use ha::double::Doubles;
use ha::frame::advertisement;
use ha::machine::{Action, Machine, Refused, State, Why};
use model::config::Vrrp;
use model::moment::Moment;
use tokio::sync::mpsc;

use super::ear::{Ear, Heard};
use super::gate::Gates;
use super::ground::{Ground, Place};
use super::heartbeat::said::Pair;
use super::mouth::Mouth;
use super::order::Move;
use super::restored::{Here, Restored};
use super::settings::settings;
use super::view::GroupView;
use super::{alive, tell};
use crate::event::{Events, Level};
use crate::packets::netlink::{Address, Kernel};

/// Changes that are kept for `status`.
const KEPT: usize = 8;

/// What a group works with: shared by all of them.
pub struct Tools<'a> {
    /// The kernel's addresses.
    pub kernel: &'a Kernel,
    /// The dead man's gate.
    pub gates: &'a mut Gates,
    /// The socket of each interface.
    pub ears: &'a HashMap<u32, Ear>,
    /// What is told.
    pub events: &'a Events,
    /// Where sockets of frames tell what they hear.
    pub frames: &'a mpsc::Sender<Heard>,
}

/// A group.
pub struct Group {
    /// Its configuration.
    pub config: Arc<Vrrp>,
    machine: Machine,
    ground: Option<Ground>,
    mouth: Option<Mouth>,
    problem: Option<String>,
    /// Why it cannot do all of its work.
    unfit: Option<String>,
    /// Until when the addresses may be answered for by what was sent.
    held: Moment,
    /// The other member of the heartbeat.
    pair: Arc<Pair>,
    /// The link of its own that was made for it.
    seat: Option<u32>,
    /// The addresses were here before us: they are not ours to take away.
    foreign: bool,
    /// Others have to agree before it is active.
    witnessed: bool,
    /// Whether the addresses are elsewhere too, and what hears of it.
    doubles: Doubles,
    scouts: Vec<Ear>,
    /// What another program took away, and what cannot be set.
    restored: Restored,
    since: SystemTime,
    reason: String,
    dropped: BTreeMap<&'static str, u64>,
    changes: VecDeque<(SystemTime, State, String)>,
}

impl Group {
    /// One that has not begun.
    pub fn new(config: Arc<Vrrp>) -> Group {
        let machine = Machine::new(settings(&config, IpAddr::from([0; 4])));
        Group {
            machine,
            config,
            ground: None,
            mouth: None,
            problem: None,
            unfit: None,
            held: Moment::default(),
            pair: Default::default(),
            seat: None,
            foreign: false,
            witnessed: false,
            doubles: Doubles::default(),
            scouts: Vec::new(),
            restored: Restored::default(),
            since: SystemTime::now(),
            reason: "it has not begun".to_owned(),
            dropped: BTreeMap::new(),
            changes: VecDeque::new(),
        }
    }

    /// When something is due.
    pub fn due(&self) -> Moment {
        self.machine.due().min(self.doubles.due())
    }

    /// What it is.
    pub fn state(&self) -> State {
        self.machine.state()
    }

    /// Takes a changed configuration up where that is possible without leaving; `false`: it must be made anew.
    pub fn adopt(&mut self, config: &Arc<Vrrp>) -> bool {
        let (old, new) = (&self.config, config);
        let same = old.interface == new.interface
            && (old.id, old.version) == (new.id, new.version)
            && (&old.addresses, &old.also) == (&new.addresses, &new.also)
            && (old.source, &old.peers) == (new.source, &new.peers)
            && old.link_address == new.link_address
            && old.dead_man.is_some() == new.dead_man.is_some();
        if same {
            self.config = Arc::clone(config);
            let source = self.machine.settings().source;
            self.machine.set(settings(config, source));
        }
        same
    }

    /// Stands on this ground from now on, or is at fault. `here`: what this machine has.
    pub async fn stand(
        &mut self,
        ground: Result<Ground, String>,
        here: Here<'_>,
        tools: &mut Tools<'_>,
    ) {
        let ground = match self.restored.refusal(alive::now()).map_or(ground, Err) {
            Ok(ground) => ground,
            Err(problem) => return self.fail(problem, tools).await,
        };
        if self.witnessed && tools.gates.broken.is_some() {
            let text = "no dead man's gate, and never two need one".to_owned();
            return self.fail(text, tools).await;
        }
        if self.state() != State::Idle && self.ground.as_ref() == Some(&ground) {
            return self.restore(here, tools).await;
        }
        if self.state() != State::Idle {
            self.fail("its interface or address changed".to_owned(), tools).await;
        }
        match Mouth::open(&self.config.interface, ground.ifindex, ground.source) {
            Ok(mouth) => self.mouth = Some(mouth),
            Err(error) => {
                let text = format!("no socket for advertisements: {error}");
                return self.fail(text, tools).await;
            }
        }
        if ground.places.iter().any(|place| !tools.ears.contains_key(&place.port)) {
            return self.fail("no socket for frames".to_owned(), tools).await;
        }
        self.begin(ground, here.addresses, tools).await;
    }

    async fn begin(&mut self, ground: Ground, addresses: &[Address], tools: &mut Tools<'_>) {
        self.problem = None;
        self.machine.set(settings(&self.config, ground.source));
        self.seat = ground.seat;
        self.ground = Some(ground);
        if self.config.dead_man.is_some() {
            self.guard(tools);
        }
        let places = self.places().to_vec();
        let here = |place: &Place| addresses.iter().any(|one| one.ip == place.ip);
        let present = places.iter().all(here);
        let now = alive::now();
        let owner = self.config.priority == ha::advert::OWNER;
        let moves: Vec<IpAddr> = places.iter().map(|place| place.ip).collect();
        let held = present && !owner && tools.gates.held(&moves, now);
        self.await_leave(held.then(|| tools.gates.until(&moves)), now);
        // What a process left that did not end well.
        let left: Vec<Place> = places.iter().filter(|place| here(place)).copied().collect();
        self.foreign = owner && present;
        if !held && !self.foreign {
            if !left.is_empty() {
                self.machine.found_addresses();
            }
            self.give(&left, tools).await;
        }
        let mut actions = Vec::new();
        self.machine.begin(now, held, &mut actions);
        self.carry_out(actions, tools).await;
        self.vacate(addresses, tools).await;
    }

    /// Cannot do its work now.
    pub async fn fail(&mut self, problem: String, tools: &mut Tools<'_>) {
        if self.state() == State::Idle {
            self.reason.clone_from(&problem);
            self.problem = Some(problem);
            return;
        }
        self.problem = Some(problem);
        self.end(Why::Fault, tools).await;
    }

    /// Takes no part any more; an active one says so and gives the addresses up.
    pub async fn end(&mut self, why: Why, tools: &mut Tools<'_>) {
        let mut actions = Vec::new();
        self.machine.end(alive::now(), why, &mut actions);
        self.carry_out(actions, tools).await;
        if why == Why::Ended {
            self.raze(tools).await;
        }
        (self.mouth, self.ground) = (None, None);
    }

    /// Follows an order; whether that changed anything.
    ///
    /// # Errors
    /// It cannot.
    pub async fn move_(&mut self, how: Move, tools: &mut Tools<'_>) -> Result<bool, Refused> {
        let (now, mut actions) = (alive::now(), Vec::new());
        let moved = match how {
            Move::Take => self.machine.order(now, &mut actions).map(|()| true),
            Move::Give { .. } => self.machine.hand_over(now, &mut actions).map(|()| true),
            Move::Release => Ok(self.machine.release_order()),
        };
        self.carry_out(actions, tools).await;
        moved
    }

    /// Time has passed.
    pub async fn tick(&mut self, tools: &mut Tools<'_>) {
        let (now, mut actions) = (alive::now(), Vec::new());
        if self.machine.due() <= now {
            self.machine.tick(now, &mut actions);
            self.carry_out(actions, tools).await;
        }
        self.ask_elsewhere(tools);
    }

    /// Whether advertisements of this number by this interface are its own.
    pub fn is(&self, ifindex: u32, id: u8, v6: bool) -> bool {
        let there = self.ground.as_ref().is_some_and(|ground| ground.ifindex == ifindex);
        there && self.config.id == id && self.config.v6() == v6
    }

    /// An advertisement of this group arrived.
    pub async fn receive(&mut self, from: &Envelope, advert: &Advert, tools: &mut Tools<'_>) {
        let source = from.source;
        if self.ground.as_ref().is_some_and(|ground| ground.source == source) {
            return self.count("own-address");
        }
        if !self.config.hears(source) {
            return self.count("source-not-allowed");
        }
        // Members that were named may be behind routers.
        if !from.is_near() && self.config.peers.is_empty() {
            return self.count(Defect::Hops.name());
        }
        let mut actions = Vec::new();
        self.machine.receive(alive::now(), source, advert, &mut actions);
        self.carry_out(actions, tools).await;
    }

    fn count(&mut self, what: &'static str) {
        *self.dropped.entry(what).or_default() += 1;
    }

    /// How it stands.
    pub fn view(&self) -> GroupView {
        GroupView {
            interface: self.config.interface.clone(),
            id: self.config.id,
            addresses: self.config.addresses.clone(),
            state: self.state(),
            since: self.since,
            reason: self.why(),
            priority: self.machine.priority(),
            heard: self.machine.heard(),
            counts: self.counts(),
            dropped: self.dropped.clone(),
            changes: self.changes.iter().cloned().collect(),
        }
    }

    async fn carry_out(&mut self, actions: Vec<Action>, tools: &mut Tools<'_>) {
        for action in actions {
            match action {
                Action::Send(advert) => self.send(&advert, tools),
                Action::Take => {
                    self.take(tools).await;
                    self.watch(tools);
                }
                Action::Give if self.foreign => self.unwatch(),
                Action::Give => {
                    self.unwatch();
                    let places = self.places().to_vec();
                    self.give(&places, tools).await;
                }
                Action::Announce => self.announce(tools),
                Action::OtherAddresses { source, addresses, foreign } => {
                    self.report_conflict(source, &addresses, foreign, tools);
                }
                Action::Withheld(why) => self.kept_back(why, tools),
                Action::Changed { from, to, why } => self.changed(from, to, why, tools),
            }
        }
    }

    /// Sends, and holds the address so much longer: only what was sent is known to the others.
    fn send(&mut self, advert: &Advert, tools: &mut Tools<'_>) {
        let (Some(mouth), Some(ground)) = (&self.mouth, &self.ground) else { return };
        let group = if ground.source.is_ipv4() { GROUP_V4.into() } else { GROUP_V6.into() };
        let everybody = [group];
        let peers = &self.config.peers;
        let to: &[IpAddr] = if peers.is_empty() { &everybody } else { peers };
        let mut sent = false;
        let mut failed = 0;
        for to in to {
            let bytes = emit(advert, ground.source, *to);
            let done = match self.config.virtual_link() {
                Some(link) => {
                    let frame = advertisement(&bytes, ground.source, link);
                    let missing = || Err(std::io::ErrorKind::NotFound.into());
                    tools.ears.get(&ground.ifindex).map_or_else(missing, |ear| ear.send(&frame))
                }
                None => mouth.send(&bytes, *to),
            };
            match done {
                Ok(()) => sent = true,
                Err(_) => failed += 1,
            }
        }
        *self.dropped.entry("not-sent").or_default() += failed;
        if !sent || self.state() != State::Active {
            return;
        }
        self.held = self.machine.hold();
        tools.gates.hold(&self.gated(), self.held);
    }

    fn changed(&mut self, from: State, to: State, why: Why, tools: &Tools<'_>) {
        let (level, kind) = tell::kind(to, why);
        self.since = SystemTime::now();
        let detail = match why {
            Why::Behind => Some(self.pair.standing.as_str()),
            _ => self.problem.as_deref(),
        };
        self.reason = tell::reason(why, detail);
        if self.changes.len() == KEPT {
            self.changes.pop_front();
        }
        self.changes.push_back((self.since, to, self.reason.clone()));
        let (from, to) = (super::view::name(from), super::view::name(to));
        let text = format!("group {} is {to}, was {from}: {}", self.config.name, self.reason);
        let shared: Vec<String> = self.config.moves().map(|(ip, _)| ip.to_string()).collect();
        let about = [
            ("group", self.config.name.clone()),
            ("interface", self.config.interface.clone()),
            ("addresses", shared.join(" ")),
            ("state", to.to_owned()),
            ("was", from.to_owned()),
        ];
        let level = if from == "idle" && to == "standby" { Level::Info } else { level };
        tools.events.tell(level, kind, text, &about);
    }
}
