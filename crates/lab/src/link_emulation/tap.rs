//! Captures the packets at one end of a link until the capture is read.
//!
//! It stores bytes and does not interpret them.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use trace::output::{OutputPacket, PcapngWriter};

/// A capture; clones share it.
#[derive(Clone, Debug, Default)]
pub struct LinkTap {
    buffer: Arc<Mutex<TapBuffer>>,
}

/// A packet that passed, without its Ethernet header.
#[derive(Debug)]
struct TappedPacket {
    /// Nanoseconds since 1970.
    at_ns: u64,
    bytes: Vec<u8>,
}

#[derive(Debug, Default)]
struct TapBuffer {
    packets: Vec<TappedPacket>,
    bytes: usize,
    beyond: u64,
}

/// Largest number of stored bytes; further packets are counted as dropped.
const MOST_BYTES: usize = 256 << 20;
/// Bytes of the Ethernet header.
const LINK: usize = 14;

impl LinkTap {
    pub fn record_frame(&self, frame: &[u8]) {
        // The capture's link type is raw IP.
        let kind = frame.get(12..LINK);
        if kind != Some(&[0x08, 0x00]) && kind != Some(&[0x86, 0xdd]) {
            return;
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let at_ns = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
        let mut buffer = self.buffer.lock().unwrap_or_else(PoisonError::into_inner);
        if buffer.bytes + frame.len() > MOST_BYTES {
            buffer.beyond += 1;
            return;
        }
        buffer.bytes += frame.len();
        buffer.packets.push(TappedPacket { at_ns, bytes: frame[LINK..].to_vec() });
    }

    /// Returns the packets since the last call, as a pcapng file.
    pub fn take_capture(&self, comment: &str) -> Vec<u8> {
        let buffer =
            std::mem::take(&mut *self.buffer.lock().unwrap_or_else(PoisonError::into_inner));
        let write = || {
            let mut file = PcapngWriter::begin(Vec::new(), comment, 0)?;
            for TappedPacket { at_ns, bytes } in &buffer.packets {
                let original = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
                file.write_packet(&OutputPacket { at_ns: *at_ns, bytes, original, comment: "" })?;
            }
            let last = buffer.packets.last().map_or(0, |packet| packet.at_ns);
            file.finish(last, buffer.beyond)
        };
        // Writing to memory does not fail.
        write().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::input::CaptureReader;

    #[test]
    fn what_passed_is_a_capture_once() {
        let tap = LinkTap::default();
        let mut frame = vec![0; 60];
        tap.record_frame(&frame);
        frame[12] = 0x08;
        frame[LINK] = 0x45;
        tap.clone().record_frame(&frame);
        tap.record_frame(&frame[..5]);
        let file = tap.take_capture("two hosts");
        let mut capture = CaptureReader::open(file.as_slice()).unwrap();
        let first = capture.frame().unwrap().unwrap();
        assert_eq!(first.bytes, &frame[LINK..]);
        assert!(capture.frame().unwrap().is_none());
        let second_capture = tap.take_capture("nothing more");
        assert!(CaptureReader::open(second_capture.as_slice()).unwrap().frame().unwrap().is_none());
    }
}
