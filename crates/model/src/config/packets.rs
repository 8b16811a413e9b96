//! `[packets]`, and the keys of a service that forwards packets.

mod build;
mod diff;
mod keys;
mod normalization;
mod types;
mod verify;

pub(super) use build::{build_packet_plane, build_packet_service};
pub use diff::PacketsKey;
pub(super) use keys::{
    EMBRYONIC, FIN_TIMEOUT, GUARD, HALF_CLOSED, ICMP, MSS_CLAMP, PACKETS, PROTOCOL, REPLICATE,
    STALE_TIMEOUT, TUNNEL, UDP,
};
pub(super) use normalization::NORMALIZE;
pub use normalization::{HeaderAction, TcpNormalization};
pub use types::{
    AttachMode, FlowTimers, GuardConfig, GuardLimits, PacketAffinityConfig, PacketPlaneConfig,
    PacketRule, PacketServiceConfig, TransportProtocols, TunnelConfig, TunnelKind,
};
pub(super) use verify::verify_packet_services;
