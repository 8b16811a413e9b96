//! Writes pcapng files: one section with a comment, one interface of bare IP packets, packets with optional comments.
//!
//! Source: draft-ietf-opsawg-pcapng. Blocks are written in order, so a truncated file is readable up to its end. The
//! caller decides what to write.

use std::io::{self, Write};

/// Bare IPv4 and IPv6 (LINKTYPE_RAW).
const RAW: u16 = 101;
/// The limit of a comment in bytes. Longer comments are cut.
pub const COMMENT_BYTES: usize = 1_024;

/// Types of blocks and the byte-order magic of pcapng (draft-ietf-opsawg-pcapng, section 4).
const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const STATISTICS: u32 = 5;
const ENHANCED: u32 = 6;
const ORDER: u32 = 0x1a2b_3c4d;

/// Codes of options: comments in every block, application in the section header, name and resolution of an interface,
/// drops in its statistics (the same draft).
const OPTION_COMMENT: u16 = 1;
const OPTION_APPLICATION: u16 = 4;
const OPTION_NAME: u16 = 2;
const OPTION_DROPS: u16 = 5;
const OPTION_RESOLUTION: u16 = 9;

#[derive(Clone, Copy, Debug)]
pub struct OutputPacket<'a> {
    /// When it passed, nanoseconds since 1970.
    pub at_ns: u64,
    /// From its IP header on; perhaps less than there was.
    pub bytes: &'a [u8],
    /// Bytes that there were.
    pub original: u32,
    /// The comment; empty if there is none.
    pub comment: &'a str,
}

/// A file that is being written.
#[derive(Debug)]
pub struct PcapngWriter<W> {
    to: W,
    written: u64,
    block: Vec<u8>,
}

impl<W: Write> PcapngWriter<W> {
    /// Starts the file. `comment`: its description; `snaplen`: the most bytes of a packet, 0 for all.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn begin(to: W, comment: &str, snaplen: u32) -> io::Result<PcapngWriter<W>> {
        let mut file = PcapngWriter { to, written: 0, block: Vec::new() };
        let mut body = ORDER.to_le_bytes().to_vec();
        body.extend([1, 0, 0, 0]);
        // The section's length is unspecified, because it is not known yet.
        body.extend(u64::MAX.to_le_bytes());
        write_option(&mut body, OPTION_COMMENT, truncate_comment(comment).as_bytes());
        write_option(&mut body, OPTION_APPLICATION, b"steelyard");
        write_option_end(&mut body);
        file.write_block(SECTION, &body)?;
        let mut body = RAW.to_le_bytes().to_vec();
        body.extend([0, 0]);
        body.extend(snaplen.to_le_bytes());
        write_option(&mut body, OPTION_NAME, b"any");
        // Nanoseconds.
        write_option(&mut body, OPTION_RESOLUTION, &[9]);
        write_option_end(&mut body);
        file.write_block(INTERFACE, &body)?;
        Ok(file)
    }

    /// Adds a packet.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write_packet(&mut self, packet: &OutputPacket<'_>) -> io::Result<()> {
        let captured_length = u32::try_from(packet.bytes.len()).unwrap_or(u32::MAX);
        let mut body = Vec::with_capacity(packet.bytes.len() + 64);
        body.extend(0u32.to_le_bytes());
        body.extend(((packet.at_ns >> 32) as u32).to_le_bytes());
        body.extend((packet.at_ns as u32).to_le_bytes());
        body.extend(captured_length.to_le_bytes());
        body.extend(packet.original.max(captured_length).to_le_bytes());
        body.extend_from_slice(packet.bytes);
        pad_to_four(&mut body);
        if !packet.comment.is_empty() {
            write_option(&mut body, OPTION_COMMENT, truncate_comment(packet.comment).as_bytes());
            write_option_end(&mut body);
        }
        self.write_block(ENHANCED, &body)
    }

    /// Ends the file; `drops`: packets that the kernel could not hand over.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn finish(mut self, at_ns: u64, drops: u64) -> io::Result<W> {
        let mut body = 0u32.to_le_bytes().to_vec();
        body.extend(((at_ns >> 32) as u32).to_le_bytes());
        body.extend((at_ns as u32).to_le_bytes());
        write_option(&mut body, OPTION_DROPS, &drops.to_le_bytes());
        write_option_end(&mut body);
        self.write_block(STATISTICS, &body)?;
        self.to.flush()?;
        Ok(self.to)
    }

    pub fn written(&self) -> u64 {
        self.written
    }

    fn write_block(&mut self, kind: u32, body: &[u8]) -> io::Result<()> {
        let length = u32::try_from(body.len() + 12).unwrap_or(u32::MAX).to_le_bytes();
        self.block.clear();
        self.block.extend(kind.to_le_bytes());
        self.block.extend(length);
        self.block.extend_from_slice(body);
        self.block.extend(length);
        self.written += self.block.len() as u64;
        self.to.write_all(&self.block)
    }
}

/// The comment of a file's first section, as `begin` writes it. `None` if there is none.
pub fn read_comment(bytes: &[u8]) -> Option<String> {
    let word = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    if word(0)? != SECTION || word(8)? != ORDER {
        return None;
    }
    let head = word(24)?;
    let code = head as u16;
    let length = (head >> 16) as usize;
    let text = bytes.get(28..28 + length).filter(|_| code == OPTION_COMMENT)?;
    Some(String::from_utf8_lossy(text).into_owned())
}

fn write_option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    body.extend(code.to_le_bytes());
    body.extend(u16::try_from(value.len()).unwrap_or(u16::MAX).to_le_bytes());
    body.extend_from_slice(value);
    pad_to_four(body);
}

fn write_option_end(body: &mut Vec<u8>) {
    body.extend([0; 4]);
}

/// To a multiple of four.
fn pad_to_four(body: &mut Vec<u8>) {
    body.resize(body.len().next_multiple_of(4), 0);
}

fn truncate_comment(text: &str) -> &str {
    let mut most = text.len().min(COMMENT_BYTES);
    while !text.is_char_boundary(most) {
        most -= 1;
    }
    &text[..most]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::input::CaptureReader;

    type OutputRow = (u64, Vec<u8>, u32, String);

    fn write(rows: &[OutputRow], title: &str) -> Vec<u8> {
        let mut file = PcapngWriter::begin(Vec::new(), title, 0).unwrap();
        for (at_ns, bytes, original, comment) in rows {
            let packet = OutputPacket { at_ns: *at_ns, bytes, original: *original, comment };
            file.write_packet(&packet).unwrap();
        }
        let written = file.written();
        let all = file.finish(7, 3).unwrap();
        assert!(all.len() as u64 > written);
        all
    }

    proptest! {
        #[test]
        fn encoding_round_trips(
            rows in proptest::collection::vec(
                (0..i64::MAX as u64, proptest::collection::vec(any::<u8>(), 0..90), 0..70_000u32, "\\PC{0,40}"),
                0..20,
            ),
            title in "\\PC{1,60}",
        ) {
            let file = write(&rows, &title);
            prop_assert_eq!(read_comment(&file), Some(truncate_comment(&title).to_owned()));
            let mut read = CaptureReader::open(&file[..]).unwrap();
            for (at_ns, bytes, original, _) in &rows {
                let frame = read.frame().unwrap().unwrap();
                prop_assert_eq!((frame.time_ns, frame.link, frame.bytes), (*at_ns as i64, RAW, &bytes[..]));
                prop_assert_eq!(frame.original_len, (*original).max(bytes.len() as u32));
            }
            prop_assert!(read.frame().unwrap().is_none());
            prop_assert_eq!(read.drops(), 3);
        }

        #[test]
        fn no_bytes_are_mistaken_for_a_comment(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            let _ = read_comment(&bytes);
        }
    }

    #[test]
    fn comments_are_cut_between_letters() {
        let long = "ä".repeat(COMMENT_BYTES);
        assert_eq!(read_comment(&write(&[], &long)).unwrap().len(), COMMENT_BYTES);
        assert_eq!(truncate_comment(&format!("a{long}")).len(), COMMENT_BYTES - 1);
        assert_eq!(read_comment(b"\x0a\x0d\x0d\x0a"), None);
    }
}
