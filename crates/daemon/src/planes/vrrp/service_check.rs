//! Whether this member can do a group's work: whether what is at its addresses is listened for and forwarded. Pure.

use std::net::{IpAddr, SocketAddr};

use model::config::{Config, VrrpConfig};

use crate::planes::packets::view::PacketPlaneView;
use crate::state::StateSnapshot;

/// Why some service at the group's addresses does not work here, if one does not.
pub fn service_obstacle(
    group: &VrrpConfig,
    snapshot: &StateSnapshot,
    packets: &PacketPlaneView,
) -> Option<String> {
    // On its way out it gives up by itself.
    let listens = |at: &SocketAddr| snapshot.shutting_down || snapshot.listeners.contains_key(at);
    let of = |name: &str| {
        let why = packets.last_error.as_ref().or_else(|| packets.obstacles.get(name));
        why.filter(|_| packets.is_settled).cloned()
    };
    find_service(group, &snapshot.config, listens, of)
}

fn find_service(
    group: &VrrpConfig,
    config: &Config,
    listens: impl Fn(&SocketAddr) -> bool,
    broken: impl Fn(&str) -> Option<String>,
) -> Option<String> {
    let ours = |ip: IpAddr| group.addresses.contains(&ip);
    config.services.values().find_map(|service| {
        let name = &service.name;
        if let Some(at) = service.listen.iter().find(|at| ours(at.ip()) && !listens(at)) {
            return Some(format!("service {name} does not listen on {at}"));
        }
        let packets = service.packets.as_ref()?;
        let here = packets.listen.iter().any(|span| ours(span.address));
        let why = broken(name).filter(|_| here)?;
        Some(format!("service {name} is not forwarded: {why}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_listened_for_or_forwarded_at_its_addresses_is_named() {
        let text = "[service.shop]\nlisten = \"192.0.2.10:80\"\nforward = \"http\"\npool = \"web\"\n\
                    [service.else]\nlisten = \"192.0.2.1:80\"\nforward = \"http\"\npool = \"web\"\n\
                    [service.fast]\nlisten = \"192.0.2.11:80\"\nforward = \"mac\"\npool = \"web\"\n\
                    [pool.web]\nservers = [\"10.0.0.9:80\"]\n\
                    [vrrp.a]\ninterface = \"eth0\"\nid = 1\naddresses = \"192.0.2.10\"\n\
                    [vrrp.b]\ninterface = \"eth0\"\nid = 2\naddresses = \"192.0.2.11\"\n";
        let config = model::config::load(text, "test.toml").unwrap().config;
        let of = |group: &str, listens: bool, broken: Option<&str>| {
            let broken = |name: &str| broken.filter(|_| name == "fast").map(str::to_owned);
            find_service(&config.vrrp[group], &config, |_| listens, broken)
        };
        assert_eq!(of("a", true, Some("no right")), None);
        let why = of("a", false, None).unwrap();
        assert_eq!(why, "service shop does not listen on 192.0.2.10:80");
        assert_eq!(of("b", false, None), None);
        let why = of("b", true, Some("no right")).unwrap();
        assert_eq!(why, "service fast is not forwarded: no right");
    }
}
