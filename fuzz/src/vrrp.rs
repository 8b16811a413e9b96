//! Targets of VRRP: frames from the link, and members that receive any advertisements at any time.
//!
//! Properties besides not panicking: a parsed advertisement is encoded unchanged, and only an active member holds
//! addresses.

use std::net::IpAddr;
use std::time::Duration;

use ha::advert::{GROUP_V4, HOPS, IpHeader, VrrpAdvertisement, VrrpVersion, emit, parse};
use ha::frame::{VrrpFramePacket, announcement, parse_vrrp_frame};
use ha::settings::VrrpSettings;
use ha::state_machine::{TransitionReason, VrrpAction, VrrpState, VrrpStateMachine};
use model::monotonic_time::MonotonicTime;

/// A frame from the link.
pub fn frame(bytes: &[u8]) {
    let Some(VrrpFramePacket { header: envelope, advert: packet }) = parse_vrrp_frame(bytes) else {
        return;
    };
    assert!(packet.len() < bytes.len());
    if let Ok(advert) = parse(packet, &envelope) {
        let again = emit(&advert, envelope.source, envelope.destination);
        assert_eq!(parse(&again, &envelope), Ok(advert), "it changes when it is written again");
    }
}

/// A member whose events the bytes describe: passing time, advertisements, orders, and stops.
pub fn run_member(bytes: &[u8]) {
    let mut machine = VrrpStateMachine::new(settings());
    let mut now = MonotonicTime(1);
    let mut has = false;
    for each in bytes.chunks_exact(3) {
        let mut out = Vec::new();
        now = now + Duration::from_millis(u64::from(each[1]) * 4);
        let advert = VrrpAdvertisement { priority: each[2], ..machine.settings().advertisement(0) };
        match each[0] % 6 {
            0 => machine.start(now, each[2] > 200, &mut out),
            1 => machine.stop(now, TransitionReason::Fault, &mut out),
            2 => drop(machine.order_active(now, &mut out)),
            3 => machine.receive(now, [192, 0, 2, each[1]].into(), &advert, &mut out),
            _ => machine.tick(now, &mut out),
        }
        for action in &out {
            match action {
                VrrpAction::AddAddresses => has = true,
                VrrpAction::RemoveAddresses => has = false,
                _ => {}
            }
        }
        assert_eq!(has, machine.state() == VrrpState::Active, "addresses follow the state");
        assert!(has || machine.lease_until() <= now, "what is not active holds nothing");
        assert!(machine.state() == VrrpState::Idle || machine.next_due() != MonotonicTime::NEVER);
    }
}

/// Frames with an advertisement of each version and family, and events of members.
pub fn seeds() -> Vec<Vec<u8>> {
    let source: IpAddr = [192, 0, 2, 1].into();
    let advert = |version| VrrpAdvertisement { version, ..settings().advertisement(100) };
    let mut out: Vec<Vec<u8>> = [VrrpVersion::V2, VrrpVersion::V3]
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
    let ends = IpHeader { source: [9; 16].into(), destination: [9; 16].into(), hops: HOPS };
    let shared = VrrpAdvertisement { addresses: vec![[7; 16].into()], ..advert(VrrpVersion::V3) };
    v6.extend(emit(&shared, ends.source, ends.destination));
    out.push(v6);
    out.push(vec![0, 0, 0, 4, 250, 0, 3, 10, 200, 4, 250, 0, 2, 1, 1, 3, 9, 0, 1, 1, 1]);
    out
}

fn settings() -> VrrpSettings {
    VrrpSettings {
        version: VrrpVersion::V3,
        group: 7,
        priority: 100,
        interval: Duration::from_millis(100),
        preempt: true,
        preempt_delay: Duration::ZERO,
        addresses: vec![[192, 0, 2, 10].into()],
        source: [192, 0, 2, 2].into(),
        fencing_timeout: Duration::from_millis(250),
        refresh: None,
        virtual_link: false,
    }
}
