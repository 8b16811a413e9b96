//! TCP options of SYN packets that a service allows, clears or drops, compared with a model of the same decision.

use l4::abi::{Method, Outcome, TcpAction, TcpField};

use super::packet::{ACK, SYN, TestPacket, URG, read_ip, tcp};
use super::usual::{ENDS, both};
use super::world::{DROP, DatapathTestbed, TX};

/// MSS, SACK permitted, timestamps, a no-operation and the window scale, as Linux sends them.
pub const USUAL: [u8; 20] = [2, 4, 5, 180, 4, 2, 8, 10, 1, 2, 3, 4, 0, 0, 0, 0, 1, 3, 3, 7];

const CLEAR: TcpAction = TcpAction::TcpClear;
pub const REFUSE: TcpAction = TcpAction::TcpDrop;

/// What becomes of the options of a SYN.
#[derive(Clone, Debug, PartialEq, Eq)]
enum OptionsResult {
    Kept(Vec<u8>),
    Refused,
    Malformed,
}

/// A policy as the datapath has it.
pub fn policy(actions: &[(TcpField, TcpAction)]) -> u32 {
    actions.iter().map(|(field, action)| (*action as u32) << (2 * *field as u32)).sum()
}

/// The model: walks options as RFC 9293 section 3.1 describes them.
fn modelled(options: &[u8], policy: u32) -> OptionsResult {
    let mut out = options.to_vec();
    let mut at = 0;
    while at < options.len() && options[at] != 0 {
        if options[at] == 1 {
            at += 1;
            continue;
        }
        let size = options.get(at + 1).map_or(0, |size| usize::from(*size));
        let known = match options[at] {
            2 => Some((TcpField::Mss, 4)),
            3 => Some((TcpField::WindowScale, 3)),
            4 => Some((TcpField::Sack, 2)),
            8 => Some((TcpField::Timestamps, 10)),
            _ => None,
        };
        if size < 2 || at + size > options.len() || known.is_some_and(|(_, want)| want != size) {
            return OptionsResult::Malformed;
        }
        match known.map_or(0, |(field, _)| policy >> (2 * field as u32) & 3) {
            1 => out[at..at + size].fill(1),
            2 => return OptionsResult::Refused,
            _ => {}
        }
        at += size;
    }
    OptionsResult::Kept(out)
}

fn syn(index: usize, port: u16, options: &[u8]) -> TestPacket {
    let (client, vip) = ENDS[index];
    let client = client.replace(":4000", &format!(":{port}"));
    TestPacket { tcp_options: options.to_vec(), ..tcp(&client, vip, SYN) }
}

/// Options of a frame whose checksums are right.
fn options_of(frame: &[u8]) -> Vec<u8> {
    let transport = read_ip(&frame[14..]).transport;
    transport[20..usize::from(transport[12] >> 4) * 4].to_vec()
}

pub fn set_policy(world: &DatapathTestbed, policy: u32) {
    (0..2).for_each(|index| world.change_service(index, |service| service.normalize = policy));
}

fn cleared(world: &DatapathTestbed, index: u32, field: TcpField) -> u64 {
    let rows = world.plane.service_counts.each_cpu(&index).unwrap();
    rows.iter().map(|row| row.cleared[field as usize]).sum()
}

// Rows: C02
#[test]
fn each_option_is_cleared_by_itself_and_counted() {
    let Some(world) = both(Method::Mac) else { return };
    let (mut port, mut want) = (5_000, USUAL.to_vec());
    let places = [
        (TcpField::Mss, 0..4),
        (TcpField::Sack, 4..6),
        (TcpField::Timestamps, 6..16),
        (TcpField::WindowScale, 17..20),
    ];
    for (index, version) in ["IPv4", "IPv6"].iter().enumerate() {
        for (field, place) in places.clone() {
            set_policy(&world, policy(&[(field, CLEAR)]));
            want.copy_from_slice(&USUAL);
            want[place].fill(1);
            port += 1;
            let text = format!("{version}: {}", field.name());
            let out = world.forwarded(&text, &syn(index, port, &USUAL));
            assert_eq!(options_of(&out), want, "{text}");
            assert_eq!(cleared(&world, index as u32, field), 1, "{text}");
            // What was agreed on before stays: a segment without it would be discarded.
            let later = TestPacket { flags: ACK, ..syn(index, port, &USUAL) };
            assert_eq!(options_of(&world.forwarded(&text, &later)), USUAL, "{text}");
        }
    }
}

// Rows: C02
#[test]
fn options_of_a_server_that_answers_through_us_are_cleared_and_dropped_too() {
    let Some(world) = both(Method::Nat) else { return };
    for index in [0, 1] {
        set_policy(&world, policy(&[(TcpField::Timestamps, CLEAR)]));
        let seen = read_ip(&world.forwarded("SYN", &syn(index, 6_000, &USUAL))[14..]);
        let end = |ip, port| std::net::SocketAddr::new(ip, port).to_string();
        let answer = TestPacket {
            tcp_options: USUAL.to_vec(),
            ..tcp(&end(seen.dst, seen.dport), &end(seen.src, seen.sport), SYN | ACK)
        };
        let out = world.expect("SYN/ACK", &answer.bytes(), Outcome::Returned, TX);
        let mut want = USUAL;
        want[6..16].fill(1);
        assert_eq!(options_of(&out), want);
        set_policy(&world, policy(&[(TcpField::Sack, REFUSE)]));
        world.expect("SYN/ACK", &answer.bytes(), Outcome::OptionRefused, DROP);
    }
}

// Rows: C02
#[test]
fn a_refused_option_takes_no_place_in_the_tables() {
    let Some(world) = both(Method::Nat) else { return };
    set_policy(&world, policy(&[(TcpField::WindowScale, REFUSE)]));
    let refused = syn(0, 7_000, &USUAL);
    world.expect("a window scale", &refused.bytes(), Outcome::OptionRefused, DROP);
    let without = syn(0, 7_000, &USUAL[..16]);
    world.forwarded("without it", &without);
    let gauge = world.plane.gauges.get(&0).unwrap().unwrap();
    assert_eq!(gauge.new_flows, 1);
    // Nothing is looked at where no policy is set.
    set_policy(&world, 0);
    let malformed = syn(0, 7_001, &[8, 0, 0, 0]);
    assert_eq!(options_of(&world.forwarded("as it is", &malformed)), [8, 0, 0, 0]);
}

/// A generator of numbers that are the same in each run (xorshift).
struct DrawSequence(u64);

impl DrawSequence {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) % end
    }

    /// Options of any length, most of them well-formed, in a whole number of words.
    fn options(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        let most = 4 * self.below(11) as usize;
        while out.len() < most {
            let kind = self.below(10) as u8;
            let right = match kind {
                2 => 4,
                3 => 3,
                8 => 10,
                _ => 2,
            };
            let size = if self.below(12) == 0 { self.below(14) as u8 } else { right };
            out.push(kind);
            if kind > 1 {
                out.push(size);
                (2..size).for_each(|_| out.push(self.below(256) as u8));
            }
        }
        out.truncate(most);
        out
    }
}

// Rows: C02
#[test]
fn any_options_end_as_the_model_says() {
    let Some(world) = both(Method::Mac) else { return };
    let mut draws = DrawSequence(0x5eed);
    let mut ends = [0; 3];
    for round in 0..3_000 {
        let options = draws.options();
        let policy = draws.below(256) as u32 & 0b0101_0101 << (round & 1);
        set_policy(&world, policy);
        let index = (round & 1) as usize;
        let packet = syn(index, 10_000 + round as u16, &options);
        let text = format!("{options:?} by {policy:#b}");
        // Without any action nothing is looked at.
        let want = if policy == 0 {
            OptionsResult::Kept(options.clone())
        } else {
            modelled(&options, policy)
        };
        match &want {
            OptionsResult::Kept(kept) => {
                ends[0] += 1;
                let out = world.expect(&text, &packet.bytes(), Outcome::Forwarded, TX);
                assert_eq!(&options_of(&out), kept, "{text}");
            }
            OptionsResult::Refused => {
                ends[1] += 1;
                world.expect(&text, &packet.bytes(), Outcome::OptionRefused, DROP);
            }
            OptionsResult::Malformed => {
                ends[2] += 1;
                world.expect(&text, &packet.bytes(), Outcome::OptionMalformed, DROP);
            }
        }
    }
    assert!(ends.iter().all(|count| *count > 200), "{ends:?}");
}

/// Length, reserved bits and flags, and the urgent pointer of a frame whose checksums are right.
fn flags_and_pointer(frame: &[u8]) -> [u8; 4] {
    let transport = read_ip(&frame[14..]).transport;
    [transport[12], transport[13], transport[18], transport[19]]
}

// Rows: C07
#[test]
fn reserved_bits_and_the_urgent_flag_are_cleared_in_any_segment() {
    let Some(world) = both(Method::Mac) else { return };
    let rows = [
        ("nothing", vec![], [0x5f, ACK | URG, 1, 2]),
        (
            "reserved bits, not that of accurate ECN",
            vec![(TcpField::ReservedBits, CLEAR)],
            [0x51, ACK | URG, 1, 2],
        ),
        ("the urgent flag and its pointer", vec![(TcpField::Urgent, CLEAR)], [0x5f, ACK, 0, 0]),
        (
            "both",
            vec![(TcpField::ReservedBits, CLEAR), (TcpField::Urgent, CLEAR)],
            [0x51, ACK, 0, 0],
        ),
    ];
    for (index, port) in [(0, 8_000), (1, 8_001)] {
        for (text, actions, want) in &rows {
            set_policy(&world, policy(actions));
            let before: Vec<u64> =
                actions.iter().map(|(field, _)| cleared(&world, index, *field)).collect();
            let packet = TestPacket {
                flags: ACK | URG,
                reserved: 0x0f,
                urgent: 0x0102,
                ..syn(index as usize, port, &[])
            };
            assert_eq!(flags_and_pointer(&world.forwarded(text, &packet)), *want, "{text}");
            let plain = TestPacket { flags: ACK, ..syn(index as usize, port, &[]) };
            world.forwarded(text, &plain);
            let after: Vec<u64> =
                actions.iter().map(|(field, _)| cleared(&world, index, *field)).collect();
            assert!(before.iter().zip(&after).all(|(old, new)| old + 1 == *new), "{text}");
        }
    }
}

// Rows: C07
#[test]
fn reserved_bits_urgent_flags_and_data_in_a_syn_are_refused_by_name() {
    let Some(world) = both(Method::Mac) else { return };
    let open = syn(0, 9_000, &[]);
    let empty = TestPacket { payload: Vec::new(), ..open.clone() };
    let rows = [
        (
            TcpField::ReservedBits,
            TestPacket { reserved: 2, ..open.clone() },
            Outcome::ReservedBitsRefused,
        ),
        (TcpField::Urgent, TestPacket { flags: ACK | URG, ..open.clone() }, Outcome::UrgentRefused),
        (TcpField::SynData, open.clone(), Outcome::SynDataRefused),
    ];
    for (field, packet, outcome) in rows {
        set_policy(&world, policy(&[(field, REFUSE)]));
        world.expect(field.name(), &packet.bytes(), outcome, DROP);
        world.forwarded(field.name(), &empty);
        world.forwarded("data after the SYN", &TestPacket { flags: ACK, ..open.clone() });
        let ecn = TestPacket { reserved: 1, ..empty.clone() };
        world.forwarded("accurate ECN", &ecn);
    }
}
