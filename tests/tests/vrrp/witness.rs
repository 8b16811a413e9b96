//! Two members and a witness, which is another Steelyard or an etcd. Two members never answer at once, and one does
//! while two of the three reach each other.

use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use api::types::WitnessStatus;
use tests::e2e::balancer::program;
use tests::e2e::certificate::{CertificateAuthority, certificate_for};
use tests::e2e::dir::TestDir;
use tests::e2e::process::ChildProcess;
use tests::e2e::{tools, wait};

use super::topology::{First, MemberIndex, Second, V4, V6, VrrpTopology, rootless};

const GROUP: &str = "advertise = \"200ms\"";
const SECRET: &str = "5ca1ab1e5ca1ab1e5ca1ab1e5ca1ab1e";

/// The witness, on the server's host.
struct WitnessDaemon {
    _process: ChildProcess,
    _dir: TestDir,
}

/// A file that only its owner can read.
fn secret(dir: &TestDir, name: &str, text: &str) -> PathBuf {
    let file = dir.write(name, text);
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    file
}

/// Configures both members with a heartbeat over the service network alone, and with this witness.
fn pair(world: &mut VrrpTopology, witness: &str) {
    for (who, ours, theirs) in [(First, "first", "second"), (Second, "second", "first")] {
        let keys = secret(world.dir(who), "keys", &format!("1 {SECRET}\n"));
        let (local, peer) = if who == First { (1, 2) } else { (2, 1) };
        world.tail[usize::from(who == Second)] = format!(
            "[heartbeat.{theirs}]\nname = \"{ours}\"\nsecret = \"{}\"\n\
             paths = [{{ local = \"10.9.0.{local}\", peer = \"10.9.0.{peer}\" }}]\nwitness = {witness}\n",
            keys.display()
        );
    }
}

fn listens(world: &VrrpTopology, port: u16) {
    wait::until("the witness listens", || {
        world.server.run_inside(|| TcpStream::connect(("10.9.0.50", port)).is_ok()).unwrap()
    });
}

/// A daemon that only serves as witness, and the members' setting for it.
fn steelyard(world: &VrrpTopology) -> (WitnessDaemon, String) {
    let dir = TestDir::new();
    let authority = CertificateAuthority::new("witness");
    let ca = authority.write(dir.join("ca.pem"));
    authority.pair(dir.join("control.pem"), &certificate_for(&["10.9.0.50"]));
    let mut command = std::process::Command::new(program());
    command.args(["token", "operate", "pair", "--json", "--into"]).arg(dir.join("tokens"));
    let made: serde_json::Value =
        serde_json::from_slice(&command.output().unwrap().stdout).unwrap();
    let token = secret(&dir, "token", made["token"].as_str().unwrap());
    let at = dir.path().display();
    let text = format!(
        "[global]\nworkers = 1\nhistory = \"off\"\naccess-log = \"off\"\n[global.control]\nsocket = \"{at}/sock\"\n\
         state = \"{at}/state\"\nlisten = \"10.9.0.50:9443\"\ncertificate = \"{at}/control.pem\"\n\
         tokens = \"{at}/tokens\"\n[packets]\npins = \"{at}/pins\"\n"
    );
    let file = dir.write("steelyard.toml", text);
    let mut command = world.server.command(program());
    command.args(["run", "-c"]).arg(file);
    let process = ChildProcess::start(command);
    listens(world, 9443);
    let witness = format!(
        "{{ http = \"https://10.9.0.50:9443/v1/leases\", ca = \"{}\", token = \"{}\", lease = \"2s\" }}",
        ca.display(),
        token.display()
    );
    (WitnessDaemon { _process: process, _dir: dir }, witness)
}

fn etcd(world: &VrrpTopology) -> (WitnessDaemon, String) {
    let dir = TestDir::new();
    let mut command = world.server.command(tools::program("etcd"));
    command.arg("--data-dir").arg(dir.join("data"));
    for (word, at) in [
        ("--listen-client-urls", "http://10.9.0.50:2379"),
        ("--advertise-client-urls", "http://10.9.0.50:2379"),
        ("--listen-peer-urls", "http://10.9.0.50:2380"),
        ("--initial-advertise-peer-urls", "http://10.9.0.50:2380"),
        ("--initial-cluster", "default=http://10.9.0.50:2380"),
    ] {
        command.args([word, at]);
    }
    let process = ChildProcess::start(command);
    listens(world, 2379);
    // The first address has no listener, so the next one is used.
    let witness = "{ etcd = [\"http://10.9.0.50:1\", \"http://10.9.0.50:2379\"], lease = \"2s\" }";
    (WitnessDaemon { _process: process, _dir: dir }, witness.to_owned())
}

fn witness(world: &VrrpTopology, who: MemberIndex) -> Option<WitnessStatus> {
    world.whole_status(who)?.heartbeats.into_iter().next()?.witness
}

fn until_witness(world: &VrrpTopology, who: MemberIndex, state: &str) {
    wait::until(&format!("the witness of {who:?} is {state}"), || {
        witness(world, who).is_some_and(|one| one.state == state)
    });
}

/// Cuts or restores the path between the members. Other hosts still reach both.
fn split(world: &VrrpTopology, is: bool) {
    let word = if is { "on" } else { "off" };
    for port in ["p1", "p2"] {
        world.hub.ip(&format!("link set {port} type bridge_slave isolated {word}\n")).unwrap();
    }
}

/// Cuts or restores a member's path to the witness.
fn cut(world: &VrrpTopology, who: MemberIndex, is: bool) {
    let word = if is { "add" } else { "del" };
    world.namespace(who).ip(&format!("route {word} blackhole 10.9.0.50/32\n")).unwrap();
}

fn states(world: &VrrpTopology, first: &str, second: &str) {
    for version in [V4, V6] {
        world.until(First, version, first);
        world.until(Second, version, second);
        let holders =
            [(First, first), (Second, second)].into_iter().filter(|(_, is)| *is == "active");
        world.until_answers(version, &holders.map(|(who, _)| who).collect::<Vec<_>>());
    }
}

fn never_two(open: fn(&VrrpTopology) -> (WitnessDaemon, String)) {
    let mut world = VrrpTopology::new(GROUP);
    let (_third, text) = open(&world);
    pair(&mut world, &text);
    world.start(First);
    world.start(Second);
    states(&world, "active", "standby");
    until_witness(&world, First, "held");

    // Cut off from each other: the holder of the lease stays active, and the other member cannot get the lease.
    split(&world, true);
    for version in [V4, V6] {
        wait::until("the second one wants it", || {
            world.status(Second, version).is_some_and(|one| one.counts["withheld"] > 0)
        });
        world.until_answers(version, &[First]);
        let second = world.status(Second, version).unwrap();
        assert!(
            second.reason.contains("neither first nor the witness agrees"),
            "{}",
            second.reason
        );
        assert_eq!(second.counts["became-active"], 0);
    }
    // The active member is killed: its lease expires, and the other member gets it.
    world.kill9(First);
    for version in [V4, V6] {
        world.until(Second, version, "active");
        world.until_answers(version, &[Second]);
        world.serves(version);
    }
    world.start(First);
    states(&world, "standby", "active");
    // The active member cannot renew the lease, and gives up before the lease is granted to the other.
    cut(&world, Second, true);
    states(&world, "active", "standby");
    let last = world.status(Second, V4).unwrap().changes.pop().unwrap().reason;
    assert_eq!(last, "neither the other member nor the witness agrees any more");
    until_witness(&world, Second, "silent");
    world.wait_for_output(Second, "witness-lost: witness http");
    // Both members are isolated: neither is active.
    cut(&world, First, true);
    states(&world, "standby", "standby");
    // The members reach each other, but not the witness.
    split(&world, false);
    states(&world, "active", "standby");
    assert_eq!(witness(&world, First).unwrap().leases_held, 0);
    assert_eq!(witness(&world, First).unwrap().votes_lent, 2);
    // The order is carried out as soon as the other member has given up.
    let said = world.verb(Second, &["takeover"]);
    assert!(said.code == 1 && said.stderr.contains("as soon as"), "{said:?}");
    states(&world, "standby", "active");
    cut(&world, First, false);
    cut(&world, Second, false);
    until_witness(&world, Second, "held");
    world.wait_for_output(Second, "witness-back: witness http");
    // A graceful stop releases the lease, so that the other member need not wait for its expiry.
    world.stop(Second);
    for version in [V4, V6] {
        world.until(First, version, "active");
        world.until_answers(version, &[First]);
        world.serves(version);
    }
}

#[test]
fn never_two_with_another_steelyard_as_witness() {
    if !rootless() {
        never_two(steelyard);
    }
}

#[test]
fn never_two_with_an_etcd_as_witness() {
    if !rootless() {
        never_two(etcd);
    }
}

#[test]
fn a_peer_that_is_heard_is_enough_without_the_witness() {
    if rootless() {
        return;
    }
    let mut world = VrrpTopology::new(GROUP);
    pair(&mut world, "\"http://10.9.0.50:1/\"");
    world.start(First);
    world.start(Second);
    states(&world, "active", "standby");
    until_witness(&world, First, "silent");
    let said = world.verb(First, &["takeover", "--give"]);
    assert_eq!(said.code, 0, "{said:?}");
    states(&world, "standby", "active");
    // Alone and without the witness, the member does not become active.
    world.kill9(Second);
    for version in [V4, V6] {
        world.until_answers(version, &[]);
        let first = world.status(First, version).unwrap();
        assert_eq!(first.state, "standby", "{}", first.reason);
    }
}

#[test]
fn an_upgrade_goes_on_with_what_the_process_before_was_given() {
    if rootless() {
        return;
    }
    let mut world = VrrpTopology::new("advertise = \"500ms\"");
    let (_third, text) = steelyard(&world);
    pair(&mut world, &text);
    world.start(First);
    world.start(Second);
    states(&world, "active", "standby");
    until_witness(&world, First, "held");
    // The members only reach the witness.
    split(&world, true);
    wait::until("the second one wants it", || {
        world.status(Second, V4).is_some_and(|one| one.counts["withheld"] > 0)
    });
    world.upgrade(First);
    until_witness(&world, First, "held");
    for version in [V4, V6] {
        let first = world.status(First, version).unwrap();
        assert!(first.reason.starts_with("it held the address just now"), "{}", first.reason);
        world.until_answers(version, &[First]);
        assert_eq!(world.status(Second, version).unwrap().counts["became-active"], 0);
    }
}
