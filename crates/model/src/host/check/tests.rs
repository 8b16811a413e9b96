//! Planted settings, and what must be said of them.

use super::*;
use crate::capacity::quantity::BitRate;

fn goal() -> Goal {
    Goal {
        connections: 10_000,
        per_second: 400.0,
        link: BitRate(1e9),
        round_trip: Duration::from_millis(20),
    }
}

fn picture() -> Picture {
    let settings = [
        ("net.ipv4.ip_local_port_range", "32768 60999"),
        ("net.ipv4.tcp_max_tw_buckets", "262144"),
        ("net.core.somaxconn", "4096"),
        ("net.ipv4.tcp_max_syn_backlog", "4096"),
        ("net.core.netdev_max_backlog", "1000"),
        ("net.ipv4.tcp_rmem", "4096 131072 6291456"),
        ("net.ipv4.tcp_wmem", "4096 16384 6291456"),
        ("net.ipv4.tcp_window_scaling", "1"),
        ("net.ipv4.tcp_sack", "1"),
        ("net.ipv4.tcp_timestamps", "1"),
        ("net.ipv4.tcp_syncookies", "1"),
    ];
    let offloads = WANTED_ON.into_iter().map(|name| (name.to_owned(), true)).collect();
    Picture {
        processors: 2,
        settings: settings.into_iter().map(|(a, b)| (a.to_owned(), b.to_owned())).collect(),
        descriptors: (32_768, 1 << 20),
        time_wait: 3,
        governors: [("performance".to_owned(), 2)].into(),
        interfaces: vec![Interface { name: "eth0".to_owned(), queues: 2, spread: false, offloads }],
    }
}

fn poor(picture: &Picture, goal: &Goal) -> Vec<(&'static str, String)> {
    let found = examine(picture, goal).into_iter();
    let poor = found.filter(|one| one.verdict == Verdict::Poor);
    poor.map(|one| (one.check, one.change.unwrap().command())).collect()
}

#[test]
fn what_fits_is_good_and_each_planted_setting_is_named_with_its_command() {
    assert_eq!(poor(&picture(), &goal()), []);
    let mut rows: Vec<(&str, Picture, &str)> = Vec::new();
    let mut plant = |check, change: &dyn Fn(&mut Picture), command| {
        let mut planted = picture();
        change(&mut planted);
        rows.push((check, planted, command));
    };
    let set = |name: &'static str, value: &'static str| {
        move |p: &mut Picture| p.settings.extend([(name.to_owned(), value.to_owned())])
    };
    plant("source ports", &set("net.ipv4.ip_local_port_range", "50000 60999"), "1024 65535");
    plant("TIME_WAIT", &set("net.ipv4.tcp_max_tw_buckets", "5000"), "tcp_max_tw_buckets=258048");
    plant("open files", &|p| p.descriptors.0 = 1_024, "ulimit -n 20256");
    plant("listen backlog", &set("net.core.somaxconn", "128"), "somaxconn=4096");
    plant("SYN backlog", &set("net.ipv4.tcp_max_syn_backlog", "128"), "syn_backlog=4096");
    plant("device backlog", &set("net.core.netdev_max_backlog", "300"), "backlog=1000");
    plant(
        "receive buffer",
        &set("net.ipv4.tcp_rmem", "4096 131072 2000000"),
        "4096 131072 5000000",
    );
    plant("send buffer", &set("net.ipv4.tcp_wmem", "4096 16384 2000000"), "4096 16384 5000000");
    plant("window scaling", &set("net.ipv4.tcp_window_scaling", "0"), "scaling=1");
    plant("SACK", &set("net.ipv4.tcp_sack", "0"), "sack=1");
    plant("timestamps", &set("net.ipv4.tcp_timestamps", "0"), "timestamps=1");
    plant("SYN cookies", &set("net.ipv4.tcp_syncookies", "0"), "syncookies=1");
    let max = "net.netfilter.nf_conntrack_max";
    plant("tracked connections", &set(max, "1000"), "conntrack_max=40000");
    let slow = |p: &mut Picture| p.governors.extend([("powersave".to_owned(), 1)]);
    plant("governor", &slow, "performance");
    let gro = "generic-receive-offload";
    let no_gro = |p: &mut Picture| p.interfaces[0].offloads.extend([(gro.to_owned(), false)]);
    plant("offloads", &no_gro, gro);
    let lro = |p: &mut Picture| p.interfaces[0].offloads.extend([(LRO.to_owned(), true)]);
    plant("offloads", &lro, "large-receive-offload off");
    plant("steering", &|p| p.interfaces[0].queues = 1, "doctor cores eth0");
    for (check, planted, command) in rows {
        let found = poor(&planted, &goal());
        assert!(
            matches!(found.as_slice(), [(name, with)] if *name == check && with.contains(command)),
            "{check}: {found:?}"
        );
    }
}

#[test]
fn the_goal_decides() {
    let of = |change: &dyn Fn(&mut Goal)| {
        let mut goal = goal();
        change(&mut goal);
        poor(&picture(), &goal).into_iter().map(|(check, _)| check).collect::<Vec<_>>()
    };
    assert_eq!(of(&|goal| goal.per_second = 500.0), ["source ports"]);
    assert_eq!(of(&|goal| goal.connections = 20_000), ["open files"]);
    assert_eq!(
        of(&|goal| goal.link = BitRate(1e10)),
        ["device backlog", "receive buffer", "send buffer"]
    );
    assert_eq!(
        of(&|goal| goal.round_trip = Duration::from_millis(130)),
        ["receive buffer", "send buffer"]
    );
}

#[test]
fn ports_that_the_kernel_gives_again_carry_more() {
    let busy = Goal { per_second: 5_000.0, ..goal() };
    let of = |reuse: &str| {
        let mut picture = picture();
        picture.settings.insert("net.ipv4.tcp_tw_reuse".to_owned(), reuse.to_owned());
        let found = examine(&picture, &busy).remove(0);
        (found.verdict, found.why)
    };
    for (reuse, verdict, rest) in
        [("0", Verdict::Poor, "60 s"), ("2", Verdict::Poor, "60 s"), ("1", Verdict::Good, "1 s")]
    {
        let (found, why) = of(reuse);
        assert!(found == verdict && why.contains(&format!("rests {rest}")), "{reuse}: {why}");
    }
}

#[test]
fn what_cannot_be_read_is_unknown_and_not_good() {
    let found =
        examine(&Picture { descriptors: (1 << 20, 1 << 20), ..Picture::default() }, &goal());
    let good: Vec<&str> =
        found.iter().filter(|one| one.verdict == Verdict::Good).map(|one| one.check).collect();
    assert_eq!(good, ["open files"]);
    assert!(found.iter().all(|one| one.verdict != Verdict::Poor), "{found:?}");
}
