//! The keys of a VRRP group in a comparison.

use super::types::VrrpConfig;
use crate::config::changed_keys::changed_keys;

changed_keys! {
    VrrpKey of VrrpConfig besides (name):
    Interface = "interface" => interface,
    Id = "id" => id,
    Addresses = "addresses" => addresses,
    Unadvertised = "unadvertised" => also,
    Version = "version" => version,
    Priority = "priority" => priority,
    Advertise = "advertise" => advertise,
    Preempt = "preempt" => preempt,
    PreemptDelay = "preempt-delay" => preempt_delay,
    Peers = "peers" => peers,
    Allow = "allow" => allow,
    Source = "source" => source,
    LinkAddress = "link-address" => link_address,
    FencingTimeout = "fencing-timeout" => fencing_timeout,
    SelfCheck = "duplicate-check" => self_check,
    AnnounceEvery = "announce-interval" => announce_every,
}
