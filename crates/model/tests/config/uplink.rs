//! Uplinks and Multipath TCP: meanings, contradictions, changes.

use std::time::Duration;

use model::config::{EndpointPurpose, MptcpKey, SourceNatMode, UplinkKey, UplinksKey, diff};

use super::support::{BASE, errors, good};

const FIBRE: &str = "[uplink.fibre]\ninterface = \"eth1\"\nvia = [\"192.0.2.1\", \"fe80::1\"]\n\
                     probe = { echo = [\"198.51.100.1\", \"2001:db8::1\"] }\n";
const CABLE: &str = "[uplink.cable]\ninterface = \"eth2\"\nvia = \"192.0.3.1\"\n\
                     probe = { connect = \"198.51.100.1:443\" }\n";

fn with(more: &str) -> String {
    format!("{BASE}{FIBRE}{CABLE}{more}")
}

#[test]
fn defaults() {
    let config = good(&with("")).config;
    let [cable, fibre] = ["cable", "fibre"].map(|name| &*config.uplinks[name]);
    assert_eq!((cable.weight, cable.priority, cable.source.len()), (1, 1, 0));
    assert_eq!((fibre.via.len(), &*fibre.interface), (2, "eth1"));
    let probe = fibre.probe.as_ref().unwrap();
    assert_eq!((probe.need, probe.rise, probe.fall), (1, 2, 3));
    assert_eq!((probe.every, probe.timeout), (Duration::from_secs(1), Duration::from_secs(1)));
    let all = &config.outward;
    assert_eq!((all.mark_bit, all.table, all.rule), (24, 7_800, 30_000));
    assert_eq!((all.translate, all.inside.len()), (SourceNatMode::Ipv4, 0));
    assert!(all.translate.applies_to_family(false) && !all.translate.applies_to_family(true));
    assert!(!config.mptcp.is_enabled());
}

#[test]
fn contradictions_are_named() {
    let rows = [
        ("[uplink.z]\ninterface = \"eth3\"\n", "uplink.z.via", "needs `via`"),
        ("[uplink.z]\nvia = \"10.0.0.1\"\n", "uplink.z.interface", "needs `interface`"),
        (
            "[uplink.z]\ninterface = \"eth2\"\nvia = \"192.0.3.1\"\n",
            "uplink.z.via",
            "is the gateway of `cable` already",
        ),
        (
            "[uplink.z]\ninterface = \"eth3\"\nvia = [\"10.0.0.1\", \"10.0.0.2\"]\n",
            "uplink.z.via",
            "too many addresses of a family",
        ),
        (
            "[uplink.z]\ninterface = \"eth3\"\nvia = \"127.0.0.1\"\n",
            "uplink.z.via",
            "no address of a machine",
        ),
        (
            "[uplink.z]\ninterface = \"eth3\"\nvia = \"10.0.0.1\"\nsource = \"fd00::1\"\n",
            "uplink.z.source",
            "no gateway of its family",
        ),
        (
            "[uplink.z]\ninterface = \"eth3\"\nvia = \"10.0.0.1\"\nprobe = { echo = \"fd00::1\" }\n",
            "uplink.z.probe.echo",
            "through no gateway of its family",
        ),
        (
            "[uplink.z]\ninterface = \"eth3\"\nvia = \"10.0.0.1\"\nprobe = { echo = \"127.0.0.1\" }\n",
            "uplink.z.probe.echo",
            "no target beyond a gateway",
        ),
        ("[uplinks]\ninside = [\"eth1\"]\n", "uplink.fibre.interface", "`inside` and an uplink"),
        ("[mptcp]\nbundle = \"up\"\n", "mptcp.bundle", "there is no bundle `up`"),
        (
            "[mptcp]\nendpoints = [\"127.0.0.1\"]\n",
            "mptcp.endpoints[0].address",
            "no address by which",
        ),
        (
            "[mptcp]\nendpoints = [\"10.0.0.1\", \"10.0.0.1\"]\n",
            "mptcp.endpoints[1].address",
            "is an endpoint already",
        ),
    ];
    for (more, key, says) in rows {
        let found = errors(&with(more));
        let named = found.iter().any(|one| one.key == key && one.message.contains(says));
        assert!(named && found.len() == 1, "{more}: {found:#?}");
    }
    let idle = format!("{BASE}[uplink.a]\ninterface = \"e\"\nvia = \"10.0.0.1\"\nweight = 0\n");
    assert!(errors(&idle)[0].message.contains("none takes connections"));
}

#[test]
fn a_gateway_as_only_target_is_warned_of() {
    let text = format!("{BASE}[uplink.a]\ninterface = \"e\"\nvia = \"10.0.0.1\"\n");
    let found = good(&text).warnings;
    assert!(found.iter().any(|one| one.message.contains("not what lies beyond it")), "{found:#?}");
    let off = format!("{text}probe = \"off\"\n");
    assert_eq!(good(&off).config.uplinks["a"].probe, None);
}

#[test]
fn changes_are_named() {
    let old = good(&with("")).config;
    let text = with(
        "[uplinks]\nsource-nat = \"off\"\n[mptcp]\nendpoints = [\"10.0.0.1\"]\nuse = \"signal\"\n",
    );
    let new = good(&text.replace("[uplink.cable]\n", "[uplink.cable]\nweight = 3\n")).config;
    let changes = diff(&old, &new);
    assert_eq!(changes.uplinks.changed["cable"], [UplinkKey::Weight]);
    assert_eq!(changes.outward, [UplinksKey::Translate]);
    assert_eq!(changes.mptcp, [MptcpKey::Endpoints, MptcpKey::Use]);
    assert_eq!(
        changes.to_string(),
        "~ mptcp: endpoints, use\n~ uplinks: source-nat\n~ uplink cable: weight\n"
    );
    assert_eq!(new.mptcp.endpoints[0].purpose, EndpointPurpose::Signal);
    assert_eq!(diff(&old, &good(BASE).config).uplinks.removed, ["cable", "fibre"]);
}
