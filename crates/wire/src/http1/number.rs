//! Writes numbers and addresses into a head without allocation.

use std::io::Write;
use std::net::IpAddr;

pub(crate) fn decimal(mut value: u64, out: &mut Vec<u8>) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// Appends `value` in lower-case hexadecimal.
pub(crate) fn hexadecimal(value: u64, out: &mut Vec<u8>) {
    let digits = (64 - value.leading_zeros()).div_ceil(4).max(1);
    for digit in (0..digits).rev() {
        let nibble = (value >> (digit * 4)) as u8 & 15;
        out.push(if nibble < 10 { b'0' + nibble } else { b'a' + nibble - 10 });
    }
}

/// Appends an address without brackets; an IPv4-mapped IPv6 address is written as IPv4.
pub(crate) fn address(address: IpAddr, out: &mut Vec<u8>) {
    match address.to_canonical() {
        IpAddr::V4(v4) => {
            for (at, octet) in v4.octets().into_iter().enumerate() {
                if at > 0 {
                    out.push(b'.');
                }
                decimal(octet.into(), out);
            }
        }
        // Writing to a vector cannot fail.
        IpAddr::V6(v6) => drop(write!(out, "{v6}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_as_the_standard_formatting() {
        for value in [0, 1, 9, 10, 15, 16, 255, 256, 4096, 65_535, u64::MAX] {
            let mut out = Vec::new();
            decimal(value, &mut out);
            out.push(b' ');
            hexadecimal(value, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), format!("{value} {value:x}"));
        }
        for text in ["0.0.0.0", "192.0.2.10", "255.255.255.255", "::1", "2001:db8::a"] {
            let mut out = Vec::new();
            address(text.parse().unwrap(), &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), text);
        }
        let mut out = Vec::new();
        address("::ffff:192.0.2.1".parse().unwrap(), &mut out);
        assert_eq!(out, b"192.0.2.1");
    }
}
