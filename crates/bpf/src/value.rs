//! Keys and values of maps as Rust values: to bytes and back. It touches no map.

pub trait MapValue: Sized {
    const SIZE: usize;

    fn write(&self, out: &mut [u8]);

    fn read(bytes: &[u8]) -> Self;

    fn bytes(&self) -> Vec<u8> {
        let mut out = vec![0; Self::SIZE];
        self.write(&mut out);
        out
    }
}

impl MapValue for u32 {
    /// Bytes of the type.
    const SIZE: usize = 4;

    fn write(&self, out: &mut [u8]) {
        out[..4].copy_from_slice(&self.to_ne_bytes());
    }

    fn read(bytes: &[u8]) -> u32 {
        u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
    }
}

impl MapValue for u64 {
    /// Bytes of the type.
    const SIZE: usize = 8;

    fn write(&self, out: &mut [u8]) {
        out[..8].copy_from_slice(&self.to_ne_bytes());
    }

    fn read(bytes: &[u8]) -> u64 {
        let mut word = [0; 8];
        word.copy_from_slice(&bytes[..8]);
        u64::from_ne_bytes(word)
    }
}
