//! Drives a BPF program with packets of many flows: `bpf/vary.bpf.c`, which the kernel's test run repeats.
//!
//! It only needs the program's descriptor.

use std::error::Error;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use libbpf_rs::{MapCore, MapFlags, Object, ObjectBuilder, ProgramInput};

/// Bytes of a packet.
pub const LENGTH: usize = 64;
/// The flag that opens a connection.
pub const SYN: u8 = 2;
/// The service's address, 198.51.100.10.
pub const SERVICE: [u8; 4] = [198, 51, 100, 10];

/// XDP_TX and XDP_REDIRECT: the packet was forwarded.
const SENT: [u32; 2] = [3, 4];

static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/vary.bpf.o"));

/// The change that a program must make. The cost of a program that does less would be meaningless.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpectedPacket {
    /// Only link addresses changed.
    Relinked,
    /// The packet is encapsulated in an IPv4 header of 20 bytes.
    Wrapped,
    /// Source and destination address changed.
    Translated,
}

#[derive(Debug)]
pub struct DriverTarget<'a> {
    pub program: BorrowedFd<'a>,
    /// Whether the program accepts multi-buffer packets.
    pub frags: bool,
    pub expected: ExpectedPacket,
}

#[derive(Debug)]
pub struct PacketDriver {
    object: Object,
    frags: bool,
}

impl PacketDriver {
    pub fn new() -> Result<PacketDriver, Box<dyn Error>> {
        let object = ObjectBuilder::default().open_memory(OBJECT)?.load()?;
        Ok(PacketDriver { object, frags: false })
    }

    /// Sets the program to drive.
    pub fn aim(&mut self, aim: &DriverTarget) -> Result<(), Box<dyn Error>> {
        self.frags = aim.frags;
        let fd = aim.program.as_raw_fd().to_ne_bytes();
        self.update(if aim.frags { "frags" } else { "plain" }, &fd)
    }

    /// Sets one of the driver's own programs.
    pub fn aim_at_own(&mut self, name: &str) -> Result<(), Box<dyn Error>> {
        let program = self.object.progs_mut().find(|program| program.name() == name);
        let program = program.ok_or(format!("no program {name}"))?;
        let fd = program.as_fd().as_raw_fd().to_ne_bytes();
        self.frags = false;
        self.update("plain", &fd)
    }

    /// Runs the program with this many packets and flows; returns mean nanoseconds. Fails unless every packet is
    /// forwarded.
    pub fn run(
        &self,
        packet: &[u8; LENGTH],
        flows: u32,
        in_order: bool,
        packets: u32,
    ) -> Result<f64, Box<dyn Error>> {
        let plan = [
            &flows.to_ne_bytes()[..],
            &u32::from(in_order).to_ne_bytes(),
            &0u64.to_ne_bytes(),
            packet,
        ];
        self.update("plans", &plan.concat())?;
        let program = self.program()?;
        let input =
            ProgramInput { data_in: Some(packet), repeat: packets, ..ProgramInput::default() };
        let output = program.test_run(input)?;
        if !SENT.contains(&output.return_value) {
            return Err(format!("a packet was not sent on: verdict {}", output.return_value).into());
        }
        // The kernel reports whole nanoseconds.
        Ok(output.duration.as_nanos() as f64)
    }

    /// Fails unless the program changes a packet as expected.
    pub fn check_output(&self, sent: ExpectedPacket) -> Result<(), Box<dyn Error>> {
        let before = packet(SYN);
        self.run(&before, 1, true, 1)?;
        let mut out = [0; 2 * LENGTH];
        let program = self.program()?;
        let input = ProgramInput {
            data_in: Some(&before),
            data_out: Some(&mut out),
            ..ProgramInput::default()
        };
        let output = program.test_run(input)?;
        let after = output.data.map(|data| data.to_vec()).unwrap_or_default();
        let address = |bytes: &[u8], at: usize| bytes.get(at..at + 4).map(<[u8]>::to_vec);
        let service = Some(SERVICE.to_vec());
        let moved = after.get(..6) != before.get(..6);
        let right = match sent {
            ExpectedPacket::Relinked => {
                after.len() == LENGTH && address(&after, 30) == service && moved
            }
            ExpectedPacket::Wrapped => {
                after.len() == LENGTH + 20 && address(&after, 50) == service && moved
            }
            ExpectedPacket::Translated => {
                after.len() == LENGTH && address(&after, 30) != service && moved
            }
        };
        if right { Ok(()) } else { Err(format!("it does not do this: {sent:?}").into()) }
    }

    fn program(&self) -> Result<libbpf_rs::ProgramMut<'_>, Box<dyn Error>> {
        let name = if self.frags { "vary_frags" } else { "vary_plain" };
        let program = self.object.progs_mut().find(|program| program.name() == name);
        Ok(program.ok_or(format!("no program {name}"))?)
    }

    fn update(&self, map: &str, value: &[u8]) -> Result<(), Box<dyn Error>> {
        let found = self.object.maps().find(|one| one.name() == map);
        let found = found.ok_or(format!("no map {map}"))?;
        Ok(found.update(&0u32.to_ne_bytes(), value, MapFlags::ANY)?)
    }
}

/// A TCP packet for the service over IPv4 with these flags besides ACK; the driver fills in its source.
pub fn packet(flags: u8) -> [u8; LENGTH] {
    let mut bytes = [0; LENGTH];
    bytes[..6].copy_from_slice(&[2, 0, 0, 0, 0, 1]);
    bytes[6..12].copy_from_slice(&[2, 0, 0, 0, 0, 9]);
    bytes[12..14].copy_from_slice(&[0x08, 0x00]);
    bytes[14..24].copy_from_slice(&[0x45, 0, 0, 50, 0, 1, 0x40, 0, 64, 6]);
    bytes[30..34].copy_from_slice(&SERVICE);
    bytes[36..38].copy_from_slice(&80u16.to_be_bytes());
    bytes[46] = 5 << 4;
    bytes[47] = if flags == SYN { SYN } else { 16 };
    bytes[48..50].copy_from_slice(&1024u16.to_be_bytes());
    bytes
}
