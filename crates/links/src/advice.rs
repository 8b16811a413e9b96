//! Problems of a machine's bundles, the commands that fix them, and the best policy for the measured links. Pure: facts
//! go in.

use std::time::Duration;

use crate::delay_equalizer::{ALIKE, LONGEST};
use crate::packet_train::MeasuredRate;

/// From this loss on a link is reported: TCP's rate falls with the square root of the loss.
/// At one percent, the formula of Mathis and others gives 12 segments per round trip, independent of the link's rate.
pub const LOSSY: f64 = 0.01;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct AdviceInput {
    pub bonding: bool,
    pub mptcp: bool,
    pub bundles: Vec<BundleFacts>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct BundleFacts {
    pub name: String,
    /// The bundle's policy as configured.
    pub policy: String,
    /// By how much the one-way delay of the slowest link exceeds that of the fastest.
    pub skew: Duration,
    /// Silence after which a flow may change links.
    pub gap: Option<Duration>,
    pub links: Vec<LinkFacts>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkFacts {
    pub interface: String,
    /// Why the link is dead, in a sentence.
    pub down_reason: Option<String>,
    /// Share of probes without a reply, 0–1.
    pub loss: f64,
    /// How long the link's packets are held.
    pub hold_time: Duration,
    /// Reverse path filtering: 1 drops packets that arrive over another link than replies would take. `None`: no such
    /// interface.
    pub reverse_path_filter: Option<u8>,
    /// The link's measured rate.
    pub rate: Option<MeasuredRate>,
    /// The link's share as configured.
    pub capacity: Option<u64>,
    /// The device that owns the link and takes its packets: a bond or a bridge.
    pub master: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FindingSeverity {
    Good,
    Problem,
    Note,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkFinding {
    pub severity: FindingSeverity,
    /// The subject: a bundle, a link, the kernel.
    pub subject: String,
    pub observation: String,
    pub advice: String,
    /// Commands that fix the problem, for a root shell.
    pub commands: Vec<String>,
}

pub fn find_problems(facts: &AdviceInput) -> Vec<LinkFinding> {
    let mut out = vec![
        note_finding(
            "kernel",
            if facts.bonding { "it can bond links itself" } else { "it cannot bond links itself" },
            if facts.bonding {
                "with a switch that speaks LACP its own bonding suffices where a hash is enough"
            } else {
                "LACP cannot be had here: bundles do without it"
            },
        ),
        note_finding(
            "kernel",
            if facts.mptcp { "it speaks MPTCP" } else { "it does not speak MPTCP" },
            if facts.mptcp {
                "with `socket.mptcp` at both ends long streams use links of any length, without a bundle"
            } else {
                "`sysctl -w net.mptcp.enabled=1` where the kernel was built with it"
            },
        ),
    ];
    for bundle in &facts.bundles {
        out.push(order_finding(bundle));
        out.extend(bundle.links.iter().flat_map(|link| link_findings(bundle, link)));
    }
    out
}

/// Whether packets stay in order, and which policy would be better.
fn order_finding(bundle: &BundleFacts) -> LinkFinding {
    let BundleFacts { name, policy, skew, gap, links } = bundle;
    let about = format!("bundle {name}");
    let found = format!("{policy}, its links differ by {:.1} ms", skew.as_secs_f64() * 1e3);
    let held = links.iter().any(|link| !link.hold_time.is_zero());
    let wrong = |advice: &str| LinkFinding {
        severity: FindingSeverity::Problem,
        subject: about.clone(),
        observation: found.clone(),
        advice: advice.to_owned(),
        commands: Vec::new(),
    };
    let good = |advice: &str| LinkFinding { severity: FindingSeverity::Good, ..wrong(advice) };
    match policy.as_str() {
        "round-robin" if *skew < ALIKE => good("streams use all links together, in order"),
        "round-robin" if held => good("packets of shorter links are held: order is kept"),
        "round-robin" if *skew > LONGEST => {
            wrong("they differ too much to be equalised: `policy = \"flowlet\"`, or MPTCP")
        }
        "round-robin" => wrong(
            "packets overtake each other, which ruins streams: `equalise = true`, or `policy = \"flowlet\"`",
        ),
        "flowlet" if gap.is_some_and(|gap| gap < *skew) => wrong(
            "`gap` is shorter than that: flows overtake themselves; leave it out, and it is measured",
        ),
        "hash" if *skew < ALIKE => good(
            "order is kept; `round-robin` would give one stream all links, `flowlet` evens out many",
        ),
        _ => good("order is kept"),
    }
}

fn link_findings(bundle: &BundleFacts, link: &LinkFacts) -> Vec<LinkFinding> {
    let about = format!("{} of bundle {}", link.interface, bundle.name);
    let mut out = Vec::new();
    let mut wrong = |found: String, advice: &str, commands: Vec<String>| {
        let about = about.clone();
        let advice = advice.to_owned();
        out.push(LinkFinding {
            severity: FindingSeverity::Problem,
            subject: about,
            observation: found,
            advice,
            commands,
        });
    };
    if let Some(why) = &link.down_reason {
        wrong(why.clone(), "it has no packets until it lives", Vec::new());
    } else if link.loss >= LOSSY {
        let found = format!("{:.1} % of questions were lost", link.loss * 100.0);
        wrong(
            found,
            "it slows every stream down that it carries: look at its cable and its queue",
            Vec::new(),
        );
    }
    if let Some(master) = &link.master {
        let found = format!("it belongs to {master}");
        wrong(found, "what comes by it is taken there: name that interface instead", Vec::new());
    }
    if link.reverse_path_filter == Some(1) {
        let set = |what: &str| format!("sysctl -w net.ipv4.conf.{what}.rp_filter=0");
        let commands = vec![set("all"), set(&link.interface)];
        wrong("rp_filter 1".to_owned(), "what the far end sends over it is dropped here", commands);
    }
    if out.is_empty() {
        let carries =
            link.rate.map_or_else(String::new, |rate| format!(", carries {rate} there and back"));
        let found = format!("it lives, loses {:.1} %{carries}", link.loss * 100.0);
        out.push(LinkFinding {
            severity: FindingSeverity::Good,
            subject: about,
            observation: found,
            ..note_finding("", "", "")
        });
    }
    out
}

fn note_finding(about: &str, found: &str, advice: &str) -> LinkFinding {
    LinkFinding {
        severity: FindingSeverity::Note,
        subject: about.to_owned(),
        observation: found.to_owned(),
        advice: advice.to_owned(),
        commands: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bundle(policy: &str, skew_ms: u64, change: impl Fn(&mut BundleFacts)) -> AdviceInput {
        let link = |name: &str| LinkFacts {
            interface: name.to_owned(),
            reverse_path_filter: Some(0),
            ..LinkFacts::default()
        };
        let mut bundle = BundleFacts {
            name: "up".to_owned(),
            policy: policy.to_owned(),
            skew: Duration::from_millis(skew_ms),
            gap: None,
            links: vec![link("eth1"), link("eth2")],
        };
        change(&mut bundle);
        AdviceInput { bundles: vec![bundle], ..AdviceInput::default() }
    }

    fn wrong(facts: &AdviceInput) -> Vec<(String, String)> {
        let all =
            find_problems(facts).into_iter().filter(|one| one.severity == FindingSeverity::Problem);
        all.map(|one| (one.subject, one.observation)).collect()
    }

    #[test]
    fn rows() {
        let none = |_: &mut BundleFacts| ();
        let held = |one: &mut BundleFacts| one.links[0].hold_time = Duration::from_millis(8);
        let short = |one: &mut BundleFacts| one.gap = Some(Duration::from_millis(2));
        assert_eq!(wrong(&bundle("hash", 9, none)), []);
        assert_eq!(wrong(&bundle("round-robin", 0, none)), []);
        assert_eq!(wrong(&bundle("round-robin", 8, held)), []);
        let differ = |policy: &str, ms: &str| {
            ("bundle up".to_owned(), format!("{policy}, its links differ by {ms} ms"))
        };
        assert_eq!(wrong(&bundle("round-robin", 8, none)), [differ("round-robin", "8.0")]);
        assert_eq!(wrong(&bundle("round-robin", 600, none)), [differ("round-robin", "600.0")]);
        assert_eq!(wrong(&bundle("flowlet", 8, none)), []);
        assert_eq!(wrong(&bundle("flowlet", 8, short)), [differ("flowlet", "8.0")]);
    }

    #[test]
    fn links_are_named_with_what_mends_them() {
        let facts = bundle("hash", 0, |one| {
            one.links[0].reverse_path_filter = Some(1);
            one.links[1].down_reason = Some("eth2 has no carrier".to_owned());
        });
        let of = |name: &str| format!("{name} of bundle up");
        assert_eq!(
            wrong(&facts),
            [
                (of("eth1"), "rp_filter 1".to_owned()),
                (of("eth2"), "eth2 has no carrier".to_owned())
            ]
        );
        let all = find_problems(&facts);
        let mends =
            all.iter().find(|one| one.observation == "rp_filter 1").map(|one| one.commands.clone());
        let set = ["all", "eth1"].map(|what| format!("sysctl -w net.ipv4.conf.{what}.rp_filter=0"));
        assert_eq!(mends, Some(set.to_vec()));
        let lossy = bundle("hash", 0, |one| one.links[0].loss = 0.02);
        assert_eq!(wrong(&lossy), [(of("eth1"), "2.0 % of questions were lost".to_owned())]);
    }
}
