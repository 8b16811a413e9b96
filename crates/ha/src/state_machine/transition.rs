//! States, reasons and actions of the state machine, and its input from the heartbeat.

use std::net::IpAddr;

use crate::advert::VrrpAdvertisement;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VrrpState {
    /// Takes no part: not started, stopped, or at fault.
    Idle,
    /// Listens, and takes over when the active member is silent.
    Standby,
    Active,
}

/// Why a state changed, or why it stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TransitionReason {
    Started,
    /// The group resumes the addresses of an earlier process, which held them until just now.
    Resumed,
    /// This member owns the address.
    Owner,
    /// No advertisement of the active member arrived in time.
    Silence,
    /// The active member resigned.
    Resigned,
    /// Another member has a higher priority, or the same and a higher address.
    HigherPriority(IpAddr, u8),
    /// Nothing could be sent for the dead-man time.
    Stalled,
    Ordered,
    /// An operator's order to hand over.
    HandedOver,
    /// The peer does the work better.
    PeerAhead,
    /// The quorum is lost.
    NoQuorum,
    /// This member cannot do the work.
    Fault,
    Stopped,
}

/// A member's place in the choice of the active one: the higher priority precedes, then the higher address (RFC 9568
/// §6.4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MemberPrecedence {
    pub priority: u8,
    /// The member's address in advertisements.
    pub source: IpAddr,
}

/// An action for the caller of the state machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VrrpAction {
    Send(VrrpAdvertisement),
    AddAddresses,
    RemoveAddresses,
    /// Announce to the neighbours where the addresses are.
    Announce,
    /// Another sender advertises the group's number with other addresses: some are foreign, or one of this group is
    /// missing.
    OtherAddresses {
        source: IpAddr,
        addresses: Vec<IpAddr>,
        /// None of the addresses is this group's: the advertisement belongs to another group and is ignored.
        foreign: bool,
    },
    /// VRRP would activate the member, and the heartbeat prevents it. `None`: the heartbeat no longer prevents it.
    ActivationBlocked(Option<ActivationBlocker>),
    Changed {
        from: VrrpState,
        to: VrrpState,
        why: TransitionReason,
    },
}

/// Why an order was rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OrderRejection {
    #[error("it is active already")]
    Active,
    /// The member takes no part.
    #[error("it is at fault and cannot take over")]
    Idle,
    #[error("it is not active: there is nothing to hand over")]
    NotActive,
    /// The member owns the addresses.
    #[error("its priority is 255: the addresses are its own, and it would take them back at once")]
    Owner,
    /// The active member has the highest priority that an order may have.
    #[error("the active member has priority {0}: no order goes above 254")]
    Highest(u8),
}

/// The peer's state in this group, as its heartbeat reports it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PeerView {
    pub alive: bool,
    /// Nothing arrived yet, and it is too early to conclude that the peer is down.
    pub undecided: bool,
    /// The peer holds the addresses.
    pub active: Option<MemberPrecedence>,
    /// The peer sent its claim after it had received this member's claim.
    pub knows_conflict: bool,
    /// The peer should be active and lacks this member's vote. The peer knows that this member is active.
    pub wants_vote: Option<MemberPrecedence>,
    /// The peer takes part in the group and does its work better: it is able and we are not, or it reaches more.
    pub ahead: bool,
}

/// Why a member without competing advertisements does not become active.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ActivationBlocker {
    /// The peer reports by heartbeat that it is active, with this address and priority.
    PeerActive(IpAddr, u8),
    /// The peer does the work better and should take the addresses.
    PeerAhead,
    /// Neither the peer nor the witness agrees.
    NoQuorum,
}
