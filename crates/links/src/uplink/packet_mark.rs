//! The numbers of uplinks, and their packet marks. Pure.

use std::collections::BTreeMap;

/// Uplinks at most; the same number as in the program.
pub const UPLINKS: u8 = 8;
/// Bits of a number.
/// Three bits hold eight numbers; the fourth leaves 0 for packets without an uplink.
const BITS: u32 = 4;

/// The bits of a packet's mark that belong to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MarkBits {
    pub bit: u8,
}

impl MarkBits {
    pub fn mask(self) -> u32 {
        // 27 is the highest bit at which five bits fit into 32; the configuration allows no higher one.
        ((1 << (BITS + 1)) - 1) << self.bit.min(27)
    }

    /// The mark of packets that take an uplink unless a nearer route exists.
    pub fn mark_for(self, number: u8) -> u32 {
        u32::from(number) << self.bit.min(27)
    }

    /// The mark of probes, which use the uplink's gateway regardless of other routes.
    pub fn strict_mark_for(self, number: u8) -> u32 {
        self.mark_for(number) | 1 << (u32::from(self.bit.min(27)) + BITS)
    }
}

/// Numbers of uplinks by name, from 1: each uplink has the same number as long as it exists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UplinkNumbers(BTreeMap<String, u8>);

impl UplinkNumbers {
    pub fn number_of(&self, name: &str) -> Option<u8> {
        self.0.get(name).copied()
    }

    pub fn all(&self) -> impl Iterator<Item = (&str, u8)> {
        self.0.iter().map(|(name, number)| (name.as_str(), *number))
    }

    /// Assigns numbers to these uplinks and frees the numbers of all others. `owners`: the name hash for each number,
    /// as an earlier process left them; 0 is free.
    pub fn assign_numbers<'n>(&mut self, names: impl Iterator<Item = &'n str>, owners: &[u64]) {
        let names: Vec<&str> = names.take(usize::from(UPLINKS)).collect();
        self.0.retain(|name, _| names.contains(&name.as_str()));
        for name in &names {
            let left = owners.iter().zip(0_u8..).find(|(owner, _)| **owner == name_hash(name));
            let left =
                left.map(|(_, number)| number).filter(|number| (1..=UPLINKS).contains(number));
            if let Some(number) = left.filter(|number| self.is_free(*number)) {
                self.0.entry((*name).to_owned()).or_insert(number);
            }
        }
        for name in names {
            if self.0.contains_key(name) {
                continue;
            }
            // Unused numbers come first: connections of a removed uplink can end meanwhile.
            let fresh =
                |number: &u8| owners.get(usize::from(*number)).is_none_or(|owner| *owner == 0);
            let free = |number: &u8| self.is_free(*number);
            let number =
                (1..=UPLINKS).filter(free).find(fresh).or_else(|| (1..=UPLINKS).find(free));
            if let Some(number) = number {
                self.0.insert(name.to_owned(), number);
            }
        }
    }

    fn is_free(&self, number: u8) -> bool {
        !self.0.values().any(|assigned| *assigned == number)
    }
}

/// A name in the kernel's map (FNV-1a), never 0.
pub fn name_hash(name: &str) -> u64 {
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    name.bytes().fold(0xcbf2_9ce4_8422_2325, mix).max(1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn marks_have_their_bits() {
        let marks = MarkBits { bit: 24 };
        assert_eq!(
            (marks.mask(), marks.mark_for(8), marks.strict_mark_for(1)),
            (0x1f00_0000, 0x0800_0000, 0x1100_0000)
        );
        assert_eq!(MarkBits { bit: 27 }.mask(), 0xf800_0000);
        assert_eq!(MarkBits { bit: 0 }.strict_mark_for(3), 0x13);
    }

    #[test]
    fn a_process_that_comes_next_finds_the_numbers() {
        let mut first = UplinkNumbers::default();
        first.assign_numbers(["b", "c"].into_iter(), &[]);
        let mut owners = [0; 9];
        for (name, number) in first.all() {
            owners[usize::from(number)] = name_hash(name);
        }
        let mut next = UplinkNumbers::default();
        next.assign_numbers(["a", "b", "c"].into_iter(), &owners);
        assert_eq!(
            (next.number_of("b"), next.number_of("c"), next.number_of("a")),
            (Some(1), Some(2), Some(3))
        );
        next.assign_numbers(["a", "c"].into_iter(), &owners);
        assert_eq!(
            (next.number_of("b"), next.number_of("c"), next.number_of("a")),
            (None, Some(2), Some(3))
        );
    }

    proptest! {
        #[test]
        fn each_has_one_of_its_own_and_keeps_it(
            steps in prop::collection::vec(prop::collection::btree_set("[a-l]", 0..9), 1..12),
            owners in prop::collection::vec(any::<u64>(), 0..9),
        ) {
            let mut numbers = UplinkNumbers::default();
            for names in steps {
                let before = numbers.clone();
                numbers.assign_numbers(names.iter().map(String::as_str), &owners);
                let all: Vec<u8> = numbers.all().map(|(_, number)| number).collect();
                let mut each = all.clone();
                each.sort_unstable();
                each.dedup();
                prop_assert_eq!(all.len(), names.len());
                prop_assert_eq!(each.len(), all.len());
                prop_assert!(all.iter().all(|number| (1..=UPLINKS).contains(number)));
                for (name, number) in before.all().filter(|(name, _)| names.contains(*name)) {
                    prop_assert_eq!(numbers.number_of(name), Some(number));
                }
            }
        }
    }
}
