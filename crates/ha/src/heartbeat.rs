//! A heartbeat as bytes and back: the signed state that one member sends to the other over every path. Pure.
//!
//! ```text
//!  0 "SYHB"   4 version   5 least version that can read it   6 key   7 zero
//!  8 session  16 number   24 session heard   32 its newest number   40 its newest number on this path
//! 48 microseconds since that one came      52 fields: kind, length, value …      −32 HMAC-SHA256 of all before
//! ```
//! Numbers are big-endian. The first 52 bytes and the signature keep their form in every version. Fields of unknown
//! kinds are skipped, so members of different versions understand each other. Each defect of a packet has a name, which
//! the caller counts. `peer_link` decides whether a heartbeat is new and who sent it.

use std::net::IpAddr;
use std::time::Duration;

use crate::defect::defects;
use crate::keys::{ClusterKeys, TAG};
use crate::state_machine::{MemberPrecedence, VrrpState};

/// The version of the format.
pub const VERSION: u8 = 1;
/// The oldest version that can read our packets.
const LEAST: u8 = 1;
const MAGIC: [u8; 4] = *b"SYHB";
/// Bytes of the fixed fields, before the first field with a kind.
const HEAD: usize = 52;
/// The largest packet that is read: claims of every group in both families fit, with room for new fields.
pub const LARGEST: usize = 8192;
/// Bytes of a name or a version that are sent; longer texts are cut.
/// The longest host name of Linux (HOST_NAME_MAX).
pub const TEXT: usize = 64;
/// Parts of the configuration that are compared between members.
pub const PARTS: [&str; 4] = ["services", "pools", "shared addresses", "names"];

/// The report of one member to the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerHeartbeat {
    /// The format version of the sender: `VERSION`, or a newer one that we can read.
    pub version: u8,
    /// Random number of the sender's process.
    pub session: u64,
    /// Number of the round in the session, from 1. The heartbeats of one round, one for each path, share it.
    pub number: u64,
    /// The sender's record of what it received from this member.
    pub echo: HeartbeatEcho,
    pub name: String,
    pub product: String,
    pub config: ConfigDigest,
    /// Targets that the sender reaches; `None`: not known yet.
    pub reach: Option<ReachScore>,
    /// The newest of our heartbeats that the sender accepted over any path: its votes answer that one.
    pub last_received: Option<HeartbeatId>,
    /// The sender's part in each group of shared addresses.
    pub claims: Vec<GroupClaim>,
}

/// Names a heartbeat of one member in a packet of the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeartbeatId {
    pub session: u64,
    pub number: u64,
}

/// The sender's record of what it received from the reader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeartbeatEcho {
    /// Our session; 0: the sender received nothing.
    pub session: u64,
    /// Our newest number over any path.
    pub newest: u64,
    /// Our newest number over this path; 0: none.
    pub number: u64,
    /// Microseconds since the sender received that one.
    pub delay_us: u32,
}

/// A summary of the configuration, for comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConfigDigest {
    pub generation: u64,
    /// A digest of each of `PARTS`, without the keys that differ between members by intent; 0: not known yet.
    pub parts: [u64; PARTS.len()],
}

/// How many targets are reached, and of how many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReachScore {
    pub reached: u16,
    pub total: u16,
}

/// The group of a claim, by the number of its virtual router and its family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct VrrpGroupKey {
    pub id: u8,
    /// Whether the group shares addresses of IPv6.
    pub v6: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupClaim {
    /// The virtual router's number.
    pub id: u8,
    /// Whether the group shares addresses of IPv6.
    pub v6: bool,
    /// Whether the sender can do all of the group's work.
    pub is_capable: bool,
    /// The sender's state. Active: the sender holds the addresses and may answer for them now.
    pub state: VrrpState,
    pub priority: u8,
    /// The sender's address in advertisements, which breaks ties of equal priorities.
    pub source: IpAddr,
    /// The sender's vote, where two of three must agree.
    pub vote: Option<Vote>,
}

impl GroupClaim {
    pub fn group(&self) -> VrrpGroupKey {
        VrrpGroupKey { id: self.id, v6: self.v6 }
    }

    /// What decides between the sender and another member.
    pub fn precedence(&self) -> MemberPrecedence {
        MemberPrecedence { priority: self.priority, source: self.source }
    }
}

/// A member's vote for a group that uses a witness (see `witness`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Vote {
    /// The group is active and has the votes for it.
    pub is_active: bool,
    /// The sender requests to be active and lacks a vote. A sender that neither is active nor requests it no longer
    /// uses votes for its earlier heartbeats.
    pub wants_vote: bool,
    /// The sender lends its vote to the reader for this long, counted from the heartbeat that `last_received` names.
    pub grants_for: Option<Duration>,
}

defects! {
    pub enum HeartbeatDefect;
    /// Fewer bytes than the header and the signature.
    Short = "too-short",
    /// More bytes than any heartbeat has.
    Long = "too-long",
    Foreign = "not-a-heartbeat",
    /// Signed with a key number that we do not have.
    Key = "unknown-key",
    /// The signature does not match our key of that number.
    Signature = "wrong-signature",
    /// A version that we cannot read, by the sender's own declaration.
    Version = "other-version",
    /// The signature is valid, but the fields do not follow the format.
    Fields = "malformed",
    /// The signature is valid, but the sender is not the member that we expect.
    Member = "other-member",
    /// Our own heartbeat, sent back to us.
    Reflected = "reflected",
    /// Received before, or from an ended session.
    Replayed = "replayed",
}

/// Flags of a claim; unknown flags belong to newer versions and are ignored.
const V6: u8 = 1;
const UNFIT: u8 = 2;
const VOTES: u8 = 4;
const WANTS_VOTE: u8 = 8;
const IS_ACTIVE: u8 = 16;

mod kind {
    // The wire format of heartbeats. Numbers never change their meaning, because members of different versions exchange
    // heartbeats.
    pub const NAME: u8 = 1;
    pub const PRODUCT: u8 = 2;
    pub const CONFIG: u8 = 3;
    pub const REACH: u8 = 4;
    pub const CLAIM: u8 = 5;
    pub const HEARD: u8 = 6;
}

/// Writes and signs a heartbeat. Texts longer than `TEXT` bytes are cut.
pub fn emit(beat: &PeerHeartbeat, keys: &ClusterKeys) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    out.extend([beat.version, LEAST, keys.signer(), 0]);
    let HeartbeatEcho { session, newest, number, delay_us: held_us } = beat.echo;
    for word in [beat.session, beat.number, session, newest, number] {
        out.extend(word.to_be_bytes());
    }
    out.extend(held_us.to_be_bytes());
    append_field(&mut out, kind::NAME, truncate_text(&beat.name));
    append_field(&mut out, kind::PRODUCT, truncate_text(&beat.product));
    let words = [beat.config.generation].into_iter().chain(beat.config.parts);
    let words: Vec<u8> = words.flat_map(u64::to_be_bytes).collect();
    append_field(&mut out, kind::CONFIG, &words);
    if let Some(ReachScore { reached, total: of }) = beat.reach {
        append_field(&mut out, kind::REACH, &[reached.to_be_bytes(), of.to_be_bytes()].concat());
    }
    if let Some(HeartbeatId { session, number }) = beat.last_received {
        append_field(
            &mut out,
            kind::HEARD,
            &[session.to_be_bytes(), number.to_be_bytes()].concat(),
        );
    }
    for claim in &beat.claims {
        let state = match claim.state {
            VrrpState::Idle => 0,
            VrrpState::Standby => 1,
            VrrpState::Active => 2,
        };
        let flags = (u8::from(claim.v6) * V6) | (u8::from(!claim.is_capable) * UNFIT);
        let mut value =
            vec![claim.id, flags | claim.vote.map_or(0, vote_flags), state, claim.priority];
        match claim.source {
            IpAddr::V4(v4) => value.extend(v4.octets()),
            IpAddr::V6(v6) => value.extend(v6.octets()),
        }
        if let Some(length) = claim.vote.and_then(|vote| vote.grants_for) {
            value.extend(u32::try_from(length.as_millis()).unwrap_or(0).to_be_bytes());
        }
        append_field(&mut out, kind::CLAIM, &value);
    }
    keys.sign(&mut out);
    out
}

fn vote_flags(vote: Vote) -> u8 {
    VOTES | (u8::from(vote.wants_vote) * WANTS_VOTE) | (u8::from(vote.is_active) * IS_ACTIVE)
}

fn append_field(out: &mut Vec<u8>, kind: u8, value: &[u8]) {
    let length = u8::try_from(value.len()).unwrap_or(u8::MAX);
    out.extend([kind, length]);
    out.extend(&value[..usize::from(length)]);
}

/// The part of a text that is sent, cut at a character boundary.
fn truncate_text(text: &str) -> &[u8] {
    let mut end = text.len().min(TEXT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text.as_bytes()[..end]
}

/// Reads a packet. Apart from the key number, no byte is interpreted before the signature is verified.
///
/// # Errors
/// The defect of the packet.
pub fn parse(bytes: &[u8], keys: &ClusterKeys) -> Result<PeerHeartbeat, HeartbeatDefect> {
    if bytes.len() > LARGEST {
        return Err(HeartbeatDefect::Long);
    }
    let signed = bytes.len().checked_sub(TAG).filter(|signed| *signed >= HEAD);
    let (body, tag) = bytes.split_at(signed.ok_or(HeartbeatDefect::Short)?);
    if body[..4] != MAGIC {
        return Err(HeartbeatDefect::Foreign);
    }
    let least = body[5];
    let key = body[6];
    if !keys.contains(key) {
        return Err(HeartbeatDefect::Key);
    }
    if !keys.verify(key, body, tag) {
        return Err(HeartbeatDefect::Signature);
    }
    if least > VERSION {
        return Err(HeartbeatDefect::Version);
    }
    let mut beat = PeerHeartbeat {
        version: body[4],
        session: word(body, 8)?,
        number: word(body, 16)?,
        echo: HeartbeatEcho {
            session: word(body, 24)?,
            newest: word(body, 32)?,
            number: word(body, 40)?,
            delay_us: u32::from_be_bytes(array(body, 48)?),
        },
        name: String::new(),
        product: String::new(),
        config: ConfigDigest::default(),
        reach: None,
        last_received: None,
        claims: Vec::new(),
    };
    let mut rest = &body[HEAD..];
    while let [kind, length, more @ ..] = rest {
        let (value, after) =
            more.split_at_checked(usize::from(*length)).ok_or(HeartbeatDefect::Fields)?;
        read_field(&mut beat, *kind, value)?;
        rest = after;
    }
    let whole = rest.is_empty() && beat.session != 0 && beat.number != 0 && !beat.name.is_empty();
    whole.then_some(beat).ok_or(HeartbeatDefect::Fields)
}

/// A field may be longer than this version knows: the rest belongs to a newer version.
fn read_field(beat: &mut PeerHeartbeat, kind: u8, value: &[u8]) -> Result<(), HeartbeatDefect> {
    match kind {
        kind::NAME => beat.name = sanitize_text(value)?,
        kind::PRODUCT => beat.product = sanitize_text(value)?,
        kind::CONFIG => {
            beat.config.generation = word(value, 0)?;
            for (at, part) in beat.config.parts.iter_mut().enumerate() {
                *part = word(value, 8 + 8 * at)?;
            }
        }
        kind::REACH => {
            let [reached, of] = [array(value, 0)?, array(value, 2)?].map(u16::from_be_bytes);
            beat.reach = Some(ReachScore { reached, total: of });
        }
        kind::HEARD => {
            beat.last_received =
                Some(HeartbeatId { session: word(value, 0)?, number: word(value, 8)? });
        }
        kind::CLAIM => beat.claims.push(parse_claim(value)?),
        _ => {}
    }
    Ok(())
}

fn parse_claim(value: &[u8]) -> Result<GroupClaim, HeartbeatDefect> {
    let [id, flags, state, priority] = array(value, 0)?;
    let v6 = flags & V6 != 0;
    let fit = flags & UNFIT == 0;
    let state = match state {
        0 => VrrpState::Idle,
        1 => VrrpState::Standby,
        2 => VrrpState::Active,
        _ => return Err(HeartbeatDefect::Fields),
    };
    let (source, rest) = match v6 {
        false => (IpAddr::from(array::<4>(value, 4)?), 8),
        true => (IpAddr::from(array::<16>(value, 4)?), 20),
    };
    let lends = array(value, rest).map_or(0, u32::from_be_bytes);
    let vote = Vote {
        is_active: flags & IS_ACTIVE != 0,
        wants_vote: flags & WANTS_VOTE != 0,
        grants_for: (lends != 0).then(|| Duration::from_millis(u64::from(lends))),
    };
    let vote = (flags & VOTES != 0).then_some(vote);
    Ok(GroupClaim { id, v6, is_capable: fit, state, priority, source, vote })
}

fn word(bytes: &[u8], at: usize) -> Result<u64, HeartbeatDefect> {
    array(bytes, at).map(u64::from_be_bytes)
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N], HeartbeatDefect> {
    let found = bytes.get(at..).and_then(|rest| rest.first_chunk::<N>());
    found.copied().ok_or(HeartbeatDefect::Fields)
}

/// Only visible characters: the text is shown on terminals and pages.
fn sanitize_text(bytes: &[u8]) -> Result<String, HeartbeatDefect> {
    let text = std::str::from_utf8(bytes).map_err(|_| HeartbeatDefect::Fields)?;
    let fit = text.len() <= TEXT && !text.chars().any(char::is_control);
    fit.then(|| text.to_owned()).ok_or(HeartbeatDefect::Fields)
}

#[cfg(test)]
mod tests;
