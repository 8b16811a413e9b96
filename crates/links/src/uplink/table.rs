//! Values of the maps of `bpf/uplink.bpf.c`, to bytes and back. The program defines their meaning.

use bpf::MapValue;

use super::packet_mark::{MarkBits, UPLINKS};
use super::uplink_wheel::TURNS;

/// Interfaces in the program's map.
const INTERFACES: usize = UPLINKS as usize;

/// The settings of the programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UplinkSettings {
    /// The network namespace whose sockets are marked.
    pub network_namespace: u64,
    /// The bits of marks; `None`: nothing is marked.
    pub marks: Option<MarkBits>,
    /// Numbers of uplinks that are up, a bit each, for IPv4 and IPv6.
    pub alive: [u32; 2],
    /// Whether forwarded connections end with their uplink, because they use its address.
    pub pins_source: [bool; 2],
    /// The interfaces of the uplinks; 0: none.
    pub interfaces: [u32; INTERFACES],
}

impl MapValue for UplinkSettings {
    /// The fixed fields and a word for each interface, as in the BPF program.
    const SIZE: usize = 32 + 4 * INTERFACES;

    fn write(&self, out: &mut [u8]) {
        self.network_namespace.write(out);
        let marks = self.marks;
        marks.map_or(0, |marks| u32::from(marks.bit)).write(&mut out[8..]);
        marks.map_or(0, MarkBits::mask).write(&mut out[12..]);
        self.alive[0].write(&mut out[16..]);
        self.alive[1].write(&mut out[20..]);
        u32::from(self.pins_source[0]).write(&mut out[24..]);
        u32::from(self.pins_source[1]).write(&mut out[28..]);
        for (to, one) in out[32..].chunks_exact_mut(4).zip(self.interfaces) {
            one.write(to);
        }
    }

    fn read(bytes: &[u8]) -> UplinkSettings {
        let word = |at: usize| u32::read(&bytes[at..]);
        let bit = u8::try_from(word(8)).unwrap_or(u8::MAX);
        let mut interfaces = [0; INTERFACES];
        for (one, from) in interfaces.iter_mut().zip(bytes[32..].chunks_exact(4)) {
            *one = u32::read(from);
        }
        UplinkSettings {
            network_namespace: u64::read(bytes),
            marks: (word(12) != 0).then_some(MarkBits { bit }),
            alive: [word(16), word(20)],
            pins_source: [word(24) != 0, word(28) != 0],
            interfaces,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WheelTurns(pub [u8; TURNS]);

impl MapValue for WheelTurns {
    const SIZE: usize = TURNS;

    fn write(&self, out: &mut [u8]) {
        out[..TURNS].copy_from_slice(&self.0);
    }

    fn read(bytes: &[u8]) -> WheelTurns {
        let mut turns = [0; TURNS];
        turns.copy_from_slice(&bytes[..TURNS]);
        WheelTurns(turns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoding_round_trips() {
        let settings = UplinkSettings {
            network_namespace: 7,
            marks: Some(MarkBits { bit: 24 }),
            alive: [2, 4],
            pins_source: [true, false],
            interfaces: [9, 8, 7, 6, 5, 4, 3, 2],
        };
        assert_eq!((UplinkSettings::SIZE, settings.bytes().len()), (64, 64));
        assert_eq!(UplinkSettings::read(&settings.bytes()), settings);
        let none = UplinkSettings { marks: None, ..settings };
        assert_eq!(UplinkSettings::read(&none.bytes()), none);
        let turns = WheelTurns(std::array::from_fn(|at| at as u8));
        assert_eq!(WheelTurns::read(&turns.bytes()), turns);
    }
}
