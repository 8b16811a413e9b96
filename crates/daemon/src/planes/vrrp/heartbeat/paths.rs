//! The paths of a heartbeat as sockets: opened when possible, with what went out and came in by each.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::SystemTime;

use files::plain_error::plain_error_text;
use l4::next_hops::NextHopLink;
use model::config::{HeartbeatConfig, HeartbeatPathConfig};
use tokio::sync::mpsc;

use super::message::HeartbeatMessage;
use super::path_socket::PathSocket;

/// All of them, in the order of the configuration.
pub struct HeartbeatSockets {
    config: Arc<HeartbeatConfig>,
    epoch: u64,
    messages: mpsc::Sender<HeartbeatMessage>,
    paths: Vec<HeartbeatSocket>,
}

pub struct HeartbeatSocket {
    socket: Option<PathSocket>,
    /// The number of its interface, where one is written.
    pub scope: u32,
    /// Why there is no socket.
    pub last_error: Option<String>,
    /// Since when it is up or down.
    pub since: SystemTime,
    /// Beats that went out.
    pub sent: u64,
    /// Beats that could not.
    pub not_sent: u64,
    pub received: u64,
    /// Rejected packets, by defect.
    pub refused: BTreeMap<&'static str, u64>,
    /// The defect of the last packet, if it was rejected.
    pub last_defect: Option<&'static str>,
}

impl HeartbeatSockets {
    /// None of them open.
    pub fn new(
        config: &Arc<HeartbeatConfig>,
        era: u64,
        words: mpsc::Sender<HeartbeatMessage>,
    ) -> HeartbeatSockets {
        let path = |_: &HeartbeatPathConfig| HeartbeatSocket {
            socket: None,
            scope: 0,
            last_error: Some("it is not open yet".to_owned()),
            since: SystemTime::now(),
            sent: 0,
            not_sent: 0,
            received: 0,
            refused: BTreeMap::new(),
            last_defect: None,
        };
        let each = config.paths.iter().map(path).collect();
        HeartbeatSockets { config: Arc::clone(config), epoch: era, messages: words, paths: each }
    }

    pub fn paths(&self) -> &[HeartbeatSocket] {
        &self.paths
    }

    /// Opens paths that are not open.
    pub fn open_missing(&mut self, links: &HashMap<u32, NextHopLink>) {
        for (at, (path, written)) in self.paths.iter_mut().zip(&self.config.paths).enumerate() {
            if path.socket.as_ref().is_some_and(PathSocket::is_alive) {
                continue;
            }
            path.socket = None;
            let scope = match &written.interface {
                None => 0,
                Some(name) => match links.iter().find(|(_, link)| link.name == *name) {
                    Some((ifindex, _)) => *ifindex,
                    None => {
                        path.last_error = Some(format!("there is no interface {name}"));
                        continue;
                    }
                },
            };
            path.scope = scope;
            let port = self.config.port;
            let to = self.messages.clone();
            match PathSocket::open(written, port, scope, self.epoch, at, to) {
                Ok(wire) => (path.socket, path.last_error) = (Some(wire), None),
                Err(error) => {
                    let local = written.local;
                    let text = format!("no socket at {local}, port {port}: {error}");
                    path.last_error = Some(plain_error_text(text));
                }
            }
        }
    }

    /// Sends by one of them.
    pub fn send(&mut self, at: usize, bytes: &[u8]) {
        let Some(path) = self.paths.get_mut(at) else { return };
        let sent = path.socket.as_ref().is_some_and(|wire| wire.send(bytes).is_ok());
        let counted = if sent { &mut path.sent } else { &mut path.not_sent };
        *counted += 1;
    }

    pub fn count_received(&mut self, at: usize) {
        let Some(path) = self.paths.get_mut(at) else { return };
        path.received += 1;
        path.last_defect = None;
    }

    /// A packet was not.
    pub fn count_refused(&mut self, at: usize, why: &'static str) {
        let Some(path) = self.paths.get_mut(at) else { return };
        *path.refused.entry(why).or_default() += 1;
        path.last_defect = Some(why);
    }

    /// It is up or down from now on.
    pub fn record_change(&mut self, at: usize) {
        if let Some(path) = self.paths.get_mut(at) {
            path.since = SystemTime::now();
        }
    }
}
