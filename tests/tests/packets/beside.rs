//! Coexistence with the packet plane: proxied services on the same address, and programs of others.
//!
//! A resource that is unavailable is reported with a remedy, and the rest works.

use lab::net::SiteLayout;
use tests::e2e::cli_environment::run_command;
use tests::e2e::packet_balancer::{IpVersion, PacketBalancer, ready};
use tests::e2e::packet_config::PacketConfig;
use tests::e2e::tools::program;
use tests::e2e::wait;

fn near() -> SiteLayout {
    SiteLayout { local_servers: 2, ..SiteLayout::default() }
}

/// A proxied service on the same address.
const PROXIED: &str = "\
[service.proxied]
listen = \"198.51.100.10:8080\"
forward = \"http\"
pool = \"proxied\"
[pool.proxied]
servers = [\"10.10.0.11:80\"]
";

fn proxied_answers(plane: &PacketBalancer) {
    let mut curl = plane.site.client.command(program("curl"));
    curl.args(["-sS", "--max-time", "20", "http://198.51.100.10:8080/"]);
    let answer = run_command(curl);
    assert_eq!(
        (answer.code, answer.stdout.len()),
        (0, 128),
        "{answer:?}\n{}",
        plane.daemon_output()
    );
}

#[test]
fn proxied_services_and_what_is_for_the_host_pass_by() {
    if !ready() {
        return;
    }
    let plane =
        PacketBalancer::open(&near(), PacketConfig::new("mac", &[0, 1]).with_tables(PROXIED));
    proxied_answers(&plane);
    assert_eq!(plane.curl(IpVersion::V4, 6).len(), 2);
    // The balancer's own kernel rejects packets to a port without a listener.
    let refused = plane.site.client.run_inside(|| {
        let socket = std::net::UdpSocket::bind(("0.0.0.0", 0)).unwrap();
        socket.connect(("198.51.100.10", 9)).unwrap();
        socket.set_read_timeout(Some(wait::DEADLINE)).unwrap();
        socket.send(b"anybody?").unwrap();
        socket.recv(&mut [0; 8]).map_err(|error| error.kind())
    });
    assert_eq!(refused.unwrap(), Err(std::io::ErrorKind::ConnectionRefused));
}

/// Waits until the daemon reports these words, and checks that the rest works.
fn is_told_and_the_rest_works(plane: &PacketBalancer, words: &[&str]) {
    wait::until(&format!("told: {words:?}"), || {
        let said = format!("{}{:?}", plane.daemon_output(), plane.status());
        words.iter().all(|word| said.contains(word))
    });
    proxied_answers(plane);
}

#[test]
fn a_link_that_is_taken_by_another_program_is_reported_with_the_remedy() {
    if !ready() {
        return;
    }
    let mut plane = PacketBalancer::open_without_daemon(
        &near(),
        PacketConfig::new("mac", &[0, 1]).with_tables(PROXIED),
    );
    plane.serve();
    plane.site.attach_foreign_program(&plane.site.balancer).unwrap();
    plane.start();
    is_told_and_the_rest_works(&plane, &["eth0", "pass"]);
}

#[test]
fn a_link_that_is_missing_is_reported() {
    if !ready() {
        return;
    }
    let words = PacketConfig::new("mac", &[0, 1]).links(&["eth7"]).with_tables(PROXIED);
    let mut plane = PacketBalancer::open_without_daemon(&near(), words);
    plane.serve();
    plane.start();
    is_told_and_the_rest_works(&plane, &["eth7"]);
}

#[test]
fn a_return_address_that_is_not_ours_is_reported() {
    if !ready() {
        return;
    }
    // In addition to the balancer's return addresses.
    let mut words = PacketConfig::new("nat", &[0, 1]).with_tables(PROXIED);
    words.foreign_return = true;
    let mut plane = PacketBalancer::open_without_daemon(&near(), words);
    plane.serve();
    plane.start();
    is_told_and_the_rest_works(&plane, &["10.10.0.77"]);
}

#[test]
fn a_return_address_that_a_socket_is_bound_to_is_reported() {
    if !ready() {
        return;
    }
    let mut plane = PacketBalancer::open_without_daemon(
        &near(),
        PacketConfig::new("nat", &[0, 1]).with_tables(PROXIED),
    );
    plane.serve();
    let back = plane.site.return_addresses()[0].v4;
    let socket = plane.site.balancer.run_inside(|| std::net::TcpListener::bind((back, 7)).unwrap());
    plane.start();
    is_told_and_the_rest_works(&plane, &[&back.to_string(), "TCP socket at port 7", "of its own"]);
    // The service is forwarded as soon as the address is free.
    drop(socket);
    plane.wait_until_all_up();
    wait::until("it is forwarded", || {
        plane.status().services.iter().all(|one| one.state.name() == "up")
    });
    assert_eq!(plane.curl(IpVersion::V4, 6).len(), 2);
}

#[test]
fn a_link_whose_driver_has_no_packet_programs_is_reported() {
    if !ready() {
        return;
    }
    let words = PacketConfig::new("mac", &[0, 1]).links(&["hollow"]).packets("mode = \"native\"\n");
    let mut plane = PacketBalancer::open_without_daemon(&near(), words.with_tables(PROXIED));
    plane.site.balancer.ip("link add hollow type bridge\nlink set hollow up\n").unwrap();
    plane.serve();
    plane.start();
    is_told_and_the_rest_works(&plane, &["hollow", "in its driver", "generic"]);
}

#[test]
fn missing_rights_are_reported_by_name() {
    if !ready() {
        return;
    }
    let mut plane = PacketBalancer::open_without_daemon(
        &near(),
        PacketConfig::new("mac", &[0, 1]).with_tables(PROXIED),
    );
    plane.serve();
    let without = ["--bounding-set", "-bpf,-sys_admin,-net_admin", "--inh-caps", "-all"];
    plane.start_by("setpriv", &without);
    is_told_and_the_rest_works(
        &plane,
        &["CAP_BPF and CAP_NET_ADMIN", "/usr/share/steelyard/systemd"],
    );
    wait::until("ready is told all the same", || plane.daemon_output().contains("info ready:"));
}

#[test]
fn a_kernel_without_type_information_is_reported() {
    if !ready() {
        return;
    }
    let mut plane = PacketBalancer::open_without_daemon(
        &near(),
        PacketConfig::new("mac", &[0, 1]).with_tables(PROXIED),
    );
    plane.serve();
    let hidden = "mount -t tmpfs none /sys/kernel/btf && exec \"$0\" \"$@\"";
    plane.start_by("unshare", &["--mount", "sh", "-c", hidden]);
    is_told_and_the_rest_works(&plane, &["/sys/kernel/btf/vmlinux", "CONFIG_DEBUG_INFO_BTF=y"]);
}
