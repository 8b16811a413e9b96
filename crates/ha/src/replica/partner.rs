//! The other member as a partner of replication: whether both understand each other, what it has yet to be told, and
//! whether we have all that it had. Pure.

use std::collections::BTreeMap;

use model::moment::Moment;

use super::datagram::{self, Batch, Body, Datagram, Hello, parse};
use super::record::Record;
use super::seal::{self, Secret, Whose, whose};
use super::taken::Taken;
use super::window::{Ended, WINDOW, Window};
use super::wrong::Defect;
use crate::keys::Keys;

/// What was counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets of records that went out.
    pub packets: u64,
    /// Bytes of all packets that went out, without the headers of UDP and below.
    pub bytes: u64,
    /// Records that went out.
    pub sent: u64,
    /// Records that came.
    pub received: u64,
    /// Places that were told of anew because a packet did not come.
    pub again: u64,
    /// Places that the other member was told of at most 50 ms after they changed, as is known.
    pub prompt: u64,
    /// Places that it was told of later, or that were lost; those of a member that joins count for neither.
    pub slow: u64,
    /// Times that the other member was told of everything.
    pub syncs: u64,
    /// Times that nothing more was sent until the other member would have said what came.
    pub held_back: u64,
    /// Packets that were not taken, by what was wrong with them.
    pub refused: BTreeMap<&'static str, u64>,
}

/// What a packet comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// Entries to take over; the sender is to hear that they came.
    Records(Vec<Record>),
    /// Places to tell of anew.
    Lost(Vec<u64>),
    /// Both have the same secret.
    Agreed,
    /// This secret is to be used from now on, and what was hashed with the one before is of no use.
    Adopt(Secret),
    /// The other member will use ours.
    Wait,
    /// Both hold addresses, with secrets that differ.
    Apart,
}

/// How far the other member has been told of everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Told {
    /// Places wait that nobody has looked at.
    #[default]
    Nothing,
    /// They are being looked at.
    Begun,
    /// Each place was looked at; what was lost of it is owed.
    Owed,
    /// All was sent up to this number, and not all of it is known to have come.
    Sent(u64),
    /// All has come.
    Whole,
}

/// The other member.
#[derive(Clone, Debug, Default)]
pub struct Partner {
    sessions: Option<(u64, u64)>,
    window: Window,
    taken: Taken,
    told: Told,
    /// All that had changed by then was sent.
    emptied: Moment,
    agreed: bool,
    apart: bool,
    /// Times that our tables have begun anew, and those of the other member, as it said last.
    epochs: (u32, u32),
    /// Our epoch of which we have everything.
    whole: u32,
    /// What was counted.
    pub counts: Counts,
}

impl Partner {
    /// Our process and the other member's; `None`: it is not heard.
    pub fn meet(&mut self, sessions: Option<(u64, u64)>) {
        if self.sessions == sessions {
            return;
        }
        self.sessions = sessions;
        self.window.clear();
        self.taken = Taken::default();
        (self.epochs.1, self.whole) = (0, 0);
        self.part();
    }

    fn part(&mut self) {
        (self.told, self.agreed, self.apart) = (Told::Nothing, false, false);
    }

    /// It is heard, and uses the same secret.
    pub fn agrees(&self) -> bool {
        self.sessions.is_some() && self.agreed
    }

    /// Both hold addresses, with secrets that differ.
    pub fn apart(&self) -> bool {
        self.apart
    }

    /// Everything that it had has come here.
    pub fn is_whole(&self) -> bool {
        self.agrees() && self.whole == self.epoch()
    }

    fn epoch(&self) -> u32 {
        self.epochs.0.saturating_add(1)
    }

    /// It has everything that was here when it joined.
    pub fn has_whole(&self) -> bool {
        self.agrees() && self.told == Told::Whole
    }

    /// It is to be told of every place.
    pub fn is_due(&self) -> bool {
        self.agrees() && self.told == Told::Nothing
    }

    /// From now on every place is looked at.
    pub fn begun(&mut self) {
        if self.told == Told::Nothing {
            self.told = Told::Begun;
        }
    }

    /// Every place was looked at since `begun`: what is there was sent, or is noted. Where everything is told for another
    /// reason this says nothing.
    pub fn noted(&mut self) {
        if self.told == Told::Begun {
            self.told = Told::Owed;
            self.counts.syncs += 1;
        }
    }

    /// All that was noted before has been sent.
    pub fn emptied(&mut self, before: Moment) {
        self.emptied = before;
        if self.told == Told::Owed {
            self.told = Told::Sent(self.window.newest());
            self.settle();
        }
    }

    fn settle(&mut self) {
        if let Told::Sent(number) = self.told
            && self.window.oldest().is_none_or(|oldest| oldest > number)
        {
            self.told = Told::Whole;
        }
    }

    /// Whether a packet of records may be sent.
    pub fn may_send(&mut self) -> bool {
        let may = self.agrees() && self.window.room() > 0;
        self.counts.held_back += u64::from(self.agrees() && !may);
        may
    }

    /// Whether another packet of records may be sent in this round.
    pub fn has_room(&self) -> bool {
        self.window.room() > 1
    }

    /// Whether it may tell of what did not change: half of what may be under way is kept for what did.
    pub fn has_room_for_old(&self) -> bool {
        self.window.room() > WINDOW / 2
    }

    /// The packet of a batch; nothing where it is empty.
    pub fn send(&mut self, now: Moment, mut batch: Batch, keys: &Keys) -> Option<Vec<u8>> {
        let (ours, theirs) = self.sessions.filter(|_| !batch.is_empty())?;
        let places = batch.places();
        self.counts.sent += places.len() as u64;
        let since = (self.told == Told::Whole).then_some(self.emptied);
        let number = self.window.send(now, places, since);
        let bytes = batch.emit(ours, theirs, number, keys);
        self.counts.packets += 1;
        self.counts.bytes += bytes.len() as u64;
        Some(bytes)
    }

    /// What says which packets came.
    pub fn heard(&mut self, keys: &Keys) -> Option<Vec<u8>> {
        let (ours, theirs) = self.sessions?;
        let bytes = datagram::heard(ours, theirs, &self.taken.heard(), keys);
        self.counts.bytes += bytes.len() as u64;
        Some(bytes)
    }

    /// What says how we stand.
    pub fn hello(&mut self, active: bool, secret: &Secret, keys: &Keys) -> Option<Vec<u8>> {
        let (ours, theirs) = self.sessions?;
        let tag = seal::tag(secret, keys.signer(), keys);
        let sealed = seal::seal(secret, ours, tag, keys.signer(), keys)?;
        let whole = if self.has_whole() { self.epochs.1 } else { 0 };
        let hello = Hello { active, epoch: self.epoch(), whole, tag, sealed };
        let bytes = datagram::hello(ours, theirs, &hello, keys);
        self.counts.bytes += bytes.len() as u64;
        Some(bytes)
    }

    /// Time has passed; the places that are to be told of anew.
    pub fn pass(&mut self, now: Moment) -> Vec<u64> {
        let ended = self.window.pass(now);
        self.lose(ended)
    }

    fn lose(&mut self, Ended { lost, prompt, slow }: Ended) -> Vec<u64> {
        self.counts.prompt += prompt;
        self.counts.slow += slow;
        if !lost.is_empty() {
            self.counts.again += lost.len() as u64;
            if matches!(self.told, Told::Sent(_)) {
                self.told = Told::Owed;
            }
        }
        self.settle();
        lost
    }

    /// A packet came. `stands`: whether we hold an address, and our secret.
    ///
    /// # Errors
    /// It is not taken; that is counted.
    pub fn hear(
        &mut self,
        now: Moment,
        bytes: &[u8],
        stands: (bool, &Secret),
        keys: &Keys,
    ) -> Result<Said, Defect> {
        let said = parse(bytes, keys).and_then(|datagram| self.judge(now, datagram, stands, keys));
        if let Err(defect) = &said {
            *self.counts.refused.entry(defect.name()).or_default() += 1;
        }
        said
    }

    fn judge(
        &mut self,
        now: Moment,
        datagram: Datagram,
        stands: (bool, &Secret),
        keys: &Keys,
    ) -> Result<Said, Defect> {
        let (ours, theirs) = self.sessions.ok_or(Defect::Session)?;
        if datagram.from == ours {
            return Err(Defect::Reflected);
        }
        if (datagram.to, datagram.from) != (ours, theirs) {
            return Err(Defect::Session);
        }
        match &datagram.body {
            Body::Hello(hello) => Ok(self.greet(&datagram, hello, stands, keys)),
            Body::Heard(heard) => {
                let ended = self.window.heard(now, heard);
                Ok(Said::Lost(self.lose(ended)))
            }
            Body::Records(_) if !self.agreed => Err(Defect::Session),
            Body::Records(_) if !self.taken.take(datagram.number) => Err(Defect::Late),
            Body::Records(records) => {
                self.counts.received += records.len() as u64;
                Ok(Said::Records(records.clone()))
            }
        }
    }

    fn greet(
        &mut self,
        datagram: &Datagram,
        hello: &Hello,
        (active, secret): (bool, &Secret),
        keys: &Keys,
    ) -> Said {
        let ours = seal::tag(secret, datagram.key, keys);
        if self.epochs.1 != hello.epoch || ours != hello.tag {
            self.part();
        }
        self.epochs.1 = hello.epoch;
        if ours == hello.tag {
            (self.agreed, self.apart, self.whole) = (true, false, hello.whole);
            return Said::Agreed;
        }
        match whose((active, datagram.to), (hello.active, datagram.from)) {
            Whose::Ours => Said::Wait,
            Whose::Theirs => match seal::open(datagram, hello, keys) {
                Some(theirs) => {
                    // What came before is hashed otherwise: it is to be told anew.
                    self.epochs.0 = self.epochs.0.wrapping_add(1) & i32::MAX.cast_unsigned();
                    Said::Adopt(theirs)
                }
                None => Said::Wait,
            },
            Whose::Neither => {
                self.apart = true;
                Said::Apart
            }
        }
    }
}

#[cfg(test)]
mod tests;
