//! A side's window scale, and its source. Plain data; `scale_detection` determines it.

use std::net::{IpAddr, SocketAddr};

/// The source of a window scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScaleProvenance {
    Syn,
    /// Flights that ended exactly on the unscaled edge and stopped.
    ProvenZero,
    /// At least this, since more was in flight than less would allow.
    LowerBound,
    Unknown,
    /// The user specified it.
    User,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowScale {
    /// The shift; with `LowerBound` the smallest possible.
    pub shift: u8,
    /// The source of this scale.
    pub provenance: ScaleProvenance,
}

impl WindowScale {
    /// Whether windows can be calculated with it.
    pub fn is_known(self) -> bool {
        matches!(
            self.provenance,
            ScaleProvenance::Syn | ScaleProvenance::ProvenZero | ScaleProvenance::User
        )
    }
}

/// The shift that the user gives for one end's windows.
#[derive(Clone, Copy, Debug)]
pub struct ScaleOverride {
    pub endpoint: SocketAddr,
    pub shift: u8,
}

/// Shifts that the user gives, by address and port.
#[derive(Clone, Debug, Default)]
pub struct ScaleOverrides(pub Vec<ScaleOverride>);

impl ScaleOverrides {
    /// The shift wished for windows of an end.
    pub fn shift_for(&self, address: IpAddr, port: u16) -> Option<u8> {
        let is = |end: SocketAddr| end.ip() == address && end.port() == port;
        self.0.iter().find(|wish| is(wish.endpoint)).map(|wish| wish.shift)
    }
}
