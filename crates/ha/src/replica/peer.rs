//! The other member as a replication partner: whether both understand each other, what it still needs, and whether we
//! have all that it had. Pure.

use std::collections::BTreeMap;

use model::monotonic_time::MonotonicTime;

use super::datagram::{self, RecordBatch, ReplicaBody, ReplicaDatagram, ReplicaHello, parse};
use super::defect::ReplicaDefect;
use super::receive_window::ReceiveWindow;
use super::record::ReplicaRecord;
use super::seal::{self, HashSecret, SecretClaim, SecretOwner, secret_owner};
use super::send_window::{DeliveryReport, SendWindow, WINDOW};
use crate::keys::ClusterKeys;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplicaCounters {
    pub packets: u64,
    /// Bytes of all packets sent, without the headers of UDP and below.
    pub bytes: u64,
    pub sent: u64,
    pub received: u64,
    /// Retransmitted places: a packet was lost.
    pub resent: u64,
    /// Places whose change arrived at the other member within 50 ms, as far as is known.
    pub timely: u64,
    /// Places whose change was delayed or lost. Places of a full synchronisation are not counted.
    pub slow: u64,
    /// Full synchronisations of the other member.
    pub syncs: u64,
    /// Times that sending stopped until an acknowledgement arrived.
    pub window_full: u64,
    /// Rejected packets by defect.
    pub refused: BTreeMap<&'static str, u64>,
}

/// The result of a received packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplicaEvent {
    /// Entries to add; the sender expects an acknowledgement.
    Records(Vec<ReplicaRecord>),
    /// Places to retransmit.
    Lost(Vec<u64>),
    /// Both members have the same secret.
    Agreed,
    /// Use this secret from now on. Entries hashed with the previous one are useless.
    Adopt(HashSecret),
    /// The other member will adopt our secret.
    AwaitPeer,
    /// Both hold addresses, and their secrets differ.
    SecretsDiffer,
}

/// Progress of the full synchronisation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum SyncProgress {
    /// No place was read yet.
    #[default]
    Pending,
    /// The places are being read.
    Scanning,
    /// Every place was read; lost ones are still to be sent.
    Scanned,
    /// Everything was sent up to this number; not all of it is acknowledged.
    Sent(u64),
    Complete,
}

/// The sessions of the two members' processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplicaSessions {
    pub ours: u64,
    pub theirs: u64,
}

#[derive(Clone, Debug, Default)]
pub struct ReplicaPeer {
    sessions: Option<ReplicaSessions>,
    window: SendWindow,
    received: ReceiveWindow,
    progress: SyncProgress,
    /// All changes before this time were sent.
    sent_before: MonotonicTime,
    agreed: bool,
    secrets_differ: bool,
    /// The epoch of our tables, less one.
    own_epoch: u32,
    /// The epoch of the other member's tables, as last reported.
    peer_epoch: u32,
    /// Our epoch for which we have everything.
    synced_epoch: u32,
    pub counts: ReplicaCounters,
}

impl ReplicaPeer {
    /// Sets the sessions of both members. `None`: the other member's heartbeats do not arrive.
    pub fn set_sessions(&mut self, sessions: Option<ReplicaSessions>) {
        if self.sessions == sessions {
            return;
        }
        self.sessions = sessions;
        self.window.clear();
        self.received = ReceiveWindow::default();
        self.peer_epoch = 0;
        self.synced_epoch = 0;
        self.reset_agreement();
    }

    fn reset_agreement(&mut self) {
        self.progress = SyncProgress::Pending;
        self.agreed = false;
        self.secrets_differ = false;
    }

    /// The other member's heartbeats arrive and both members use the same secret.
    pub fn is_agreed(&self) -> bool {
        self.sessions.is_some() && self.agreed
    }

    /// Both hold addresses, and their secrets differ.
    pub fn secrets_differ(&self) -> bool {
        self.secrets_differ
    }

    /// Everything that the other member had has arrived here.
    pub fn is_synced(&self) -> bool {
        self.is_agreed() && self.synced_epoch == self.epoch()
    }

    fn epoch(&self) -> u32 {
        self.own_epoch.saturating_add(1)
    }

    /// The other member has everything that was here when it joined.
    pub fn is_peer_synced(&self) -> bool {
        self.is_agreed() && self.progress == SyncProgress::Complete
    }

    /// The other member needs every place.
    pub fn needs_full_sync(&self) -> bool {
        self.is_agreed() && self.progress == SyncProgress::Pending
    }

    /// Starts a read of every place.
    pub fn start_full_scan(&mut self) {
        if self.progress == SyncProgress::Pending {
            self.progress = SyncProgress::Scanning;
        }
    }

    /// Every place was read since `start_full_scan`: each entry was sent or is noted. During another kind of full read
    /// this has no effect.
    pub fn finish_full_scan(&mut self) {
        if self.progress == SyncProgress::Scanning {
            self.progress = SyncProgress::Scanned;
            self.counts.syncs += 1;
        }
    }

    /// All that was noted before this time has been sent.
    pub fn note_all_sent(&mut self, before: MonotonicTime) {
        self.sent_before = before;
        if self.progress == SyncProgress::Scanned {
            self.progress = SyncProgress::Sent(self.window.newest());
            self.update_progress();
        }
    }

    fn update_progress(&mut self) {
        if let SyncProgress::Sent(number) = self.progress
            && self.window.oldest().is_none_or(|oldest| oldest > number)
        {
            self.progress = SyncProgress::Complete;
        }
    }

    /// Whether a packet of records may be sent.
    pub fn may_send(&mut self) -> bool {
        let may = self.is_agreed() && self.window.room() > 0;
        self.counts.window_full += u64::from(self.is_agreed() && !may);
        may
    }

    /// Whether another packet of records may be sent in this round.
    pub fn has_room(&self) -> bool {
        self.window.room() > 1
    }

    /// Whether unchanged entries may be sent: half of the window is reserved for changes.
    pub fn has_room_for_sync(&self) -> bool {
        self.window.room() > WINDOW / 2
    }

    /// The packet of a batch; `None` for an empty batch.
    pub fn send_batch(
        &mut self,
        now: MonotonicTime,
        mut batch: RecordBatch,
        keys: &ClusterKeys,
    ) -> Option<Vec<u8>> {
        let ReplicaSessions { ours, theirs } = self.sessions.filter(|_| !batch.is_empty())?;
        let places = batch.take_places();
        self.counts.sent += places.len() as u64;
        let since = (self.progress == SyncProgress::Complete).then_some(self.sent_before);
        let number = self.window.send(now, places, since);
        let bytes = batch.emit(ours, theirs, number, keys);
        self.counts.packets += 1;
        self.counts.bytes += bytes.len() as u64;
        Some(bytes)
    }

    /// An acknowledgement, if one is due.
    pub fn take_acknowledgement(&mut self, keys: &ClusterKeys) -> Option<Vec<u8>> {
        let ReplicaSessions { ours, theirs } = self.sessions?;
        let bytes =
            datagram::emit_acknowledgement(ours, theirs, &self.received.acknowledgement(), keys);
        self.counts.bytes += bytes.len() as u64;
        Some(bytes)
    }

    pub fn build_hello(
        &mut self,
        active: bool,
        secret: &HashSecret,
        keys: &ClusterKeys,
    ) -> Option<Vec<u8>> {
        let ReplicaSessions { ours, theirs } = self.sessions?;
        let tag = seal::tag(secret, keys.signer(), keys);
        let sealed = seal::seal(secret, ours, tag, keys.signer(), keys)?;
        let whole = if self.is_peer_synced() { self.peer_epoch } else { 0 };
        let hello = ReplicaHello { active, epoch: self.epoch(), synced_epoch: whole, tag, sealed };
        let bytes = datagram::emit_hello(ours, theirs, &hello, keys);
        self.counts.bytes += bytes.len() as u64;
        Some(bytes)
    }

    /// Handles elapsed time. Returns the places to retransmit.
    pub fn handle_timeouts(&mut self, now: MonotonicTime) -> Vec<u64> {
        let ended = self.window.expire(now);
        self.record_losses(ended)
    }

    fn record_losses(
        &mut self,
        DeliveryReport { lost, timely: prompt, slow }: DeliveryReport,
    ) -> Vec<u64> {
        self.counts.timely += prompt;
        self.counts.slow += slow;
        if !lost.is_empty() {
            self.counts.resent += lost.len() as u64;
            if matches!(self.progress, SyncProgress::Sent(_)) {
                self.progress = SyncProgress::Scanned;
            }
        }
        self.update_progress();
        lost
    }

    /// Handles a received packet. `active`: whether this member holds an address. `secret`: this member's secret.
    ///
    /// # Errors
    /// The packet is rejected and counted.
    pub fn receive(
        &mut self,
        now: MonotonicTime,
        bytes: &[u8],
        active: bool,
        secret: &HashSecret,
        keys: &ClusterKeys,
    ) -> Result<ReplicaEvent, ReplicaDefect> {
        let datagram = parse(bytes, keys)
            .and_then(|datagram| self.handle_datagram(now, datagram, active, secret, keys));
        if let Err(defect) = &datagram {
            *self.counts.refused.entry(defect.name()).or_default() += 1;
        }
        datagram
    }

    fn handle_datagram(
        &mut self,
        now: MonotonicTime,
        datagram: ReplicaDatagram,
        active: bool,
        secret: &HashSecret,
        keys: &ClusterKeys,
    ) -> Result<ReplicaEvent, ReplicaDefect> {
        let ReplicaSessions { ours, theirs } = self.sessions.ok_or(ReplicaDefect::Session)?;
        if datagram.from == ours {
            return Err(ReplicaDefect::Reflected);
        }
        if (datagram.to, datagram.from) != (ours, theirs) {
            return Err(ReplicaDefect::Session);
        }
        match &datagram.body {
            ReplicaBody::Hello(hello) => {
                Ok(self.handle_hello(&datagram, hello, active, secret, keys))
            }
            ReplicaBody::Acknowledgement(heard) => {
                let ended = self.window.acknowledge(now, heard);
                Ok(ReplicaEvent::Lost(self.record_losses(ended)))
            }
            ReplicaBody::Records(_) if !self.agreed => Err(ReplicaDefect::Session),
            ReplicaBody::Records(_) if !self.received.accept(datagram.number) => {
                Err(ReplicaDefect::Late)
            }
            ReplicaBody::Records(records) => {
                self.counts.received += records.len() as u64;
                Ok(ReplicaEvent::Records(records.clone()))
            }
        }
    }

    fn handle_hello(
        &mut self,
        datagram: &ReplicaDatagram,
        hello: &ReplicaHello,
        active: bool,
        secret: &HashSecret,
        keys: &ClusterKeys,
    ) -> ReplicaEvent {
        let ours = seal::tag(secret, datagram.key, keys);
        if self.peer_epoch != hello.epoch || ours != hello.tag {
            self.reset_agreement();
        }
        self.peer_epoch = hello.epoch;
        if ours == hello.tag {
            self.agreed = true;
            self.secrets_differ = false;
            self.synced_epoch = hello.synced_epoch;
            return ReplicaEvent::Agreed;
        }
        let own_claim = SecretClaim { active, session: datagram.to };
        let peer_claim = SecretClaim { active: hello.active, session: datagram.from };
        match secret_owner(own_claim, peer_claim) {
            SecretOwner::Ours => ReplicaEvent::AwaitPeer,
            SecretOwner::Theirs => match seal::open_sealed(datagram, hello, keys) {
                Some(theirs) => {
                    // Earlier entries are hashed with another secret, so all of them must be retransmitted.
                    self.own_epoch = self.own_epoch.wrapping_add(1) & i32::MAX.cast_unsigned();
                    ReplicaEvent::Adopt(theirs)
                }
                None => ReplicaEvent::AwaitPeer,
            },
            SecretOwner::Neither => {
                self.secrets_differ = true;
                ReplicaEvent::SecretsDiffer
            }
        }
    }
}

#[cfg(test)]
mod tests;
