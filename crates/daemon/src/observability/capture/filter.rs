//! The filter of the packet socket, in classic BPF: TCP of the ports that are watched, cut behind its headers. Pure.
//!
//! The socket gives packets from their IP header on. On the loopback each passes twice; the one that leaves is dropped.

use std::collections::BTreeSet;

/// Bounds the ports of a filter; with more ports, all of TCP passes.
pub const PORTS: usize = 100;

/// An instruction of classic BPF, with the names of `struct sock_filter`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BpfInstruction {
    pub code: u16,
    /// Instructions to skip if the condition holds.
    pub jt: u8,
    /// Instructions to skip if it does not.
    pub jf: u8,
    /// The operand: an offset, a constant or a mask.
    pub k: u32,
}

const fn op(code: u16, jt: u8, jf: u8, k: u32) -> BpfInstruction {
    BpfInstruction { code, jt, jf, k }
}

/// Opcodes of classic BPF: class, size and mode as composed in the kernel's uapi header linux/bpf_common.h.
const LD_ABS: u16 = 0x20;
const LDH_ABS: u16 = 0x28;
const LDB_ABS: u16 = 0x30;
const LDH_IND: u16 = 0x48;
const LDB_IND: u16 = 0x50;
const LDX_HEADER: u16 = 0xb1;
const LDX: u16 = 0x01;
const JEQ: u16 = 0x15;
const JSET: u16 = 0x45;
const JA: u16 = 0x05;
const AND: u16 = 0x54;
const RSH: u16 = 0x74;
const ADD: u16 = 0x04;
const ADD_X: u16 = 0x0c;
const RET_A: u16 = 0x16;
const RET: u16 = 0x06;

/// Ancillary data of the kernel (linux/filter.h).
const ANCILLARY: u32 = 0xffff_f000;
const PROTOCOL: u32 = ANCILLARY;
const DIRECTION: u32 = ANCILLARY + 4;
const KIND: u32 = ANCILLARY + 28;

/// EtherTypes of linux/if_ether.h, and IPPROTO_TCP.
const IPV4: u32 = 0x0800;
const IPV6: u32 = 0x86dd;
const TCP: u32 = 6;
/// The loopback's kind of link.
const LOOPBACK: u32 = 772;
const OUTGOING: u32 = 4;

/// Accepts TCP to or from these ports; truncates to the headers and this much payload.
pub fn filter(ports: &BTreeSet<u16>, payload: u32) -> Vec<BpfInstruction> {
    let mut ops = vec![
        op(LD_ABS, 0, 0, KIND),
        op(JEQ, 0, 3, LOOPBACK),
        op(LD_ABS, 0, 0, DIRECTION),
        op(JEQ, 0, 1, OUTGOING),
        op(RET, 0, 0, 0),
        op(LD_ABS, 0, 0, PROTOCOL),
        op(JEQ, 0, 7, IPV4),
        // IPv4: rejects later fragments, and reads the header's length.
        op(LDB_ABS, 0, 0, 9),
        op(JEQ, 1, 0, TCP),
        op(RET, 0, 0, 0),
        op(LDH_ABS, 0, 0, 6),
        op(JSET, 3, 0, 0x1fff),
        op(LDX_HEADER, 0, 0, 0),
        op(JA, 0, 0, 6),
        // IPv6 without further headers.
        op(JEQ, 1, 0, IPV6),
        op(RET, 0, 0, 0),
        op(LDB_ABS, 0, 0, 6),
        op(JEQ, 1, 0, TCP),
        op(RET, 0, 0, 0),
        op(LDX, 0, 0, 40),
    ];
    if ports.len() <= PORTS {
        // Both port lists, the second load and the rejection stand before the accepting instruction.
        let each = ports.len();
        for (list, at) in [0u32, 2].into_iter().enumerate() {
            ops.push(op(LDH_IND, 0, 0, at));
            for (index, port) in ports.iter().enumerate() {
                let behind = if list == 0 { each + 1 } else { 0 };
                let left = each - index + behind;
                ops.push(op(JEQ, u8::try_from(left).unwrap_or(u8::MAX), 0, u32::from(*port)));
            }
        }
        ops.push(op(RET, 0, 0, 0));
    }
    ops.extend([
        op(LDB_IND, 0, 0, 12),
        op(AND, 0, 0, 0xf0),
        op(RSH, 0, 0, 2),
        op(ADD_X, 0, 0, 0),
        op(ADD, 0, 0, payload),
        op(RET_A, 0, 0, 0),
    ]);
    ops
}

#[cfg(test)]
mod tests {
    use super::super::frame::tests::packet;
    use super::*;

    /// Executes a filter as the kernel does: returns how many bytes of a packet the filter accepts. A load beyond the
    /// packet's end accepts none.
    fn run(ops: &[BpfInstruction], bytes: &[u8], protocol: u32, kind: u32, way: u32) -> u32 {
        let mut at = 0usize;
        let mut a = 0u32;
        let mut x = 0u32;
        let byte = |at: u32| bytes.get(at as usize).map(|byte| u32::from(*byte));
        loop {
            let BpfInstruction { code, jt, jf, k } = ops[at];
            at += 1;
            let half = |at: u32| Some(byte(at)? << 8 | byte(at + 1)?);
            let loaded = match code {
                LD_ABS => match k {
                    PROTOCOL => Some(protocol),
                    KIND => Some(kind),
                    DIRECTION => Some(way),
                    other => panic!("{other:#x}"),
                },
                LDB_ABS => byte(k),
                LDH_ABS => half(k),
                LDB_IND => byte(x + k),
                LDH_IND => half(x + k),
                LDX_HEADER => {
                    x = byte(k).unwrap() % 16 * 4;
                    continue;
                }
                LDX => {
                    x = k;
                    continue;
                }
                JEQ | JSET => {
                    let holds = if code == JEQ { a == k } else { a & k != 0 };
                    at += usize::from(if holds { jt } else { jf });
                    continue;
                }
                JA => {
                    at += k as usize;
                    continue;
                }
                AND => Some(a & k),
                RSH => Some(a >> k),
                ADD => Some(a + k),
                ADD_X => Some(a + x),
                RET_A => return a,
                RET => return k,
                other => panic!("{other:#x}"),
            };
            let Some(value) = loaded else { return 0 };
            a = value;
        }
    }

    fn keeps(ports: &[u16], from: &str, to: &str) -> u32 {
        let ops = filter(&ports.iter().copied().collect(), 0);
        let protocol = if from.starts_with('[') { IPV6 } else { IPV4 };
        run(&ops, &packet(from, to, b"payload"), protocol, 1, 0)
    }

    #[test]
    fn ports_on_either_side_pass_and_headers_are_kept() {
        for (ports, from, to, kept) in [
            (&[80][..], "192.0.2.1:1000", "192.0.2.2:80", 40),
            (&[80], "192.0.2.1:80", "192.0.2.2:1000", 40),
            (&[80], "192.0.2.1:81", "192.0.2.2:1000", 0),
            (&[80], "[2001:db8::1]:1000", "[2001:db8::2]:80", 60),
            (&[80], "[2001:db8::1]:1000", "[2001:db8::2]:81", 0),
            (&[], "192.0.2.1:1000", "192.0.2.2:80", 0),
        ] {
            assert_eq!(keeps(ports, from, to), kept, "{ports:?} {from} {to}");
        }
    }

    #[test]
    fn every_port_of_many_is_found_on_both_sides() {
        let ports: Vec<u16> = (1..=PORTS as u16).map(|n| n * 7).collect();
        for port in 1..=PORTS as u16 * 7 + 1 {
            let wanted = if ports.contains(&port) { 40 } else { 0 };
            assert_eq!(keeps(&ports, &format!("192.0.2.1:{port}"), "192.0.2.2:60000"), wanted);
            assert_eq!(keeps(&ports, "192.0.2.1:60000", &format!("192.0.2.2:{port}")), wanted);
        }
        let more: Vec<u16> = (1..=PORTS as u16 + 1).collect();
        assert_eq!(
            keeps(&more, "192.0.2.1:60000", "192.0.2.2:50000"),
            40,
            "too many to tell apart"
        );
    }

    #[test]
    fn what_is_no_first_packet_of_tcp_does_not_pass() {
        let ops = filter(&[80].into(), 100);
        let good = packet("192.0.2.1:1000", "192.0.2.2:80", b"payload");
        assert_eq!(run(&ops, &good, IPV4, 1, OUTGOING), 140);
        assert_eq!(run(&ops, &good, IPV4, LOOPBACK, OUTGOING), 0, "it comes again");
        assert_eq!(run(&ops, &good, IPV4, LOOPBACK, 0), 140);
        assert_eq!(run(&ops, &good, 0x0806, 1, 0), 0);
        let mut udp = good.clone();
        udp[9] = 17;
        assert_eq!(run(&ops, &udp, IPV4, 1, 0), 0);
        let mut fragment = good.clone();
        fragment[7] = 9;
        assert_eq!(run(&ops, &fragment, IPV4, 1, 0), 0);
        let mut six = packet("[2001:db8::1]:1000", "[2001:db8::2]:80", b"");
        six[6] = 58;
        assert_eq!(run(&ops, &six, IPV6, 1, 0), 0);
        for length in 0..good.len() {
            assert!(run(&ops, &good[..length], IPV4, 1, 0) <= 140);
        }
    }
}
