//! A site after it is built: all hosts reach each other as planned, and nothing is left afterwards.
//!
//! Needs root; without root the test prints the reason, and in the gate it fails.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that fails is told best by panicking"
)]

use std::fs::DirBuilder;
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::{DirBuilderExt, chown, symlink};
use std::time::Duration;

use files::TemporaryDir;
use files::temporary::temporary_root;
use lab::net::{
    BalancerArms, BpfFs, ChecksumMode, NetworkNamespace, SERVICE_V4, SiteHost, SiteLayout,
    TestSite, find, run_command, sweep_orphans,
};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

fn is_root() -> bool {
    if rustix::process::geteuid().is_root() {
        return true;
    }
    assert!(std::env::var("CI").is_err(), "skipped, which the gate does not accept: needs root");
    println!("skipped: needs root");
    false
}

const WAIT_TIMEOUT: Duration = Duration::from_secs(10);

/// Sends a greeting from one host to another and back.
fn greets(from: &SiteHost, to: &NetworkNamespace, at: IpAddr) {
    let listener = to.run_inside(|| TcpListener::bind((at, 0)).unwrap()).unwrap();
    let address: SocketAddr = listener.local_addr().unwrap();
    std::thread::scope(|scope| {
        let server = scope.spawn(|| {
            let (mut stream, peer) = listener.accept().unwrap();
            let mut got = [0; 5];
            stream.read_exact(&mut got).unwrap();
            stream.write_all(&got).unwrap();
            peer.ip()
        });
        let echo = from.run_inside(|| {
            let mut stream = TcpStream::connect_timeout(&address, WAIT_TIMEOUT).unwrap();
            stream.set_read_timeout(Some(WAIT_TIMEOUT)).unwrap();
            stream.write_all(b"hello").unwrap();
            let mut got = [0; 5];
            stream.read_exact(&mut got).unwrap();
            got
        });
        assert_eq!(&echo.unwrap(), b"hello");
        assert_eq!(server.join().unwrap(), from.host.address_like(at));
    });
}

#[test]
fn everyone_reaches_everyone_in_both_versions() {
    if !is_root() {
        return;
    }
    for (arms, checksums, mtu) in [
        (BalancerArms::One, ChecksumMode::Computed, 1500),
        (BalancerArms::Two, ChecksumMode::Offloaded, 9000),
    ] {
        let layout = SiteLayout {
            local_servers: 1,
            remote_servers: 1,
            mtu,
            arms,
            checksums,
            ..SiteLayout::default()
        };
        let site = TestSite::open(&layout).unwrap();
        let ends = site.servers.iter().chain([&site.balancer]);
        for node in ends {
            greets(&site.client, node, node.host.v4.into());
            greets(&site.client, node, node.host.v6.into());
            greets(node, &site.client, site.client.host.v4.into());
        }
        // Without a balancer process, the services' address belongs to the balancer's host.
        greets(&site.client, &site.balancer, SERVICE_V4.into());
        let names: Vec<String> = site.servers.iter().map(|node| node.name().to_owned()).collect();
        drop(site);
        for name in names {
            assert!(!std::path::Path::new("/run/netns").join(&name).exists(), "{name} is left");
        }
    }
}

#[test]
fn pins_are_kept_while_the_file_system_is_and_a_killed_run_is_swept_up() {
    if !is_root() {
        return;
    }
    let pins = BpfFs::mount().unwrap();
    let dir = pins.path().to_owned();
    std::fs::create_dir(dir.join("maps")).unwrap();
    drop(pins);
    assert!(!dir.exists());

    // A name of a process with a number beyond the largest.
    let name = format!("sylab-4194305-1-{}-client", std::process::id());
    run_command(std::process::Command::new(find("ip")).args(["netns", "add", &name])).unwrap();
    let living = NetworkNamespace::new("client").unwrap();
    sweep_orphans();
    assert!(!std::path::Path::new("/run/netns").join(&name).exists());
    assert!(living.file().exists());
}

#[test]
fn what_another_user_planted_under_a_name_of_a_dead_run_is_neither_unmounted_nor_removed() {
    if !is_root() {
        return;
    }
    let room = TemporaryDir::new("mounted").unwrap();
    let disk = room.path().join("disk");
    std::fs::create_dir(&disk).unwrap();
    mount("tmpfs", &disk, "tmpfs", MountFlags::empty(), None).unwrap();
    std::fs::write(disk.join("data"), "kept").unwrap();

    let place = temporary_root().unwrap();
    let planted = |role: &str| place.join(format!("sylab-4194305-1-{}-{role}", std::process::id()));
    let link = planted("bpf");
    let dir = planted("study");
    let mine = planted("pass");
    symlink(&disk, &link).unwrap();
    std::fs::create_dir(&dir).unwrap();
    std::fs::write(dir.join("data"), "kept").unwrap();
    chown(&dir, Some(12_345), None).unwrap();
    DirBuilder::new().mode(0o700).create(&mine).unwrap();
    symlink(&disk, mine.join("theirs")).unwrap();
    // A BPF file system that an ended run left, under its name.
    let pins = planted("old");
    DirBuilder::new().mode(0o700).create(&pins).unwrap();
    mount("bpf", &pins, "bpf", MountFlags::empty(), None).unwrap();

    let swept = sweep_orphans().file_systems;
    let followed = disk.join("data").exists();
    let is_present = dir.join("data").exists();
    let left = link.is_symlink();
    let gone = !mine.exists() && !pins.exists();
    std::fs::remove_file(&link).unwrap();
    std::fs::remove_dir_all(&dir).unwrap();
    unmount(&disk, UnmountFlags::DETACH).unwrap();
    assert!(followed && is_present && left, "{swept:?}");
    assert!(gone, "what the dead run made is swept up: {swept:?}");
}
