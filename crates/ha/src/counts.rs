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
    /// Advertisements whose addresses differ from this member's: one of the configurations is wrong.
    pub other_addresses: u64,
    /// Advertisements without any of our addresses: another group with the same number; ignored.
    pub foreign: u64,
    /// Advertisements whose interval differs from this member's; version 2 ignores them (RFC 3768 §7.1).
    pub other_interval: u64,
    /// Advertisements of another member that is active at the same time.
    pub active_conflicts: u64,
    /// Notices sent to the active member that this member had been active too.
    pub notices: u64,
    /// Restorations of addresses that another program had removed.
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
    /// Duplicate addresses detected at another link.
    pub duplicates_found: u64,
    /// Announcements that defended an address against a duplicate.
    pub defended: u64,
    /// Times that this member could not send for the dead-man time.
    pub stalled: u64,
}
