//! The paths of a heartbeat as sockets: opened when that can be, and what went out and came in by each. It judges nothing.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::SystemTime;

use l4::hops::Link;
use model::config::{BeatPath, Heartbeat};
use tokio::sync::mpsc;

use super::wire::Wire;
use super::word::Word;

/// All of them, in the order of the configuration.
pub struct Paths {
    config: Arc<Heartbeat>,
    era: u64,
    words: mpsc::Sender<Word>,
    each: Vec<Path>,
}

/// One.
pub struct Path {
    wire: Option<Wire>,
    /// The number of its interface, where one is written.
    pub scope: u32,
    /// Why there is no socket.
    pub problem: Option<String>,
    /// Since when it is up or down.
    pub since: SystemTime,
    /// Beats that went out.
    pub sent: u64,
    /// Beats that could not.
    pub not_sent: u64,
    /// Beats that were taken.
    pub received: u64,
    /// Packets that were not, by what was wrong with them.
    pub refused: BTreeMap<&'static str, u64>,
    /// What was wrong with the last packet, if it was not taken.
    pub last: Option<&'static str>,
}

impl Paths {
    /// None of them open.
    pub fn new(config: &Arc<Heartbeat>, era: u64, words: mpsc::Sender<Word>) -> Paths {
        let path = |_: &BeatPath| Path {
            wire: None,
            scope: 0,
            problem: Some("it is not open yet".to_owned()),
            since: SystemTime::now(),
            sent: 0,
            not_sent: 0,
            received: 0,
            refused: BTreeMap::new(),
            last: None,
        };
        let each = config.paths.iter().map(path).collect();
        Paths { config: Arc::clone(config), era, words, each }
    }

    /// All of them.
    pub fn each(&self) -> &[Path] {
        &self.each
    }

    /// Opens those that are not open.
    pub fn look(&mut self, links: &HashMap<u32, Link>) {
        for (at, (path, written)) in self.each.iter_mut().zip(&self.config.paths).enumerate() {
            if path.wire.as_ref().is_some_and(Wire::lives) {
                continue;
            }
            path.wire = None;
            let scope = match &written.interface {
                None => 0,
                Some(name) => match links.iter().find(|(_, link)| link.name == *name) {
                    Some((ifindex, _)) => *ifindex,
                    None => {
                        path.problem = Some(format!("there is no interface {name}"));
                        continue;
                    }
                },
            };
            path.scope = scope;
            let ids = (self.era, at);
            match Wire::open(written, self.config.port, scope, ids, self.words.clone()) {
                Ok(wire) => (path.wire, path.problem) = (Some(wire), None),
                Err(error) => {
                    let (local, port) = (written.local, self.config.port);
                    path.problem = Some(format!("no socket at {local}, port {port}: {error}"));
                }
            }
        }
    }

    /// Sends by one of them.
    pub fn send(&mut self, at: usize, bytes: &[u8]) {
        let Some(path) = self.each.get_mut(at) else { return };
        let sent = path.wire.as_ref().is_some_and(|wire| wire.send(bytes).is_ok());
        let counted = if sent { &mut path.sent } else { &mut path.not_sent };
        *counted += 1;
    }

    /// A packet was taken.
    pub fn took(&mut self, at: usize) {
        let Some(path) = self.each.get_mut(at) else { return };
        path.received += 1;
        path.last = None;
    }

    /// A packet was not.
    pub fn refuse(&mut self, at: usize, why: &'static str) {
        let Some(path) = self.each.get_mut(at) else { return };
        *path.refused.entry(why).or_default() += 1;
        path.last = Some(why);
    }

    /// It is up or down from now on.
    pub fn changed(&mut self, at: usize) {
        if let Some(path) = self.each.get_mut(at) {
            path.since = SystemTime::now();
        }
    }
}
