//! Targets of VRRP: frames as they come from the link, and members that hear anything at any time.
//!
//! Beside never panicking: what is read is what would be written, and a member that is not active holds nothing.

use std::net::IpAddr;
use std::time::Duration;

use ha::advert::{Advert, Envelope, GROUP_V4, HOPS, Version, emit, parse};
use ha::frame::{announcement, vrrp};
use ha::machine::{Action, Machine, State, Why};
use ha::settings::Settings;
use model::moment::Moment;

/// A frame of a link.
pub fn frame(bytes: &[u8]) {
    let Some((envelope, packet)) = vrrp(bytes) else { return };
    assert!(packet.len() < bytes.len());
    if let Ok(advert) = parse(packet, &envelope) {
        let again = emit(&advert, envelope.source, envelope.destination);
        assert_eq!(parse(&again, &envelope), Ok(advert), "it changes when it is written again");
    }
}

/// A member that is told what the bytes say: time, advertisements, orders, ends.
pub fn talk(bytes: &[u8]) {
    let mut machine = Machine::new(settings());
    let (mut now, mut has) = (Moment(1), false);
    for each in bytes.chunks_exact(3) {
        let mut out = Vec::new();
        now = now + Duration::from_millis(u64::from(each[1]) * 4);
        let advert = Advert { priority: each[2], ..machine.settings().advert(0) };
        match each[0] % 6 {
            0 => machine.begin(now, each[2] > 200, &mut out),
            1 => machine.end(now, Why::Fault, &mut out),
            2 => drop(machine.order(now, &mut out)),
            3 => machine.receive(now, [192, 0, 2, each[1]].into(), &advert, &mut out),
            _ => machine.tick(now, &mut out),
        }
        for action in &out {
            match action {
                Action::Take => has = true,
                Action::Give => has = false,
                _ => {}
            }
        }
        assert_eq!(has, machine.state() == State::Active, "addresses follow the state");
        assert!(has || machine.hold() <= now, "what is not active holds nothing");
        assert!(machine.state() == State::Idle || machine.due() != Moment::NEVER);
    }
}

/// Frames with an advertisement of each version and family, and what members hear.
pub fn seeds() -> Vec<Vec<u8>> {
    let source: IpAddr = [192, 0, 2, 1].into();
    let advert = |version| Advert { version, ..settings().advert(100) };
    let mut out: Vec<Vec<u8>> = [Version::Two, Version::Three]
        .map(|version| {
            let packet = emit(&advert(version), source, GROUP_V4.into());
            let length = 20 + packet.len() as u8;
            let mut frame = announcement(source, [2; 6])[..12].to_vec();
            frame.extend([8, 0, 0x45, 0, 0, length, 0, 0, 0, 0, HOPS, 112, 0, 0]);
            frame.extend([192, 0, 2, 1, 224, 0, 0, 18]);
            [frame, packet].concat()
        })
        .to_vec();
    let mut v6 = vec![0; 12];
    v6.extend([0x86, 0xdd, 0x60, 0, 0, 0, 0, 24, 112, HOPS]);
    v6.extend([9; 32]);
    let ends = Envelope { source: [9; 16].into(), destination: [9; 16].into(), hops: HOPS };
    let shared = Advert { addresses: vec![[7; 16].into()], ..advert(Version::Three) };
    v6.extend(emit(&shared, ends.source, ends.destination));
    out.push(v6);
    out.push(vec![0, 0, 0, 4, 250, 0, 3, 10, 200, 4, 250, 0, 2, 1, 1, 3, 9, 0, 1, 1, 1]);
    out
}

fn settings() -> Settings {
    Settings {
        version: Version::Three,
        group: 7,
        priority: 100,
        interval: Duration::from_millis(100),
        preempt: true,
        preempt_delay: Duration::ZERO,
        addresses: vec![[192, 0, 2, 10].into()],
        source: [192, 0, 2, 2].into(),
        dead_man: Duration::from_millis(250),
        refresh: None,
        virtual_link: false,
    }
}
