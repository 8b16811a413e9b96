//! What is wrong with a machine's bundles, what mends it, and which policy suits links as they were measured. Pure: facts
//! go in.

use std::time::Duration;

use crate::equal::{ALIKE, LONGEST};
use crate::train::Rate;

/// A loss from which a link slows streams down: TCP's rate falls with its square root.
pub const LOSSY: f64 = 0.01;

/// What is known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// The kernel can bond links itself.
    pub bonding: bool,
    /// The kernel speaks MPTCP.
    pub mptcp: bool,
    /// Bundles in force.
    pub bundles: Vec<Bundle>,
}

/// A bundle.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bundle {
    /// Its name.
    pub name: String,
    /// Its policy, as written.
    pub policy: String,
    /// By how much the longest link is longer than the shortest, one way.
    pub skew: Duration,
    /// Silence after which a flow may change links.
    pub gap: Option<Duration>,
    /// Its links.
    pub links: Vec<Link>,
}

/// A link.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Link {
    /// Its interface.
    pub interface: String,
    /// Why it is dead, in a sentence.
    pub dead: Option<String>,
    /// Share of questions without an answer, 0–1.
    pub loss: f64,
    /// How long its packets are held.
    pub held: Duration,
    /// Reverse path filtering: 1 drops what comes by another link than answers would take. `None`: there is no such
    /// interface.
    pub filter: Option<u8>,
    /// What it carries, if that was measured.
    pub rate: Option<Rate>,
    /// Its share, as written.
    pub capacity: Option<u64>,
    /// It belongs to another device, which takes what comes by it: a bond, a bridge.
    pub master: Option<String>,
}

/// How a finding is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// As it should be.
    Good,
    /// To be mended.
    Wrong,
    /// To be known.
    Note,
}

/// Something found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How it is meant.
    pub verdict: Verdict,
    /// What it is about: a bundle, a link, the kernel.
    pub about: String,
    /// What was found.
    pub found: String,
    /// What follows.
    pub advice: String,
    /// What mends it, for a root shell.
    pub commands: Vec<String>,
}

/// Everything that was found.
pub fn examine(facts: &Facts) -> Vec<Finding> {
    let mut out = vec![
        note(
            "kernel",
            if facts.bonding { "it can bond links itself" } else { "it cannot bond links itself" },
            if facts.bonding {
                "with a switch that speaks LACP its own bonding suffices where a hash is enough"
            } else {
                "LACP cannot be had here: bundles do without it"
            },
        ),
        note(
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
        out.push(order(bundle));
        out.extend(bundle.links.iter().flat_map(|link| of_link(bundle, link)));
    }
    out
}

/// Whether order is kept, and what would be better.
fn order(bundle: &Bundle) -> Finding {
    let Bundle { name, policy, skew, gap, links } = bundle;
    let about = format!("bundle {name}");
    let found = format!("{policy}, its links differ by {:.1} ms", skew.as_secs_f64() * 1e3);
    let held = links.iter().any(|link| !link.held.is_zero());
    let wrong = |advice: &str| Finding {
        verdict: Verdict::Wrong,
        about: about.clone(),
        found: found.clone(),
        advice: advice.to_owned(),
        commands: Vec::new(),
    };
    let good = |advice: &str| Finding { verdict: Verdict::Good, ..wrong(advice) };
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

fn of_link(bundle: &Bundle, link: &Link) -> Vec<Finding> {
    let about = format!("{} of bundle {}", link.interface, bundle.name);
    let mut out = Vec::new();
    let mut wrong = |found: String, advice: &str, commands: Vec<String>| {
        let (about, advice) = (about.clone(), advice.to_owned());
        out.push(Finding { verdict: Verdict::Wrong, about, found, advice, commands });
    };
    if let Some(why) = &link.dead {
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
    if link.filter == Some(1) {
        let set = |what: &str| format!("sysctl -w net.ipv4.conf.{what}.rp_filter=0");
        let commands = vec![set("all"), set(&link.interface)];
        wrong("rp_filter 1".to_owned(), "what the far end sends over it is dropped here", commands);
    }
    if out.is_empty() {
        let carries =
            link.rate.map_or_else(String::new, |rate| format!(", carries {rate} there and back"));
        let found = format!("it lives, loses {:.1} %{carries}", link.loss * 100.0);
        out.push(Finding { verdict: Verdict::Good, about, found, ..note("", "", "") });
    }
    out
}

fn note(about: &str, found: &str, advice: &str) -> Finding {
    Finding {
        verdict: Verdict::Note,
        about: about.to_owned(),
        found: found.to_owned(),
        advice: advice.to_owned(),
        commands: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bundle(policy: &str, skew_ms: u64, change: impl Fn(&mut Bundle)) -> Facts {
        let link =
            |name: &str| Link { interface: name.to_owned(), filter: Some(0), ..Link::default() };
        let mut bundle = Bundle {
            name: "up".to_owned(),
            policy: policy.to_owned(),
            skew: Duration::from_millis(skew_ms),
            gap: None,
            links: vec![link("eth1"), link("eth2")],
        };
        change(&mut bundle);
        Facts { bundles: vec![bundle], ..Facts::default() }
    }

    fn wrong(facts: &Facts) -> Vec<(String, String)> {
        let all = examine(facts).into_iter().filter(|one| one.verdict == Verdict::Wrong);
        all.map(|one| (one.about, one.found)).collect()
    }

    #[test]
    fn rows() {
        let none = |_: &mut Bundle| ();
        let held = |one: &mut Bundle| one.links[0].held = Duration::from_millis(8);
        let short = |one: &mut Bundle| one.gap = Some(Duration::from_millis(2));
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
            one.links[0].filter = Some(1);
            one.links[1].dead = Some("eth2 has no carrier".to_owned());
        });
        let of = |name: &str| format!("{name} of bundle up");
        assert_eq!(
            wrong(&facts),
            [
                (of("eth1"), "rp_filter 1".to_owned()),
                (of("eth2"), "eth2 has no carrier".to_owned())
            ]
        );
        let all = examine(&facts);
        let mends =
            all.iter().find(|one| one.found == "rp_filter 1").map(|one| one.commands.clone());
        let set = ["all", "eth1"].map(|what| format!("sysctl -w net.ipv4.conf.{what}.rp_filter=0"));
        assert_eq!(mends, Some(set.to_vec()));
        let lossy = bundle("hash", 0, |one| one.links[0].loss = 0.02);
        assert_eq!(wrong(&lossy), [(of("eth1"), "2.0 % of questions were lost".to_owned())]);
    }
}
