//! Whose time it really was: what kept the hosts of a model from sending, and how long packets were on their way.

use crate::host::{HostSettings, ModelHost, Segment, SendObstacle};
use crate::model::PlannedExchange;

/// Nanoseconds of the users' wait by owner.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlantedOwners {
    pub client: i64,
    pub network: i64,
    pub server: i64,
}

/// From when on something kept a host from sending.
#[derive(Clone, Copy, Debug)]
struct ObstacleStart {
    time_ns: i64,
    obstacle: SendObstacle,
}

/// Data that was sent.
#[derive(Clone, Copy, Debug)]
struct SentData {
    time_ns: i64,
    from: u64,
}

/// How far one end had received everything.
#[derive(Clone, Copy, Debug)]
struct ReceivedData {
    time_ns: i64,
    to: u64,
}

/// What happened, by host.
#[derive(Debug, Default)]
pub struct TruthRecord {
    obstacles: [Vec<ObstacleStart>; 2],
    sent: [Vec<SentData>; 2],
    received: [Vec<ReceivedData>; 2],
    lost: [Vec<u64>; 2],
}

/// A message: its first and last byte, and who sends it.
#[derive(Clone, Copy)]
struct PlannedMessage {
    sender: usize,
    from: u64,
    to: u64,
}

impl TruthRecord {
    /// `is_queued`: what the host sends waits before a link.
    pub fn note_state(&mut self, at: usize, time_ns: i64, host: &ModelHost, is_queued: bool) {
        self.received[at].push(ReceivedData { time_ns, to: host.received() });
        self.lost[at].retain(|lost| *lost >= host.unacked());
        let of_path = is_queued || !self.lost[at].is_empty();
        let obstacle = if of_path { SendObstacle::Congestion } else { host.obstacle() };
        self.obstacles[at].push(ObstacleStart { time_ns, obstacle });
    }

    pub fn note_sent(&mut self, at: usize, time_ns: i64, segment: &Segment, is_lost: bool) {
        if segment.length > 0 {
            self.sent[at].push(SentData { time_ns, from: segment.seq });
            if is_lost {
                self.lost[at].push(segment.seq);
            }
        }
    }

    /// The wait for these exchanges, from the first SYN on.
    pub fn owners(
        &self,
        exchanges: &[PlannedExchange],
        begun_ns: i64,
        hosts: &[HostSettings; 2],
    ) -> PlantedOwners {
        let bytes = |pieces: &[crate::model::PlannedPiece]| -> u64 {
            pieces.iter().map(|piece| piece.bytes as u64).sum()
        };
        let mut offsets = [0; 2];
        let mut owners = PlantedOwners::default();
        let mut is_first = true;
        for exchange in exchanges {
            let parts = [bytes(&exchange.request), bytes(&exchange.answer)];
            let [request, answer] = [0, 1].map(|sender| PlannedMessage {
                sender,
                from: offsets[sender],
                to: offsets[sender] + parts[sender],
            });
            offsets = [request.to, answer.to];
            let asked_ns = self.first_sent_ns(request);
            if std::mem::take(&mut is_first) {
                let idle_ms = exchange.pause_ms + exchange.request[0].wait_ms;
                owners.network += asked_ns - begun_ns - idle_ms * 1_000_000;
            }
            self.add_transfer(request, hosts, &mut owners);
            owners.server += self.first_sent_ns(answer) - self.received_ns(request);
            self.add_transfer(answer, hosts, &mut owners);
        }
        owners
    }

    fn first_sent_ns(&self, of: PlannedMessage) -> i64 {
        self.sent[of.sender].iter().find(|sent| sent.from >= of.from).unwrap().time_ns
    }

    fn received_ns(&self, of: PlannedMessage) -> i64 {
        let received = &self.received[1 - of.sender];
        received.iter().find(|received| received.to >= of.to).unwrap().time_ns
    }

    fn add_transfer(
        &self,
        of: PlannedMessage,
        hosts: &[HostSettings; 2],
        owners: &mut PlantedOwners,
    ) {
        let from_ns = self.first_sent_ns(of);
        let received_ns = self.received_ns(of);
        let is_before = |sent: &&SentData| sent.time_ns < received_ns && sent.from < of.to;
        let to_ns = self.sent[of.sender].iter().rev().find(is_before).unwrap().time_ns;
        owners.network += received_ns - to_ns;
        let obstacles = &self.obstacles[of.sender];
        for (at, start) in obstacles.iter().enumerate() {
            let end_ns = obstacles.get(at + 1).map_or(i64::MAX, |next| next.time_ns);
            let ns = end_ns.min(to_ns) - start.time_ns.max(from_ns);
            if ns <= 0 {
                continue;
            }
            let delays_acks = hosts[1 - of.sender].delayed_ack_ms > 0;
            let owner = match start.obstacle {
                SendObstacle::Congestion => None,
                SendObstacle::Nagle if !delays_acks => Some(of.sender),
                SendObstacle::Program => Some(of.sender),
                SendObstacle::Nagle | SendObstacle::Window => Some(1 - of.sender),
            };
            match owner {
                None => owners.network += ns,
                Some(0) => owners.client += ns,
                Some(_) => owners.server += ns,
            }
        }
    }
}
