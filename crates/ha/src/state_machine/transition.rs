//! The words of the state machine: states, reasons, actions, and what the heartbeat says to it.

use std::net::IpAddr;

use crate::advert::VrrpAdvertisement;

/// What a member is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VrrpState {
    /// Takes no part: not begun, ended, or at fault.
    Idle,
    /// Listens, and takes over when the active one is silent.
    Standby,
    Active,
}

/// Why a state changed, or why it stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TransitionReason {
    Started,
    /// The group begins by what a process before had: it held the address just now.
    Resumed,
    /// The address is our own.
    Owner,
    /// The active member was not heard any more.
    Silence,
    /// The active member gave up.
    Resigned,
    /// Somebody with a higher priority, or the same and a higher address.
    HigherPriority(IpAddr, u8),
    /// Nothing could be sent for the dead man's time.
    Stalled,
    Ordered,
    /// An order to hand over.
    HandedOver,
    /// The other member of the heartbeat does the work better than we do.
    PeerAhead,
    /// Others do not agree any more that it is active.
    NoQuorum,
    /// We cannot do the work.
    Fault,
    Stopped,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VrrpAction {
    Send(VrrpAdvertisement),
    AddAddresses,
    /// Do not have them any more.
    RemoveAddresses,
    /// Tell the neighbours where the addresses are.
    Announce,
    /// Somebody advertises the group's number with other addresses: some of them are not ours, or ours not among them.
    OtherAddresses {
        source: IpAddr,
        addresses: Vec<IpAddr>,
        /// None of them is ours: it is another group, and is not followed.
        foreign: bool,
    },
    /// It would be active by VRRP, and the heartbeat keeps it from that; `None`: not any more.
    ActivationBlocked(Option<ActivationBlocker>),
    Changed {
        from: VrrpState,
        to: VrrpState,
        why: TransitionReason,
    },
}

/// Why an order was not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OrderRejection {
    /// It holds the addresses already.
    #[error("it is active already")]
    Active,
    /// It takes no part.
    #[error("it is at fault and cannot take over")]
    Idle,
    /// It does not hold the addresses.
    #[error("it is not active: there is nothing to hand over")]
    NotActive,
    /// The addresses are its own.
    #[error("its priority is 255: the addresses are its own, and it would take them back at once")]
    Owner,
    /// Nothing is above the priority that was heard.
    #[error("the active member has priority {0}: no order goes above 254")]
    Highest(u8),
}

/// What the heartbeat says of the other member in this group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PeerView {
    pub alive: bool,
    /// It was not heard yet, and it is too early to tell that there is nobody.
    pub undecided: bool,
    /// It holds the addresses: by which address in advertisements, and with which priority.
    pub active: Option<(IpAddr, u8)>,
    /// It said so although it knew that we say the same.
    pub knows_conflict: bool,
    /// It is to be active, and lacks our vote: its address, and its priority. It knows that we are.
    pub wants_vote: Option<(IpAddr, u8)>,
    /// It takes part in the group, and does its work better: it can and we cannot, or it reaches more.
    pub ahead: bool,
}

/// Why a member that nobody's advertisements keep from it does not become active.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ActivationBlocker {
    /// The other member says by the heartbeat that it is active, with this address and priority.
    PeerActive(IpAddr, u8),
    /// The other member does the work better, and is to take the addresses.
    PeerAhead,
    /// Neither the other member nor the witness agrees.
    NoQuorum,
}
