//! A set of processors, and the two forms in which the kernel writes one.

use std::collections::BTreeSet;
use std::fmt;

use thiserror::Error;

/// Processors above this are rejected: no kernel supports more (`CONFIG_NR_CPUS`).
const MOST: u32 = 8_192;

/// A set of processors. Its text is the kernel's list form: `0-3,8`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct CpuMask(BTreeSet<u32>);

#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "`{0}` is no set of processors: expected words of hexadecimal digits such as 00000000,0000000f, or a list such as 0-3,8"
)]
pub struct CpuMaskError(String);

impl CpuMask {
    /// Parses a mask of /sys: words of 32 bits separated by commas, the highest first.
    pub fn from_hex(text: &str) -> Result<CpuMask, CpuMaskError> {
        let bad = || CpuMaskError(text.trim().to_owned());
        let mut set = BTreeSet::new();
        let mut base = 0;
        for word in text.trim().rsplit(',') {
            let bits = u32::from_str_radix(word, 16).map_err(|_| bad())?;
            if word.len() > 8 || base >= MOST {
                return Err(bad());
            }
            set.extend((0..32).filter(|bit| bits >> bit & 1 == 1).map(|bit| base + bit));
            base += 32;
        }
        Ok(CpuMask(set))
    }

    /// Parses a list: `0-3,8`. An empty text is the empty set.
    pub fn from_list(text: &str) -> Result<CpuMask, CpuMaskError> {
        let bad = || CpuMaskError(text.trim().to_owned());
        let mut set = BTreeSet::new();
        for part in text.trim().split(',').filter(|part| !part.is_empty()) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let first: u32 = first.parse().map_err(|_| bad())?;
            let last: u32 = last.parse().map_err(|_| bad())?;
            if first > last || last >= MOST {
                return Err(bad());
            }
            set.extend(first..=last);
        }
        Ok(CpuMask(set))
    }

    /// The mask for /sys: words of 32 bits separated by commas, the highest first.
    pub fn hex(&self) -> String {
        let mut words = vec![0_u32; self.0.last().map_or(1, |last| *last as usize / 32 + 1)];
        for processor in &self.0 {
            words[*processor as usize / 32] |= 1 << (processor % 32);
        }
        let mut words = words.iter().rev();
        let first = words.next().map_or_else(String::new, |word| format!("{word:x}"));
        words.fold(first, |text, word| format!("{text},{word:08x}"))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn contains(&self, processor: u32) -> bool {
        self.0.contains(&processor)
    }

    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().copied()
    }
}

impl FromIterator<u32> for CpuMask {
    fn from_iter<T: IntoIterator<Item = u32>>(processors: T) -> CpuMask {
        CpuMask(processors.into_iter().collect())
    }
}

impl fmt::Display for CpuMask {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut runs: Vec<(u32, u32)> = Vec::new();
        for processor in self.iter() {
            match runs.last_mut() {
                Some((_, last)) if *last + 1 == processor => *last = processor,
                _ => runs.push((processor, processor)),
            }
        }
        for (at, (first, last)) in runs.iter().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            match first == last {
                true => write!(out, "{comma}{first}")?,
                false => write!(out, "{comma}{first}-{last}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_kernels_forms_are_read() {
        let rows: [(&str, &[u32]); 5] = [
            ("0", &[]),
            ("3\n", &[0, 1]),
            ("00000000,0000000f", &[0, 1, 2, 3]),
            ("1,00000000", &[32]),
            ("80000000,00000001", &[0, 63]),
        ];
        for (text, wanted) in rows {
            let read = CpuMask::from_hex(text).map(|mask| mask.iter().collect::<Vec<_>>());
            assert_eq!(read, Ok(wanted.to_vec()), "{text}");
        }
        let list = CpuMask::from_list("0-3,8,40\n").map(|mask| mask.hex());
        assert_eq!(list, Ok("100,0000010f".to_owned()));
        assert_eq!(CpuMask::from_list("\n"), Ok(CpuMask::default()));
    }

    #[test]
    fn invalid_masks_are_rejected_by_name() {
        for text in ["", "g", "123456789", "0x3"] {
            assert!(CpuMask::from_hex(text).is_err(), "{text}");
        }
        for text in ["3-1", "a", "1-", "0-4000000000", "-3"] {
            assert!(CpuMask::from_list(text).is_err(), "{text}");
        }
        let message = CpuMask::from_list("3-1").map_err(|error| error.to_string());
        assert!(message.is_err_and(|message| message.starts_with("`3-1` is no set of processors")));
    }

    proptest! {
        #[test]
        fn both_mask_forms_are_equivalent(set in proptest::collection::btree_set(0_u32..300, 0..40)) {
            let mask = CpuMask(set);
            prop_assert_eq!(CpuMask::from_hex(&mask.hex()), Ok(mask.clone()));
            prop_assert_eq!(CpuMask::from_list(&mask.to_string()), Ok(mask));
        }

        #[test]
        fn no_text_is_fatal(text in ".{0,40}") {
            let _ = CpuMask::from_hex(&text);
            let _ = CpuMask::from_list(&text);
        }
    }
}
