//! The socket filter of duplicate address detection: ARP with an address of ours as the sender's, and neighbour
//! advertisements of it. It opens nothing: `rx_socket` does.

use std::net::IpAddr;

use socket2::SockFilter;

use super::rx_socket::{
    BESIDE_TAG, BESIDE_TYPE, JUMP_EQUAL, LOAD_BYTE, LOAD_HALF, OUTGOING, RETURN,
};

/// Opcodes of classic BPF (the kernel's uapi header linux/bpf_common.h): LD|W|ABS and JMP|JA.
const LOAD_WORD: u16 = 0x20;
const JUMP: u16 = 0x05;
/// As much of a frame as there is.
const ALL: u32 = 0xffff;

/// Accepts ARP and neighbour discovery frames from outside that claim one of these addresses.
pub fn duplicate_filter(addresses: &[IpAddr]) -> Vec<SockFilter> {
    let step = |code, yes, no, value| SockFilter::new(code, yes, no, value);
    let take = || step(RETURN, 0, 0, ALL);
    let leave = || step(RETURN, 0, 0, 0);
    let mut v4 = vec![step(LOAD_WORD, 0, 0, 28)];
    let mut v6 = Vec::new();
    for ip in addresses {
        match ip {
            IpAddr::V4(ip) => v4.extend([step(JUMP_EQUAL, 0, 1, u32::from(*ip)), take()]),
            IpAddr::V6(ip) => {
                let words = ip.octets();
                // A mismatch jumps out of the block of nine instructions.
                for (at, word) in words.chunks_exact(4).enumerate() {
                    let word = word.iter().fold(0, |sum, byte| (sum << 8) | u32::from(*byte));
                    let from = [62, 66, 70, 74][at];
                    let over = [7, 5, 3, 1][at];
                    v6.extend([step(LOAD_WORD, 0, 0, from), step(JUMP_EQUAL, 0, over, word)]);
                }
                v6.push(take());
            }
        }
    }
    v4.push(leave());
    v6.push(leave());
    let length = u32::try_from(v4.len()).unwrap_or(u32::MAX);
    let mut out = vec![
        step(LOAD_BYTE, 0, 0, BESIDE_TYPE),
        step(JUMP_EQUAL, 0, 1, OUTGOING),
        leave(),
        step(LOAD_BYTE, 0, 0, BESIDE_TAG),
        step(JUMP_EQUAL, 1, 0, 0),
        leave(),
        step(LOAD_HALF, 0, 0, 12),
        step(JUMP_EQUAL, 1, 0, 0x0806),
        step(JUMP, 0, 0, length),
    ];
    out.extend(v4);
    out.extend([
        step(JUMP_EQUAL, 1, 0, 0x86dd),
        leave(),
        step(LOAD_BYTE, 0, 0, 20),
        step(JUMP_EQUAL, 1, 0, 58),
        leave(),
        step(LOAD_BYTE, 0, 0, 54),
        step(JUMP_EQUAL, 1, 0, 136),
        leave(),
    ]);
    out.extend(v6);
    out
}
