//! `apply --pair`: a change is active on both members or on neither.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

use tests::e2e::certificate::{CertificateAuthority, certificate_for};
use tests::e2e::cli_environment::CommandOutput;
use tests::e2e::wait;
use tests::skip::skip;

use super::topology::{First, MemberIndex, Second, VrrpTopology};

const GROUP: &str = "advertise = \"200ms\"";
/// The address of the second member's API.
const DOOR: &str = "10.9.0.2:9443";

/// Starts both members. The second one's API listens, and the first one has a token for it.
fn open() -> VrrpTopology {
    let mut world = VrrpTopology::new(GROUP);
    let dir = world.dir(Second);
    let authority = CertificateAuthority::new("both");
    authority.write(dir.join("ca.pem"));
    authority.pair(dir.join("control.pem"), &certificate_for(&["10.9.0.2"]));
    let mut command = std::process::Command::new(tests::e2e::balancer::program());
    command.args(["token", "configure", "both", "--json", "--into"]).arg(dir.join("tokens"));
    let made = command.output().unwrap();
    assert!(made.status.success(), "{made:?}");
    let made: serde_json::Value = serde_json::from_slice(&made.stdout).unwrap();
    let file = dir.write("token", made["token"].as_str().unwrap());
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let dir = dir.path().display();
    world.control[1] = format!(
        "listen = \"{DOOR}\"\ncertificate = \"{dir}/control.pem\"\ntokens = \"{dir}/tokens\"\n"
    );
    world.start(First);
    world.start(Second);
    // A daemon's API answers before its groups are set up.
    wait::until("both members' groups stand", || {
        let stand = |who| world.whole_status(who).is_some_and(|status| !status.vrrp.is_empty());
        stand(First) && stand(Second)
    });
    world
}

/// Applies a configuration to both members, from the first member.
fn apply(world: &mut VrrpTopology, text: &str, more: &[&str]) -> CommandOutput {
    let file = world.dir(First).write("new.toml", text).display().to_string();
    let dir = world.dir(Second);
    let [ca, token] = ["ca.pem", "token"].map(|name| dir.join(name).display().to_string());
    let words = ["apply", "--pair", DOOR, "--ca", &ca, "--token-file", &token, &file];
    world.verb(First, &[&words[..], more].concat())
}

fn generation(world: &VrrpTopology, who: MemberIndex) -> u64 {
    world.whole_status(who).unwrap().generation
}

/// The generations of both members.
fn both(world: &VrrpTopology) -> [u64; 2] {
    [First, Second].map(|who| generation(world, who))
}

/// The servers in the pools of both members.
fn servers(world: &VrrpTopology) -> [Vec<String>; 2] {
    [First, Second].map(|who| {
        let pools = world.whole_status(who).unwrap().pools;
        pools.iter().flat_map(|pool| pool.servers.iter().map(|one| one.address.clone())).collect()
    })
}

fn has(said: &CommandOutput, code: i32, words: &[&str]) {
    assert_eq!(said.code, code, "{said:?}");
    for word in words {
        assert!(
            said.stderr.contains(word) || said.stdout.contains(word),
            "'{word}' is not in {said:?}"
        );
    }
}

const A: &str = "10.9.0.51:8080";
const B: &str = "10.9.0.52:8080";

#[test]
fn both_members_have_a_change_or_neither() {
    if !rustix::process::geteuid().is_root() {
        return skip("namespaces need root");
    }
    let mut world = open();
    let old = world.text(First);
    let with = |address: &str| old.replace("10.9.0.50:8080", address);
    // Both members have the change, each with its own settings.
    let said = apply(&mut world, &with(A), &[]);
    has(&said, 0, &["here: generation 2", "https://10.9.0.2:9443: generation 2"]);
    assert_eq!(servers(&world), [[A], [A]]);
    for who in [First, Second] {
        let members = world.whole_status(who).unwrap().vrrp;
        assert!(members.iter().all(|one| one.priority == who.priority()), "{members:?}");
    }
    // A mistake is reported with its location.
    let said = apply(&mut world, &with(A).replace("workers = 1", "wrokers = 1"), &[]);
    has(&said, 1, &["wrokers", "nothing has changed"]);
    // The expected generation is outdated.
    let said = apply(&mut world, &with(B), &["--if-generation", "1"]);
    has(&said, 1, &["generation 2 is active, not 1", "nothing has changed"]);
    assert_eq!(both(&world), [2, 2]);

    refused_at_the_commit(&mut world, &with(B));

    // A difference at the second member is only overwritten with `--overwrite-peer`.
    let own = world.text(Second).replace("10.9.0.50", "10.9.0.59");
    let file = world.dir(Second).write("own.toml", own).display().to_string();
    has(&world.verb(Second, &["apply", &file]), 0, &[]);
    let said = apply(&mut world, &with(B), &[]);
    has(&said, 1, &["differ already, in pool.web.servers", "nothing has changed"]);
    has(&apply(&mut world, &with(B), &["--overwrite-peer"]), 0, &[]);
    assert_eq!(servers(&world), [[B], [B]]);

    // The other member is not running.
    let before = generation(&world, First);
    world.kill9(Second);
    let said = apply(&mut world, &with(A), &[]);
    has(&said, 2, &[DOOR, "nothing has changed"]);
    assert_eq!(generation(&world, First), before);
}

/// A port that is in use at one member, then at the other. No check of the text can detect that.
fn refused_at_the_commit(world: &mut VrrpTopology, text: &str) {
    let more = "[service.more]\nlisten = \"0.0.0.0:8085\"\nforward = \"http\"\npool = \"web\"\n";
    let more = format!("{text}{more}");
    let taken = |world: &VrrpTopology, who: MemberIndex| {
        world.namespace(who).run_inside(|| TcpListener::bind("0.0.0.0:8085")).unwrap().unwrap()
    };
    let second = taken(world, Second);
    has(&apply(world, &more, &[]), 1, &["8085", "nothing has changed"]);
    assert_eq!(both(world), [2, 2]);
    drop(second);
    let _first = taken(world, First);
    let said = apply(world, &more, &[]);
    has(&said, 1, &["8085", "both have what they had before"]);
    // The second member applied the change, and was rolled back.
    assert_eq!(both(world), [2, 4]);
    assert_eq!(servers(world), [[A], [A]]);
}
