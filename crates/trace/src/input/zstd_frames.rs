//! The frames of a zstd file, one after the other, with a bound on their windows (RFC 8878, 3.1).

use std::io::{self, Cursor, Read};

use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use super::counted_reader::CountedReader;

/// How a frame begins.
const FRAME: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// How a skippable frame begins, without the low four bits of the first byte.
const SKIPPABLE: [u8; 4] = [0x50, 0x2a, 0x4d, 0x18];
/// The largest window in bytes: what every level of zstd without `--long` uses at most (RFC 8878, 3.1.1.1.2).
const MAX_WINDOW: u64 = 8 << 20;
/// The fields of a frame's header after its magic number are no longer than this.
const MAX_FIELDS: usize = 14;

pub struct ZstdFrames<R> {
    from: R,
    decoder: FrameDecoder,
    is_open: bool,
}

impl<R> ZstdFrames<R> {
    /// Whether a file begins so.
    pub fn begins(magic: &[u8]) -> bool {
        magic == FRAME || is_skippable(magic)
    }

    pub fn new(from: R) -> ZstdFrames<R> {
        ZstdFrames { from, decoder: FrameDecoder::new(), is_open: false }
    }

    pub fn packed(&self) -> &R {
        &self.from
    }
}

fn is_skippable(magic: &[u8]) -> bool {
    matches!(magic, [first, rest @ ..] if first & 0xf0 == SKIPPABLE[0] && rest == &SKIPPABLE[1..])
}

impl<R: Read> Read for ZstdFrames<CountedReader<R>> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.is_open {
                let n = self.read_frame(into)?;
                if n > 0 || into.is_empty() {
                    return Ok(n);
                }
                self.is_open = false;
            }
            if !self.open_frame()? {
                return Ok(0);
            }
        }
    }
}

impl<R: Read> ZstdFrames<CountedReader<R>> {
    /// Bytes of the open frame; 0: it has ended.
    fn read_frame(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
            let blocks = BlockDecodingStrategy::UptoBlocks(1);
            if let Err(error) = self.decoder.decode_blocks(&mut self.from, blocks) {
                return Err(self.damage(error.to_string()));
            }
        }
        self.decoder.read(into)
    }

    /// Begins the next frame. False: the file has ended.
    fn open_frame(&mut self) -> io::Result<bool> {
        let mut magic = [0; 4];
        loop {
            let have = self.from.by_ref().take(1).read(&mut magic[..1])?;
            if have == 0 {
                return Ok(false);
            }
            self.from.read_exact(&mut magic[1..])?;
            if !is_skippable(&magic) {
                break;
            }
            let mut length = [0; 4];
            self.from.read_exact(&mut length)?;
            let length = u64::from(u32::from_le_bytes(length));
            if io::copy(&mut self.from.by_ref().take(length), &mut io::sink())? < length {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        if magic != FRAME {
            return Err(self.damage(format!("found {magic:02x?}, expected a frame of zstd")));
        }
        let mut fields = vec![0; 1];
        self.from.read_exact(&mut fields)?;
        let header = ZstdFrameHeader::of(fields[0]);
        fields.resize(header.length().min(MAX_FIELDS), 0);
        self.from.read_exact(&mut fields[1..])?;
        let window = header.window(&fields);
        if window > MAX_WINDOW {
            return Err(self.damage(format!(
                "the window of zstd has {window} bytes, expected at most {MAX_WINDOW}: pack it again without `--long` and `--ultra`"
            )));
        }
        let whole = Cursor::new([&FRAME[..], &fields].concat());
        if let Err(error) = self.decoder.reset(whole) {
            return Err(self.damage(error.to_string()));
        }
        self.is_open = true;
        Ok(true)
    }

    /// An error of unpacking. What ended early was cut.
    fn damage(&self, text: String) -> io::Error {
        match self.from.has_ended {
            true => io::ErrorKind::UnexpectedEof.into(),
            false => io::Error::new(io::ErrorKind::InvalidData, text),
        }
    }
}

/// The descriptor of a frame's header (RFC 8878, 3.1.1.1.1).
struct ZstdFrameHeader {
    single_segment: bool,
    dictionary_bytes: usize,
    content_size_bytes: usize,
}

impl ZstdFrameHeader {
    fn of(descriptor: u8) -> ZstdFrameHeader {
        let single_segment = descriptor & 0x20 != 0;
        ZstdFrameHeader {
            single_segment,
            dictionary_bytes: [0, 1, 2, 4][usize::from(descriptor & 3)],
            content_size_bytes: match (descriptor >> 6, single_segment) {
                (0, single) => usize::from(single),
                (bits, _) => 1 << bits,
            },
        }
    }

    /// The descriptor and the fields after it.
    fn length(&self) -> usize {
        1 + usize::from(!self.single_segment) + self.dictionary_bytes + self.content_size_bytes
    }

    /// The bytes that the decoder has to keep.
    fn window(&self, fields: &[u8]) -> u64 {
        if !self.single_segment {
            let byte = u64::from(fields.get(1).copied().unwrap_or_default());
            let base = 1 << (10 + (byte >> 3));
            return base + base / 8 * (byte & 7);
        }
        let size = fields.get(1 + self.dictionary_bytes..).unwrap_or_default();
        let mut wide = [0; 8];
        let n = size.len().min(8);
        wide[..n].copy_from_slice(&size[..n]);
        let offset = if self.content_size_bytes == 2 { 256 } else { 0 };
        u64::from_le_bytes(wide).saturating_add(offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_those_of_the_format() {
        let rows: [(&[u8], usize, u64); 5] = [
            (&[0x00, 0x00], 2, 1 << 10),
            (&[0x00, 0x6f], 2, (8 << 20) / 8 * 15),
            (&[0x20, 200], 2, 200),
            (&[0x60, 0, 1], 3, 512),
            (&[0x03 | 0x80, 8, 1, 2, 3, 4, 5, 6, 7, 8], 10, 2048),
        ];
        for (fields, length, window) in rows {
            let header = ZstdFrameHeader::of(fields[0]);
            assert_eq!((header.length(), header.window(fields)), (length, window), "{fields:02x?}");
        }
    }
}
