//! The published hash: SipHash-2-4 under a fixed key, with a tag for each purpose.
//!
//! Every member of a fleet, every plane and every version must compute the same numbers, so key and form are part of
//! the product's contract. The key is the 16 ASCII bytes `steelyard-maglev`. The message is the value's bytes followed
//! by one tag byte. The result is the 64-bit SipHash-2-4 of the message.
//!
//! Test vectors are in `tests/vectors/maglev.json`. Since the key is public, the hash gives no protection against
//! chosen values.

use std::hash::Hasher;
use std::net::{IpAddr, SocketAddr};

use siphasher::sip::SipHasher24;

pub const KEY: &[u8; 16] = b"steelyard-maglev";

/// What a hash is for; the tag byte that ends the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum HashPurpose {
    /// Where a server's permutation of the table begins. The value is the server's name in UTF-8.
    Offset = 0,
    /// The stride of a server's permutation. The value is the server's name in UTF-8.
    Stride = 1,
    /// A client's place in a table. The value is its address: 4 or 16 bytes in network order.
    Client = 2,
    /// A client's place by address and port. The value is the address, then the port in network order.
    ClientPort = 3,
    /// A request's place by one of its parts. The value is the part's bytes.
    Part = 4,
}

pub fn hash_name(name: &str, purpose: HashPurpose) -> u64 {
    let mut message = Vec::with_capacity(name.len() + 1);
    message.extend_from_slice(name.as_bytes());
    message.push(purpose as u8);
    SipHasher24::new_with_key(KEY).hash(&message)
}

/// An IPv4 address that is mapped into IPv6 (`::ffff:a.b.c.d`) is hashed as the IPv4 address.
#[inline]
pub fn hash_client(address: IpAddr) -> u64 {
    let mut message = [HashPurpose::Client as u8; 17];
    let length = match address.to_canonical() {
        IpAddr::V4(v4) => {
            message[..4].copy_from_slice(&v4.octets());
            5
        }
        IpAddr::V6(v6) => {
            message[..16].copy_from_slice(&v6.octets());
            17
        }
    };
    SipHasher24::new_with_key(KEY).hash(&message[..length])
}

#[inline]
pub fn hash_client_port(client: SocketAddr) -> u64 {
    let mut hasher = SipHasher24::new_with_key(KEY);
    match client.ip().to_canonical() {
        IpAddr::V4(v4) => hasher.write(&v4.octets()),
        IpAddr::V6(v6) => hasher.write(&v6.octets()),
    }
    hasher.write(&client.port().to_be_bytes());
    hasher.write(&[HashPurpose::ClientPort as u8]);
    hasher.finish()
}

#[inline]
pub fn hash_part(bytes: &[u8]) -> u64 {
    let mut hasher = SipHasher24::new_with_key(KEY);
    hasher.write(bytes);
    hasher.write(&[HashPurpose::Part as u8]);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_function_is_the_one_of_the_paper() {
        // "SipHash: a fast short-input PRF", appendix A: key 00..0f, message 00..0e.
        let key: [u8; 16] = std::array::from_fn(|at| at as u8);
        let message: [u8; 15] = std::array::from_fn(|at| at as u8);
        assert_eq!(SipHasher24::new_with_key(&key).hash(&message), 0xa129_ca61_49be_45e5);
    }

    #[test]
    fn what_is_written_in_pieces_is_the_whole() {
        assert_eq!(hash_part(b"shop"), SipHasher24::new_with_key(KEY).hash(b"shop\x04"));
        let client: SocketAddr = "192.0.2.1:258".parse().unwrap();
        let bytes = [192, 0, 2, 1, 1, 2, 3];
        assert_eq!(hash_client_port(client), SipHasher24::new_with_key(KEY).hash(&bytes));
        assert_eq!(
            hash_client_port(client),
            hash_client_port("[::ffff:192.0.2.1]:258".parse().unwrap())
        );
    }

    #[test]
    fn mapped_addresses_are_ipv4_and_uses_differ() {
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        assert_eq!(hash_client(address("::ffff:192.0.2.1")), hash_client(address("192.0.2.1")));
        assert_ne!(hash_client(address("192.0.2.1")), hash_client(address("192.0.2.2")));
        assert_ne!(hash_name("a", HashPurpose::Offset), hash_name("a", HashPurpose::Stride));
    }
}
