//! The keys of `[names]`, of a zone and of a name in a comparison.

use super::types::{NameConfig, NameServerConfig, ZoneConfig};
use crate::config::changed_keys::changed_keys;

changed_keys! {
    NameServerKey of NameServerConfig besides ():
    Listen = "listen" => listen,
    Threads = "threads" => threads,
    UdpSize = "udp-size" => udp_size,
    Rate = "rate" => rate,
    Slip = "slip" => slip,
    ClientSubnet = "client-subnet" => client_subnet,
    Cookies = "cookies" => cookies,
    Connections = "connections" => connections,
    Idle = "idle" => idle,
}

changed_keys! {
    ZoneKey of ZoneConfig besides (name):
    Nameservers = "nameservers" => nameservers,
    Contact = "contact" => contact,
    Ttl = "ttl" => ttl,
    NegativeTtl = "negative-ttl" => negative_ttl,
    Txt = "txt" => text,
}

changed_keys! {
    NameKey of NameConfig besides (name):
    Zone = "zone" => zone,
    Source = "source" => source,
    Policy = "policy" => policy,
    Near = "near" => near,
    Answers = "answers" => answers,
    Ttl = "ttl" => ttl,
    Fallback = "fallback" => fallback,
    Srv = "srv" => srv,
    Https = "https" => https,
    Mask4 = "mask4" => mask4,
    Mask6 = "mask6" => mask6,
}
