//! Ownership of pins: two daemons of one machine with the same `packets.pin-path`, and pins that vanish with their process.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::Duration;

use lab::net::find;
use tests::e2e::process::ChildProcess;

use super::topology::{Client, LinkTopology, Server};
use super::traffic::stream;

const NEAR: Duration = Duration::from_millis(1);

#[test]
fn a_daemon_of_another_namespace_is_refused_another_ones_pins_and_the_first_loses_nothing() {
    let Some(mut world) = LinkTopology::open(&[NEAR, NEAR], "policy = \"hash\"") else { return };
    let pid = world.pid(Client);

    let text = world.with_pins_of_client(Server);
    let applied = world.apply(Server, &text);
    assert_eq!(applied.code, 1, "{applied:?}");
    let names = |said: &str| {
        for part in [
            "another daemon's",
            &format!("process {pid} "),
            "network namespace",
            "packets.pin-path",
        ] {
            assert!(said.contains(part), "no `{part}` in {said}");
        }
    };
    names(&applied.stderr);
    assert_eq!(world.status(Server).state, "up", "nothing has changed");

    world.stop(Server);
    let ended = world.ends(Server, &text);
    names(&ended);
    stream(&world, "cubic", Duration::from_millis(100), || ());
    assert_eq!(world.status(Client).state, "up");

    // After the first daemon has died, another daemon may take over its pins.
    world.kill9(Client);
    world.start_with(Server, &text);
    let told = world.daemon_output(Server);
    assert!(!told.contains("bundle-trouble"), "{told}");
}

#[test]
fn a_daemon_without_planes_leaves_alone_what_another_one_pinned() {
    let Some(mut world) = LinkTopology::open(&[NEAR, NEAR], "policy = \"hash\"") else { return };
    let pins = world.pins(Client);
    world.stop(Server);
    let others = ["plane", "plane-uplinks"].map(|name| pins.join(name));
    for other in &others {
        fs::create_dir_all(other.join("balance")).unwrap();
        symlink("1 1 1 /elsewhere", other.join("owner")).unwrap();
    }
    let text = world.with_pins_of_client(Server);
    let without = text.split("[link.up]").next().unwrap().to_owned();
    world.start_with(Server, &without);
    for other in &others {
        assert!(other.join("balance").exists(), "{} was another daemon's", other.display());
    }
    stop_and_compare(&mut world);
}

/// A graceful stop removes only the daemon's own pins.
fn stop_and_compare(world: &mut LinkTopology) {
    let pins = world.pins(Client);
    let stopped = world.verb(Server, &["stop"]);
    assert_eq!(stopped.code, 0, "{stopped:?}");
    world.ended(Server);
    for name in ["plane", "plane-uplinks", "plane-links"] {
        assert!(pins.join(name).exists(), "{name}");
    }
}

#[test]
fn pins_that_go_with_the_process_are_warned_of() {
    let Some(mut world) = LinkTopology::open(&[NEAR, NEAR], "policy = \"hash\"") else { return };
    world.stop(Client);
    let text = world.text(Client);
    let place = world.write(Client, "alone.toml", &text);
    let pins = world.pins(Client);
    // A BPF file system in a private mount namespace.
    let script = "mount --make-rprivate / && mount -t bpf bpf \"$1\" && shift && exec \"$@\"";
    let mut command = world.namespace(Client).command(find("unshare"));
    command.args(["-m", "sh", "-c", script, "sh"]).arg(&pins);
    command.arg(tests::e2e::balancer::program()).args(["run", "-c"]).arg(place);
    world.put(Client, ChildProcess::start(command));
    world.wait_for_output(Client, "warning pins-not-lasting: ");
    let told = world.daemon_output(Client);
    let wanted = "when this process dies, bundles carry nothing until it starts again";
    assert!(told.contains(wanted), "{told}");
    assert!(told.contains("mount namespace alone"), "{told}");
    let status = world.verb(Client, &["status"]);
    assert!(
        status.stdout.contains(wanted) || status.stdout.contains("bundles carry nothing"),
        "{status:?}"
    );
    let doctor = world.verb(Client, &["doctor", "links", "--passive", "--json"]);
    assert!(doctor.stdout.contains(wanted), "{doctor:?}");
}
