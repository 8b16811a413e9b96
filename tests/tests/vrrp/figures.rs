//! How long the address does not answer after a crash: measured and printed, not judged.

use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tests::e2e::wait;
use tests::skip::skip;

use super::world::{First, Second, V4, V6, Version, World};

/// How long one attempt to connect may take.
const ATTEMPT: Duration = Duration::from_millis(20);

#[test]
fn the_address_answers_again_after_a_crash() {
    if !rustix::process::geteuid().is_root() {
        return skip("namespaces need root");
    }
    for (advertise, version) in [(100, V4), (100, V6), (50, V4)] {
        let mut world = World::open(&format!("advertise = \"{advertise}ms\""));
        world.serves(version);
        let (gap, attempts) = gap(&mut world, version);
        println!(
            "proof: {} answers again {} ms after a crash, advertisements every {advertise} ms, {attempts} attempts",
            version.shared(),
            gap.as_millis(),
        );
    }
}

/// The time between the crash and the first connection at the other member.
fn gap(world: &mut World, version: Version) -> (Duration, u64) {
    let address = SocketAddr::new(version.shared(), 80);
    let client = world.client.file();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let connecting = scope.spawn(|| {
            let place = std::fs::File::open(&client).unwrap();
            let kind = rustix::thread::LinkNameSpaceType::Network;
            rustix::thread::move_into_link_name_space(std::os::fd::AsFd::as_fd(&place), Some(kind))
                .unwrap();
            let (mut attempts, mut again) = (0, None);
            let begun = Instant::now();
            while begun.elapsed() < wait::DEADLINE {
                attempts += 1;
                let connected = TcpStream::connect_timeout(&address, ATTEMPT).is_ok();
                if connected && done.load(Ordering::Acquire) {
                    again = Some(Instant::now());
                    break;
                }
            }
            (attempts, again)
        });
        wait::until("a first connection", || world.answerers(version).contains(&First));
        world.kill9(First);
        let crash = Instant::now();
        done.store(true, Ordering::Release);
        world.until(Second, version, "active");
        let (attempts, again) = connecting.join().unwrap();
        (again.expect("it answers again").duration_since(crash), attempts)
    })
}
