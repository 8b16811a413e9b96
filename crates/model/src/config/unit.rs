//! Quantities with units as operators write them: times, sizes and rates.
//!
//! Each parses from text, and `Display` prints the canonical form. A number without a unit is rejected, because it
//! would be ambiguous. The schema defines the bounds.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use thiserror::Error;

/// A duration; written as `"30s"`, `"250ms"`, `"1h30m"`, `"1.5s"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time(pub Duration);

/// A number of bytes; written as `"64KiB"`, `"1MB"`, `"512B"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByteSize(pub u64);

/// Bits per second; written as `"10Gbit/s"`, `"7.5Mbit/s"`, `"1MB/s"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BitsPerSecond(pub u64);

/// Parts per million; written as a percentage: `"99.9%"`, `"50%"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Percentage(pub u64);

impl Percentage {
    /// 100 percent in parts per million: four decimals of a percentage are exact.
    pub const WHOLE: u64 = 1_000_000;
}

/// Why a text is not a quantity.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum UnitError {
    /// A number without a unit.
    #[error("the unit is missing")]
    NoUnit,
    /// A unit without a number.
    #[error("a number is missing")]
    NoNumber,
    /// An unknown unit.
    #[error("`{0}` is not a unit of this kind")]
    Unknown(String),
    /// Parts in the wrong order, or twice: `"1s1h"`, `"1s2s"`.
    #[error("parts stand from the largest unit to the smallest, each once")]
    Order,
    /// More decimals than the smallest part has.
    #[error("it is finer than the smallest part")]
    TooFine,
    /// The value exceeds the type's range.
    #[error("it is too large")]
    TooLarge,
}

type UnitScale = (&'static str, u128);

/// In nanoseconds, largest first.
const TIMES: [UnitScale; 7] = [
    ("d", 86_400_000_000_000),
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];
/// In bytes; binary units first because the canonical form prefers them.
const SIZES: [UnitScale; 9] = [
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1_000),
    ("B", 1),
];
/// In bits per second.
const RATES: [UnitScale; 5] = [
    ("Tbit/s", 1_000_000_000_000),
    ("Gbit/s", 1_000_000_000),
    ("Mbit/s", 1_000_000),
    ("kbit/s", 1_000),
    ("bit/s", 1),
];
/// Accepted, but never printed.
const RATES_IN_BYTES: [UnitScale; 4] =
    [("GB/s", 8_000_000_000), ("MB/s", 8_000_000), ("kB/s", 8_000), ("B/s", 8)];

impl FromStr for Time {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Time, UnitError> {
        let mut rest = text;
        let mut total: u128 = 0;
        let mut below = u128::MAX;
        loop {
            let (number, tail) = split_number(rest)?;
            let end = tail.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(tail.len());
            let (name, tail) = tail.split_at(end);
            let scale = lookup_unit(name, &TIMES, &[])?;
            if scale >= below {
                return Err(UnitError::Order);
            }
            below = scale;
            total = total.checked_add(apply_scale(number, scale)?).ok_or(UnitError::TooLarge)?;
            if tail.is_empty() {
                break;
            }
            rest = tail;
        }
        let nanos = total % 1_000_000_000;
        let seconds = u64::try_from(total / 1_000_000_000).map_err(|_| UnitError::TooLarge)?;
        Ok(Time(Duration::new(seconds, u32::try_from(nanos).unwrap_or_default())))
    }
}

impl FromStr for ByteSize {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<ByteSize, UnitError> {
        parse_quantity(text, &SIZES, &[("KB", 1_000)]).map(ByteSize)
    }
}

impl FromStr for Percentage {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Percentage, UnitError> {
        parse_quantity(text, &[("%", u128::from(Percentage::WHOLE / 100))], &[]).map(Percentage)
    }
}

impl FromStr for BitsPerSecond {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<BitsPerSecond, UnitError> {
        parse_quantity(text, &RATES, &RATES_IN_BYTES).map(BitsPerSecond)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut left = self.0.as_nanos();
        if left == 0 {
            return to.write_str("0s");
        }
        for (name, scale) in TIMES {
            if left >= scale {
                write!(to, "{}{name}", left / scale)?;
                left %= scale;
            }
        }
        Ok(())
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_whole(self.0, &SIZES, to)
    }
}

impl fmt::Display for BitsPerSecond {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_whole(self.0, &RATES, to)
    }
}

impl fmt::Display for Percentage {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = Percentage::WHOLE / 100;
        let part = format!("{:04}", self.0 % percent);
        let part = part.trim_end_matches('0');
        let point = if part.is_empty() { "" } else { "." };
        write!(to, "{}{point}{part}%", self.0 / percent)
    }
}

/// A rate with one decimal for messages: `2.0 Mbit/s`.
pub fn rounded_rate(bits_per_second: u64) -> String {
    for (name, scale) in RATES {
        let scale = u64::try_from(scale).unwrap_or(1);
        if bits_per_second >= scale && scale > 1 {
            let tenths =
                (u128::from(bits_per_second) * 10 + u128::from(scale / 2)) / u128::from(scale);
            return format!("{}.{} {name}", tenths / 10, tenths % 10);
        }
    }
    format!("{bits_per_second} bit/s")
}

/// Mantissa and number of decimals.
type DecimalNumber = (u128, u32);

fn split_number(text: &str) -> Result<(DecimalNumber, &str), UnitError> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() || part.contains('.') || (digits.len() > whole.len() && part.is_empty()) {
        return Err(UnitError::NoNumber);
    }
    if whole.len() + part.len() > 24 {
        return Err(UnitError::TooLarge);
    }
    let mantissa = format!("{whole}{part}").parse().map_err(|_| UnitError::NoNumber)?;
    let places = u32::try_from(part.len()).map_err(|_| UnitError::TooLarge)?;
    Ok(((mantissa, places), rest.trim_start_matches(' ')))
}

fn apply_scale((mantissa, places): DecimalNumber, scale: u128) -> Result<u128, UnitError> {
    let total = mantissa.checked_mul(scale).ok_or(UnitError::TooLarge)?;
    let divisor = 10u128.pow(places);
    if total % divisor != 0 {
        return Err(UnitError::TooFine);
    }
    Ok(total / divisor)
}

fn parse_quantity(text: &str, units: &[UnitScale], more: &[UnitScale]) -> Result<u64, UnitError> {
    let (number, name) = split_number(text)?;
    let total = apply_scale(number, lookup_unit(name, units, more)?)?;
    u64::try_from(total).map_err(|_| UnitError::TooLarge)
}

fn lookup_unit(name: &str, units: &[UnitScale], more: &[UnitScale]) -> Result<u128, UnitError> {
    if name.is_empty() {
        return Err(UnitError::NoUnit);
    }
    let found = units.iter().chain(more).find(|(known, _)| *known == name);
    found
        .map(|(_, scale)| *scale)
        // 16 characters are longer than every unit and show what was written instead of one.
        .ok_or_else(|| UnitError::Unknown(name.chars().take(16).collect()))
}

fn write_whole(value: u64, units: &[UnitScale], to: &mut fmt::Formatter<'_>) -> fmt::Result {
    let value = u128::from(value);
    let fits = units.iter().find(|(_, scale)| value >= *scale && value % scale == 0);
    match fits.or(units.last()) {
        Some((name, scale)) => write!(to, "{}{name}", value / scale),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
