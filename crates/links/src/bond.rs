//! The state of the kernel's own bonds from /proc/net/bonding, and the findings about it. Pure: the text goes in.

use crate::advice::{FindingSeverity, LinkFinding};

/// The state of a bond's link aggregation by LACP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LacpState {
    /// The number of links in the aggregate.
    pub ports: usize,
    /// A switch answers at the far end.
    pub has_partner: bool,
}

/// An interface that belongs to a bond.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BondMember {
    pub interface: String,
    pub up: bool,
}

/// A bond of the kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelBond {
    pub name: String,
    /// The mode as the kernel writes it.
    pub mode: String,
    /// How a flow's link is chosen.
    pub hash: Option<String>,
    /// `None`: the mode is without LACP.
    pub lacp: Option<LacpState>,
    pub links: Vec<BondMember>,
}

/// Parses a file of /proc/net/bonding.
pub fn read(name: &str, text: &str) -> KernelBond {
    let mut bond = KernelBond { name: name.to_owned(), ..KernelBond::default() };
    let mut ports = 0;
    let mut has_partner = false;
    for line in text.lines() {
        let Some((key, value)) = line.trim().split_once(':') else { continue };
        let value = value.trim();
        match key.trim() {
            "Bonding Mode" => value.clone_into(&mut bond.mode),
            "Transmit Hash Policy" => {
                bond.hash = value.split(' ').next().map(ToOwned::to_owned);
            }
            "Number of ports" => ports = value.parse().unwrap_or(0),
            "Partner Mac Address" => has_partner = value != "00:00:00:00:00:00",
            "Slave Interface" => {
                bond.links.push(BondMember { interface: value.to_owned(), up: false });
            }
            "MII Status" => {
                // The first `MII Status` belongs to the bond itself.
                if let Some(last) = bond.links.last_mut() {
                    last.up = value == "up";
                }
            }
            _ => {}
        }
    }
    bond.lacp = bond.mode.contains("802.3ad").then_some(LacpState { ports, has_partner });
    bond
}

/// The findings about a bond.
pub fn findings(bond: &KernelBond) -> Vec<LinkFinding> {
    let about = format!("bond {}", bond.name);
    let say = |verdict, found: String, advice: &str, commands: Vec<String>| LinkFinding {
        severity: verdict,
        subject: about.clone(),
        observation: found,
        advice: advice.to_owned(),
        commands,
    };
    let mut out = Vec::new();
    let down: Vec<&str> = bond
        .links
        .iter()
        .filter(|member| !member.up)
        .map(|member| member.interface.as_str())
        .collect();
    if !down.is_empty() {
        let found = format!("{} down", down.join(", "));
        out.push(say(
            FindingSeverity::Problem,
            found,
            "look at its cable and the switch's port",
            Vec::new(),
        ));
    }
    match bond.lacp {
        Some(LacpState { has_partner: false, .. }) => out.push(say(
            FindingSeverity::Problem,
            "no switch answers by LACP".to_owned(),
            "only one link is used: set the switch's ports up for LACP (802.3ad), or use a bundle",
            Vec::new(),
        )),
        Some(LacpState { ports, .. }) if ports < bond.links.len() - down.len() => out.push(say(
            FindingSeverity::Problem,
            format!("{ports} of {} links are in use", bond.links.len()),
            "the switch takes the others for something else: all must lead to one switch, or one stack",
            Vec::new(),
        )),
        _ => {}
    }
    let by_hash = bond.lacp.is_some() || bond.mode.contains("xor");
    if by_hash && bond.hash.as_deref() == Some("layer2") {
        let set = format!("ip link set {} type bond xmit_hash_policy layer3+4", bond.name);
        out.push(say(
            FindingSeverity::Note,
            "links are chosen by link addresses".to_owned(),
            "all that goes to one router takes one link",
            vec![set],
        ));
    }
    if bond.mode.contains("round-robin") {
        out.push(say(
            FindingSeverity::Note,
            "packets take turns".to_owned(),
            "they overtake each other where links differ: a bundle with `equalise` keeps their order",
            Vec::new(),
        ));
    }
    if out.is_empty() {
        out.push(say(
            FindingSeverity::Good,
            format!("{}, {} links", bond.mode, bond.links.len()),
            "it suffices where a hash is enough; a bundle may have it as one of its links",
            Vec::new(),
        ));
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(mode: &str, lacp: &str, links: &[(&str, &str)]) -> String {
        let head = format!(
            "Ethernet Channel Bonding Driver: v6.18\n\nBonding Mode: {mode}\nTransmit Hash Policy: layer3+4 (1)\n\
             MII Status: up\nMII Polling Interval (ms): 100\n{lacp}"
        );
        let link = |(name, status): &(&str, &str)| {
            format!(
                "\nSlave Interface: {name}\nMII Status: {status}\nSpeed: 10000 Mbps\nLink Failure Count: 0\n"
            )
        };
        head + &links.iter().map(link).collect::<String>()
    }

    const AD: &str = "IEEE 802.3ad Dynamic link aggregation";
    const BOTH: &[(&str, &str)] = &[("eth1", "up"), ("eth2", "up")];

    fn lacp(ports: usize, partner: &str) -> String {
        format!(
            "\n802.3ad info\nLACP active: on\nLACP rate: slow\nActive Aggregator Info:\n\tAggregator ID: 1\n\
             \tNumber of ports: {ports}\n\tPartner Mac Address: {partner}\n"
        )
    }

    fn wrong(text: &str) -> Vec<String> {
        let all = findings(&read("bond0", text)).into_iter();
        all.filter(|one| one.severity != FindingSeverity::Good).map(|one| one.observation).collect()
    }

    #[test]
    fn rows() {
        let partner = "02:00:00:00:00:09";
        let good = text(AD, &lacp(2, partner), BOTH);
        let bond = read("bond0", &good);
        assert_eq!(bond.lacp, Some(LacpState { ports: 2, has_partner: true }));
        assert_eq!(bond.hash.as_deref(), Some("layer3+4"));
        let up = |name: &str| BondMember { interface: name.to_owned(), up: true };
        assert_eq!(bond.links, [up("eth1"), up("eth2")]);
        assert_eq!(wrong(&good), [] as [String; 0]);
        let alone = text(AD, &lacp(1, "00:00:00:00:00:00"), BOTH);
        assert_eq!(wrong(&alone), ["no switch answers by LACP"]);
        assert_eq!(wrong(&text(AD, &lacp(1, partner), BOTH)), ["1 of 2 links are in use"]);
        let half = text(AD, &lacp(1, partner), &[("eth1", "up"), ("eth2", "down")]);
        assert_eq!(wrong(&half), ["eth2 down"]);
        assert_eq!(
            wrong(&good.replace("layer3+4 (1)", "layer2 (0)")),
            ["links are chosen by link addresses"]
        );
        assert_eq!(wrong(&text("load balancing (round-robin)", "", BOTH)), ["packets take turns"]);
        assert_eq!(wrong(&text("fault-tolerance (active-backup)", "", BOTH)), [] as [String; 0]);
    }

    proptest! {
        #[test]
        fn nothing_read_is_trusted(text in "[ -~\n]{0,300}", ports in 0..9_usize) {
            let text = format!("Bonding Mode: 802.3ad\nNumber of ports: {ports}\n{text}");
            prop_assert!(!findings(&read("bond0", &text)).is_empty());
        }
    }
}
