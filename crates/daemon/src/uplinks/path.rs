//! An uplink in one family: its judge, and whoever asks its targets. It writes nothing.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use links::uplink::judge::{Judge, Question, Target};
use links::uplink::mark::Marks;
use links::uplink::plan;
use links::uplink::source::{Own, source};
use links::uplink::wheel::Candidate;
use model::config::Uplink;
use model::moment::Moment;
use tokio::sync::mpsc;

use super::asker::{Asker, Heard, Way};
use super::routes::Interface;
use crate::probe::seed::seed;

/// A path.
#[derive(Debug)]
pub(super) struct Path {
    /// What is wanted.
    pub config: Arc<Uplink>,
    /// Its gateway.
    pub gateway: IpAddr,
    /// The uplink's number.
    pub number: u8,
    /// Its judge.
    pub judge: Judge,
    /// Its source, where it has one.
    pub source: Option<IpAddr>,
    /// What was said of it last.
    pub said: Option<bool>,
    ifindex: u32,
    askers: Vec<Option<Asker>>,
}

impl Path {
    /// One of which nothing is known.
    pub fn new(config: &Arc<Uplink>, gateway: IpAddr, number: u8) -> Path {
        let judge = Judge::new(gateway, config.probe.as_ref());
        let askers = judge.targets().map(|_| None).collect();
        let config = Arc::clone(config);
        Path { config, gateway, number, judge, source: None, said: None, ifindex: 0, askers }
    }

    /// Whether what is known of it holds for this configuration too.
    pub fn serves(&self, config: &Uplink, gateway: IpAddr) -> bool {
        let same = self.config.interface == config.interface && self.config.probe == config.probe;
        same && self.gateway == gateway && self.config.name == config.name
    }

    /// The same with a changed configuration.
    pub fn with(self, config: &Arc<Uplink>) -> Path {
        Path { config: Arc::clone(config), ..self }
    }

    /// Looks where it stands: at its interface and this machine's addresses.
    pub fn find(&mut self, interfaces: &HashMap<String, Interface>, all: &[Own]) {
        let name = self.config.interface.clone();
        let Some(found) = interfaces.get(&name) else {
            (self.source, self.ifindex) = (None, 0);
            self.close();
            return self.judge.ground(false, Some(format!("there is no interface {name}")));
        };
        if self.ifindex != found.ifindex {
            self.ifindex = found.ifindex;
            self.close();
        }
        let family = |ip: &&IpAddr| ip.is_ipv6() == self.gateway.is_ipv6();
        let wanted = self.config.source.iter().find(family).copied();
        let own = source(self.gateway, (&name, found.ifindex), wanted, all);
        if own.as_ref().ok() != self.source.as_ref() {
            self.close();
        }
        self.source = own.as_ref().ok().copied();
        self.judge.ground(found.carrier, own.err().map(|why| why.to_string()));
    }

    /// Nothing can be sent by it: why.
    pub fn fail(&mut self, why: String) {
        self.judge.ground(true, Some(why));
    }

    /// Asks what is due; what cannot be asked has no answer, and is said.
    pub fn ask(
        &mut self,
        now: Moment,
        marks: Marks,
        heard: &mpsc::Sender<Heard>,
    ) -> Option<String> {
        self.judge.pass(now);
        let mut failed = None;
        for Question { target, number } in self.judge.ask(now) {
            if let Err(error) = self.open(target, marks, heard) {
                failed = Some(format!("{} cannot be asked: {error}", self.config.interface));
            }
            if let Some(Some(asker)) = self.askers.get_mut(target) {
                asker.ask(number);
            }
        }
        failed
    }

    /// An answer came; `false`: to nobody here.
    pub fn hear(&mut self, heard: &Heard) -> bool {
        let ours = |one: &Option<Asker>| one.as_ref().is_some_and(|one| one.token == heard.token);
        let Some(target) = self.askers.iter().position(ours) else { return false };
        self.judge.answer(Question { target, number: heard.number }, heard.at);
        true
    }

    /// As the wheel sees it.
    pub fn candidate(&self) -> Candidate {
        let Path { number, .. } = *self;
        let (up, stands) = (self.judge.up(), self.judge.stands() && self.source.is_some());
        let (weight, priority) = (self.config.weight, self.config.priority);
        Candidate { number, up, stands, weight, priority }
    }

    /// As the plan sees it, where it can be routed to at all: it keeps its table without a carrier too.
    pub fn planned(&self) -> Option<plan::Path> {
        let candidate = self.candidate();
        let (ifindex, gateway, source) = (self.ifindex, self.gateway, self.source?);
        Some(plan::Path { candidate, ifindex, gateway, source })
    }

    /// Its interface's number; 0: there is none.
    pub fn ifindex(&self) -> u32 {
        self.ifindex
    }

    fn open(
        &mut self,
        at: usize,
        marks: Marks,
        heard: &mpsc::Sender<Heard>,
    ) -> std::io::Result<()> {
        let Some((target, _)) = self.judge.targets().nth(at) else { return Ok(()) };
        let Some(slot) = self.askers.get_mut(at) else { return Ok(()) };
        if slot.as_ref().is_some_and(Asker::lives) {
            return Ok(());
        }
        *slot = None;
        let limit = self.config.probe.as_ref().map(|probe| probe.timeout).unwrap_or_default();
        let interface = self.config.interface.as_str();
        let way = Way { interface, ifindex: self.ifindex, mark: marks.strict(self.number) };
        let target: Target = target;
        *slot = Some(Asker::open(target, way, (seed(), limit), heard.clone())?);
        Ok(())
    }

    fn close(&mut self) {
        self.askers.fill_with(|| None);
    }
}
