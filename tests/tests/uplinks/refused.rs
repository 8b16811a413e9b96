//! Invalid uplinks: the problem is reported, and the other uplinks are used.

use tests::e2e::wait;

use super::server::{V4, lines, serve};
use super::topology::{BOTH, UplinkTopology, own};

#[test]
fn a_gateway_out_of_reach_and_a_source_of_nobody_are_named() {
    let rows = [
        (
            "via = \"10.61.1.1\"",
            "via = \"10.99.0.1\"",
            "gateway 10.99.0.1 is in no network of eth1, which has 10.61.1.10/24",
        ),
        (
            "via = \"10.61.1.1\"",
            "via = \"10.61.1.1\"\nsource = \"10.99.0.9\"",
            "source 10.99.0.9 is no address of this machine",
        ),
        ("interface = \"eth1\"", "interface = \"eth7\"", "there is no interface eth7"),
    ];
    let Some(mut world) = UplinkTopology::new() else { return };
    world.start(BOTH);
    let to = serve(&world.server, V4.into());
    for (good, bad, says) in rows {
        world.apply(&BOTH.replacen(good, bad, 1));
        wait::until(says, || world.one("one", "ipv4").reason.starts_with(says));
        world.wait_for_output(&format!("uplink-down: uplink one (IPv4): {says}"));
        world.until("two", "up");
        assert!(lines(&world.host, to, 10).iter().all(|line| line.from == own(2)), "{says}");
        world.apply(BOTH);
        world.until("one", "up");
    }
}

#[test]
fn targets_are_asked_by_connections_too_and_so_many_as_needed_must_answer() {
    let Some(world) = UplinkTopology::new() else { return };
    let mut world = world;
    let at = serve(&world.server, V4.into());
    let probe = |need: u8| {
        format!(
            "probe = {{ connect = [\"{at}\", \"198.51.100.2:9\"], echo = \"198.51.100.3\", min-targets = {need}, TERMS }}"
        )
    };
    // One target accepts, one refuses, and one does not exist. A refusal counts as an answer, so two answer.
    world.start(&BOTH.replace("PROBE4", &probe(2)));
    wait::until("two of three answer", || {
        world
            .one("one", "ipv4")
            .reason
            .starts_with("2 of 3 targets answer, 2 are needed; silent: 198.51.100.3")
    });
    assert_eq!(world.one("one", "ipv4").state, "up");
    world.apply(&BOTH.replace("PROBE4", &probe(3)));
    world.until("one", "down");
}

#[test]
fn contradictions_are_refused_before_anything_is_done() {
    let Some(mut world) = UplinkTopology::new() else { return };
    world.start(BOTH);
    let before = world.traces();
    let twice = BOTH.replace(
        "interface = \"eth2\"\nvia = \"10.61.2.1\"",
        "interface = \"eth1\"\nvia = \"10.61.1.1\"",
    );
    let file = world.file(&twice);
    let said = world.verb(&["apply", &file]);
    assert_eq!(said.code, 1, "{said:?}");
    let text = format!("{}{}", said.stdout, said.stderr);
    assert!(text.contains("is the gateway of `one` already"), "{text}");
    assert_eq!(world.traces(), before);
}
