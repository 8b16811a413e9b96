//! How long the address does not answer after a crash, compared with keepalived. The times are printed, not asserted.

use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use lab::origin::{OriginKind, OriginOptions, TestOrigin};
use tests::e2e::wait;

use super::keepalived::{Keepalived, until_has};
use super::topology::{ClientFamily, First, MemberIndex, Second, V4, V6, VrrpTopology, rootless};

/// The timeout of one connection attempt.
const ATTEMPT: Duration = Duration::from_millis(20);
const EVERY: [(u32, ClientFamily); 4] = [(100, V4), (100, V6), (50, V4), (50, V6)];

#[test]
fn the_address_answers_again_after_a_crash() {
    if rootless() {
        return;
    }
    for (advertise, version) in EVERY {
        let mut world = VrrpTopology::open(&format!("advertise = \"{advertise}ms\""));
        world.serves(version);
        let crash = |world: &mut VrrpTopology| {
            world.kill9(First);
            Instant::now()
        };
        let taken = |world: &VrrpTopology| world.until(Second, version, "active");
        let gap = gap(&mut world, version, crash, taken);
        tell("steelyard", "kill -9", (advertise, version), gap);
    }
}

#[test]
fn the_address_answers_again_after_a_machine_is_gone() {
    if rootless() {
        return;
    }
    for (advertise, version) in EVERY {
        let mut world = VrrpTopology::open(&format!("advertise = \"{advertise}ms\""));
        world.serves(version);
        let taken = |world: &VrrpTopology| world.until(Second, version, "active");
        let gap = gap(&mut world, version, gone, taken);
        tell("steelyard", "machine gone", (advertise, version), gap);
    }
}

#[test]
fn the_address_answers_again_after_a_machine_with_keepalived_is_gone() {
    if rootless() {
        return;
    }
    for (advertise, version) in EVERY {
        let mut world = VrrpTopology::new("");
        let seconds = f64::from(advertise) / 1000.0;
        let start = |who: MemberIndex| {
            let listen = SocketAddr::from(([0u16; 8], 80));
            let options = OriginOptions {
                listen,
                ..OriginOptions::new("beside", OriginKind::Http { body: 128 })
            };
            let origin = world.namespace(who).run_inside(|| TestOrigin::start(options));
            let lines = |_: ClientFamily| format!(" version 3\n advert_int {seconds}\n");
            (Keepalived::with(&world, who, lines), origin.unwrap().unwrap())
        };
        let both = [First, Second].map(start);
        until_has(&world, First, version, true);
        until_has(&world, Second, version, false);
        world.until_answers(version, &[First]);
        world.serves(version);
        let taken = |world: &VrrpTopology| until_has(world, Second, version, true);
        let gap = gap(&mut world, version, gone, taken);
        tell("keepalived", "machine gone", (advertise, version), gap);
        for (keepalived, _) in both {
            keepalived.stop();
        }
    }
}

/// Disconnects the first member's machine completely.
fn gone(world: &mut VrrpTopology) -> Instant {
    world.hub.ip("link set p1 down\n").unwrap();
    Instant::now()
}

fn tell(program: &str, what: &str, of: (u32, ClientFamily), gap: (Duration, u64)) {
    let (advertise, version) = of;
    let (gap, attempts) = gap;
    println!(
        "proof: {program}, {what}: {} answers again after {} ms, advertisements every {advertise} ms, \
         {attempts} attempts",
        version.shared(),
        gap.as_millis(),
    );
}

/// The time from the crash to the first connection at the other member, and the number of attempts.
fn gap(
    world: &mut VrrpTopology,
    version: ClientFamily,
    crash: impl FnOnce(&mut VrrpTopology) -> Instant,
    taken: impl FnOnce(&VrrpTopology),
) -> (Duration, u64) {
    let address = SocketAddr::new(version.shared(), 80);
    let client = world.client.file();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let connecting = scope.spawn(|| {
            let place = std::fs::File::open(&client).unwrap();
            let kind = rustix::thread::LinkNameSpaceType::Network;
            rustix::thread::move_into_link_name_space(std::os::fd::AsFd::as_fd(&place), Some(kind))
                .unwrap();
            let mut attempts = 0;
            let mut again = None;
            let begun = Instant::now();
            while begun.elapsed() < wait::DEADLINE {
                attempts += 1;
                let crashed = done.load(Ordering::Acquire);
                if TcpStream::connect_timeout(&address, ATTEMPT).is_ok() && crashed {
                    again = Some(Instant::now());
                    break;
                }
            }
            (attempts, again)
        });
        wait::until("a first connection", || world.answerers(version).contains(&First));
        let crash = crash(world);
        done.store(true, Ordering::Release);
        taken(world);
        let (attempts, again) = connecting.join().unwrap();
        (again.expect("it answers again").duration_since(crash), attempts)
    })
}
