//! Packed capture files: gzip, zstd and lz4, recognised by their first bytes and unpacked in bounded memory.
//!
//! A file that is cut short ends where the cut is. One that unpacks to absurdly much is refused with the position.

use std::io::{self, BufReader, Cursor, Read};

use flate2::read::MultiGzDecoder;

use super::counted_reader::CountedReader;
use super::zstd_frames::ZstdFrames;

/// Bytes that recognise a format.
const MAGIC_BYTES: usize = 4;
/// How gzip begins (RFC 1952, 2.3.1).
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// How a frame of LZ4 begins (LZ4 Frame Format 1.6.4).
const LZ4: [u8; 4] = [0x04, 0x22, 0x4d, 0x18];
/// Buffer between a file and its unpacking.
const READ_AHEAD: usize = 256 * 1024;
/// Bytes that a file may unpack to, however small it is.
const FREE_BYTES: u64 = 64 << 20;
/// How many times its size a larger file may unpack to. Deflate cannot exceed 1,032; captures stay far below.
const MAX_EXPANSION: u64 = 1_100;

/// A file from its first byte, after some bytes were examined.
type RewoundFile<R> = io::Chain<Cursor<Vec<u8>>, R>;
/// The packed bytes, counted.
type PackedBytes<R> = CountedReader<BufReader<RewoundFile<R>>>;

pub enum UnpackedFile<R: Read> {
    Plain(RewoundFile<R>),
    Packed(Box<LimitedUnpacker<R>>),
}

/// A packed file, with what came out of it.
pub struct LimitedUnpacker<R: Read> {
    from: FileUnpacker<R>,
    unpacked: u64,
}

enum FileUnpacker<R: Read> {
    Gzip(MultiGzDecoder<PackedBytes<R>>),
    Zstd(Box<ZstdFrames<PackedBytes<R>>>),
    Lz4(lz4_flex::frame::FrameDecoder<PackedBytes<R>>),
}

impl<R: Read> UnpackedFile<R> {
    /// Recognises the format.
    ///
    /// # Errors
    /// The file's first bytes cannot be read.
    pub fn open(mut from: R) -> io::Result<UnpackedFile<R>> {
        let mut first = vec![0; MAGIC_BYTES];
        let mut have = 0;
        while have < first.len() {
            match from.read(&mut first[have..]) {
                Ok(0) => break,
                Ok(n) => have += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        first.truncate(have);
        let magic = first.clone();
        let rewound = Cursor::new(first).chain(from);
        let counted = |rewound| CountedReader {
            from: BufReader::with_capacity(READ_AHEAD, rewound),
            taken: 0,
            has_ended: false,
        };
        let from = match magic {
            magic if magic.starts_with(&GZIP) => {
                FileUnpacker::Gzip(MultiGzDecoder::new(counted(rewound)))
            }
            magic if magic == LZ4 => {
                FileUnpacker::Lz4(lz4_flex::frame::FrameDecoder::new(counted(rewound)))
            }
            magic if ZstdFrames::<R>::begins(&magic) => {
                FileUnpacker::Zstd(Box::new(ZstdFrames::new(counted(rewound))))
            }
            _ => return Ok(UnpackedFile::Plain(rewound)),
        };
        Ok(UnpackedFile::Packed(Box::new(LimitedUnpacker { from, unpacked: 0 })))
    }
}

impl<R: Read> Read for UnpackedFile<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            UnpackedFile::Plain(from) => from.read(into),
            UnpackedFile::Packed(from) => from.read(into),
        }
    }
}

impl<R: Read> Read for LimitedUnpacker<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let (n, taken) = match &mut self.from {
            FileUnpacker::Gzip(from) => (from.read(into)?, from.get_ref().taken),
            FileUnpacker::Zstd(from) => (from.read(into)?, from.packed().taken),
            FileUnpacker::Lz4(from) => {
                let mut n = from.read(into)?;
                // It stops after each frame; another one may follow.
                while n == 0 && !into.is_empty() && !from.get_ref().has_ended {
                    n = from.read(into)?;
                }
                (n, from.get_ref().taken)
            }
        };
        self.unpacked += n as u64;
        if self.unpacked > FREE_BYTES && self.unpacked / MAX_EXPANSION > taken {
            let text = format!(
                "the file unpacks to more than {MAX_EXPANSION} times its size; expected a capture"
            );
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
        Ok(n)
    }
}
