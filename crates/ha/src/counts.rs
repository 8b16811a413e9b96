//! What a member of a group counts. It judges nothing.

/// What arrived that is worth counting.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VrrpCounters {
    pub sent: u64,
    /// Advertisements received that are of this group.
    pub received: u64,
    /// Those of them that give up.
    pub resigned: u64,
    /// Of another version than ours: not followed.
    pub other_version: u64,
    /// With other addresses than ours: somebody's configuration is wrong.
    pub other_addresses: u64,
    /// Those of them with none of ours: another group with the same number, not followed.
    pub foreign: u64,
    /// With another interval than ours; version 2 does not follow them (RFC 3768 §7.1).
    pub other_interval: u64,
    /// Of somebody who is active beside us.
    pub active_conflicts: u64,
    /// Times that the active member was told that this one had been active too.
    pub notices: u64,
    /// Addresses that were set again because another program had taken them away.
    pub restored: u64,
    /// Times that the address was announced.
    pub announced: u64,
    pub takeovers: u64,
    pub releases: u64,
    /// Times that the heartbeat kept us from becoming active by silence.
    pub blocked_takeovers: u64,
    /// Times that we gave up because nobody agreed any more.
    pub lost_quorum: u64,
    /// Times that it was asked whether the addresses answer elsewhere.
    pub duplicate_probes: u64,
    /// Times that one was found at another link.
    pub duplicates_found: u64,
    /// Times that it was announced again because of that.
    pub defended: u64,
    /// Times that we had said nothing for the dead man's time.
    pub stalled: u64,
}
