//! Counters of a group member.

/// Counted events of one group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VrrpCounters {
    pub sent: u64,
    /// Advertisements received for this group.
    pub received: u64,
    /// Received advertisements with priority 0: the sender resigns.
    pub resigned: u64,
    /// Advertisements of a version that is not configured; ignored.
    pub other_version: u64,
    /// Advertisements with other addresses than ours: one configuration is wrong.
    pub other_addresses: u64,
    /// Advertisements without any of our addresses: another group with the same number; ignored.
    pub foreign: u64,
    /// Advertisements with another interval than ours; version 2 ignores them (RFC 3768 §7.1).
    pub other_interval: u64,
    /// Advertisements of another member that is active at the same time.
    pub active_conflicts: u64,
    /// Notices sent to the active member that this member had been active too.
    pub notices: u64,
    /// Times that addresses were set again because another program had removed them.
    pub restored: u64,
    /// Announcements of the addresses.
    pub announced: u64,
    pub takeovers: u64,
    pub releases: u64,
    /// Takeovers after silence that the heartbeat prevented.
    pub blocked_takeovers: u64,
    /// Times that this member gave up because it lost the quorum.
    pub lost_quorum: u64,
    /// Probes for duplicates of the addresses.
    pub duplicate_probes: u64,
    /// Duplicates found at another link.
    pub duplicates_found: u64,
    /// Announcements that defended an address against a duplicate.
    pub defended: u64,
    /// Times that this member could not send for the dead-man time.
    pub stalled: u64,
}
