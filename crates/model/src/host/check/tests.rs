//! Constructed settings, and the findings that they must cause.

use super::*;
use crate::capacity::quantity::BitRate;

fn goal() -> HostWorkload {
    HostWorkload {
        connections: 10_000,
        per_second: 400.0,
        link: BitRate(1e9),
        round_trip: Duration::from_millis(20),
    }
}

fn snapshot() -> HostSnapshot {
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
    HostSnapshot {
        processors: 2,
        settings: settings.into_iter().map(|(a, b)| (a.to_owned(), b.to_owned())).collect(),
        descriptors: DescriptorLimits { soft: 32_768, hard: 1 << 20 },
        time_wait: 3,
        governors: [("performance".to_owned(), 2)].into(),
        interfaces: vec![HostInterface {
            name: "eth0".to_owned(),
            queues: 2,
            spread: false,
            offloads,
        }],
    }
}

fn poor(snapshot: &HostSnapshot, goal: &HostWorkload) -> Vec<(&'static str, String)> {
    let findings = check_host(snapshot, goal).into_iter();
    let poor = findings.filter(|finding| finding.verdict == HostCheckResult::Poor);
    poor.map(|finding| (finding.check, finding.change.unwrap().command())).collect()
}

#[test]
fn what_fits_is_good_and_each_planted_setting_is_named_with_its_command() {
    assert_eq!(poor(&snapshot(), &goal()), []);
    let mut rows: Vec<(&str, HostSnapshot, &str)> = Vec::new();
    let mut plant = |check, change: &dyn Fn(&mut HostSnapshot), command| {
        let mut planted = snapshot();
        change(&mut planted);
        rows.push((check, planted, command));
    };
    let set = |name: &'static str, value: &'static str| {
        move |p: &mut HostSnapshot| p.settings.extend([(name.to_owned(), value.to_owned())])
    };
    plant("source ports", &set("net.ipv4.ip_local_port_range", "50000 60999"), "1024 65535");
    plant("TIME_WAIT", &set("net.ipv4.tcp_max_tw_buckets", "5000"), "tcp_max_tw_buckets=258048");
    plant("open files", &|p| p.descriptors.soft = 1_024, "ulimit -n 20256");
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
    let slow = |p: &mut HostSnapshot| p.governors.extend([("powersave".to_owned(), 1)]);
    plant("governor", &slow, "performance");
    let gro = "generic-receive-offload";
    let no_gro = |p: &mut HostSnapshot| p.interfaces[0].offloads.extend([(gro.to_owned(), false)]);
    plant("offloads", &no_gro, gro);
    let lro = |p: &mut HostSnapshot| p.interfaces[0].offloads.extend([(LRO.to_owned(), true)]);
    plant("offloads", &lro, "large-receive-offload off");
    plant("steering", &|p| p.interfaces[0].queues = 1, "doctor cores eth0");
    for (check, planted, command) in rows {
        let findings = poor(&planted, &goal());
        assert!(
            matches!(findings.as_slice(), [(name, with)] if *name == check && with.contains(command)),
            "{check}: {findings:?}"
        );
    }
}

#[test]
fn the_goal_decides() {
    let of = |change: &dyn Fn(&mut HostWorkload)| {
        let mut goal = goal();
        change(&mut goal);
        poor(&snapshot(), &goal).into_iter().map(|(check, _)| check).collect::<Vec<_>>()
    };
    assert_eq!(of(&|goal| goal.per_second = 500.0), ["source ports"]);
    assert_eq!(of(&|goal| goal.connections = 20_000), ["open files"]);
    // The widest range needs earlier reuse of ports, and then more addresses.
    let commands = |reuse: &str, per_second: f64| {
        let mut planted = snapshot();
        let mut wanted = goal();
        let range = ("net.ipv4.ip_local_port_range".to_owned(), "1024 65535".to_owned());
        planted.settings.extend([range, ("net.ipv4.tcp_tw_reuse".to_owned(), reuse.to_owned())]);
        wanted.per_second = per_second;
        poor(&planted, &wanted)
    };
    assert_eq!(commands("2", 1_000.0), []);
    let reuse = "sysctl -w 'net.ipv4.tcp_tw_reuse=1'".to_owned();
    assert_eq!(commands("2", 2_000.0), [("source ports", reuse)]);
    assert_eq!(commands("1", 2_000.0), []);
    let more = commands("1", 200_000.0);
    assert!(more[0].1.contains("4 addresses in `source`"), "{more:?}");
    assert_eq!(
        of(&|goal| goal.link = BitRate(1e10)),
        ["device backlog", "receive buffer", "send buffer"]
    );
    assert_eq!(
        of(&|goal| goal.round_trip = Duration::from_millis(130)),
        ["receive buffer", "send buffer"]
    );
}

/// A goal that no setting fits.
fn vast() -> HostWorkload {
    HostWorkload {
        connections: 10_000_000,
        per_second: 1e6,
        link: BitRate(1e11),
        round_trip: Duration::from_millis(300),
    }
}

#[test]
fn no_setting_is_ever_lowered() {
    let names: Vec<String> = snapshot().settings.into_keys().collect();
    let values = ["0", "1", "2", "258048", "262144", "524288", "1000000", "2147483647"];
    let ranges = ["1 65535", "1024 65535", "1023 65000", "32768 60999", "60000 60010"];
    let sizes = ["4096 131072 2000000", "4096 131072 90000000", "1 2 3"];
    let conntrack = "net.netfilter.nf_conntrack_max".to_owned();
    for name in names.into_iter().chain([conntrack]) {
        let list = match name.as_str() {
            "net.ipv4.ip_local_port_range" => &ranges[..],
            "net.ipv4.tcp_rmem" | "net.ipv4.tcp_wmem" => &sizes[..],
            _ => &values[..],
        };
        for ((value, time_wait), goal) in list
            .iter()
            .flat_map(|value| [0, 262_144, u64::MAX].map(|used| (value, used)))
            .flat_map(|row| [goal(), vast()].map(|goal| (row, goal)))
        {
            let mut planted = HostSnapshot { time_wait, ..snapshot() };
            planted.settings.insert(name.clone(), (*value).to_owned());
            for finding in check_host(&planted, &goal) {
                let Some(SettingChange::Setting(setting, wanted)) = finding.change else {
                    continue;
                };
                let before = planted.numbers(&setting);
                let after = numbers(&wanted);
                assert_eq!(before.len(), after.len(), "{setting} {wanted}");
                // The first port of a range grows downwards.
                let down = usize::from(setting == "net.ipv4.ip_local_port_range");
                let pairs = || before.iter().zip(&after).skip(down);
                let grows = pairs().all(|(before, after)| after >= before)
                    && (down == 0 || after[0] <= before[0]);
                assert!(grows, "{setting}: {before:?} becomes {after:?}");
            }
        }
    }
}

fn numbers(text: &str) -> Vec<u64> {
    text.split(' ').map(|word| word.parse().unwrap()).collect()
}

#[test]
fn a_full_table_of_closed_connections_grows() {
    for (most, wanted) in [("262144", "=524288"), ("65000", "=258048"), ("200000", "=400000")] {
        let mut full = HostSnapshot { time_wait: 262_144, ..snapshot() };
        full.settings.insert("net.ipv4.tcp_max_tw_buckets".to_owned(), most.to_owned());
        let findings = poor(&full, &goal());
        assert!(
            matches!(findings.as_slice(), [("TIME_WAIT", with)] if with.contains(wanted)),
            "{most}: {findings:?}"
        );
    }
}

#[test]
fn ports_that_the_kernel_gives_again_carry_more() {
    let busy = HostWorkload { per_second: 5_000.0, ..goal() };
    let of = |reuse: &str| {
        let mut snapshot = snapshot();
        snapshot.settings.insert("net.ipv4.tcp_tw_reuse".to_owned(), reuse.to_owned());
        let finding = check_host(&snapshot, &busy).remove(0);
        (finding.verdict, finding.why)
    };
    for (reuse, verdict, rest) in [
        ("0", HostCheckResult::Poor, "60 s"),
        ("2", HostCheckResult::Poor, "60 s"),
        ("1", HostCheckResult::Good, "1 s"),
    ] {
        let (result, why) = of(reuse);
        assert!(result == verdict && why.contains(&format!("rests {rest}")), "{reuse}: {why}");
    }
}

#[test]
fn what_cannot_be_read_is_unknown_and_not_good() {
    let findings = check_host(
        &HostSnapshot {
            descriptors: DescriptorLimits { soft: 1 << 20, hard: 1 << 20 },
            ..HostSnapshot::default()
        },
        &goal(),
    );
    let good: Vec<&str> = findings
        .iter()
        .filter(|finding| finding.verdict == HostCheckResult::Good)
        .map(|finding| finding.check)
        .collect();
    assert_eq!(good, ["open files"]);
    assert!(
        findings.iter().all(|finding| finding.verdict != HostCheckResult::Poor),
        "{findings:?}"
    );
}
