//! Addresses of services that this machine's own connections may come from: a server that has the address too answers
//! itself, so its probes fail. With IPv4 the kernel takes an interface's first address, with IPv6 the one most like the server's.

use std::collections::BTreeMap;
use std::net::IpAddr;

use model::config::Config;

use super::PacketPlaneTask;
use crate::planes::packets::netlink::PreferredSource;

impl PacketPlaneTask {
    /// Logs each such address once.
    pub(super) fn report_source_addresses(&mut self, config: &Config) {
        let found = sources(config, &self.preferred_sources);
        for (ip, text) in &found {
            if !self.view.sources.contains_key(ip) {
                self.events.warn("address-preferred", text.clone());
            }
        }
        self.view.sources = found;
    }
}

fn sources(config: &Config, preferred: &[PreferredSource]) -> BTreeMap<IpAddr, String> {
    let mut out = BTreeMap::new();
    for (name, service) in &config.services {
        let listens = service.packets.iter().flat_map(|packets| &packets.listen);
        for ip in listens.map(|span| span.address) {
            let of = |one: &&PreferredSource| one.ip == ip;
            if let Some(PreferredSource { interface, bits, .. }) = preferred.iter().find(of) {
                let text = format!(
                    "service {name}: this machine's own connections, such as probes, may come from {ip}, and servers that have \
                     that address too answer themselves: ip address change {ip}/{bits} dev {interface} preferred_lft 0"
                );
                out.insert(ip, text);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_a_service_that_may_be_a_source_is_named_with_what_mends_it() {
        let text = "[service.six]\nlisten = \"[2001:db8::10]:80\"\nforward = \"mac\"\npool = \"web\"\n\
                    [service.proxy]\nlisten = \"[2001:db8::11]:80\"\nforward = \"http\"\npool = \"web\"\n\
                    [pool.web]\nservers = [\"[2001:db8::2]:80\"]\n";
        let config = model::config::load(text, "t").unwrap().config;
        let preferred = |ip: &str| PreferredSource {
            interface: "eth0".to_owned(),
            ip: ip.parse().unwrap(),
            bits: 64,
        };
        let found =
            sources(&config, &["2001:db8::10", "2001:db8::11", "2001:db8::1"].map(preferred));
        let texts: Vec<&String> = found.values().collect();
        assert_eq!(texts.len(), 1, "{texts:?}");
        let wanted = "ip address change 2001:db8::10/64 dev eth0 preferred_lft 0";
        assert!(texts[0].starts_with("service six: ") && texts[0].ends_with(wanted), "{texts:?}");
        assert!(sources(&config, &[preferred("2001:db8::1")]).is_empty());
    }
}
