//! Random draws in proportion to weights in constant time: Walker's alias method in integers, so that the proportions
//! are exact.
//!
//! It knows positions and weights, no servers.

use super::rng::Rng;

/// A table to draw positions from.
#[derive(Clone, Debug)]
pub(super) struct AliasTable {
    columns: Vec<AliasColumn>,
    /// The sum of the weights: the height of each column.
    height: u64,
    /// All weights are the same.
    pub is_uniform: bool,
}

/// A draw in this column below `threshold` selects the column's own position, above it the alias.
#[derive(Clone, Copy, Debug)]
struct AliasColumn {
    threshold: u64,
    alias: u32,
}

impl AliasTable {
    /// From the weights by position; each must be above 0.
    pub fn new(weights: &[u16]) -> AliasTable {
        let count = weights.len() as u64;
        let height: u64 = weights.iter().map(|w| u64::from(*w)).sum();
        let even = weights.windows(2).all(|pair| pair[0] == pair[1]);
        // Each position brings weight × count to columns that are `height` high: all are full in the end.
        let mut rest: Vec<u64> = weights.iter().map(|w| u64::from(*w) * count).collect();
        let mut columns: Vec<AliasColumn> = (0..weights.len())
            .map(|at| AliasColumn { threshold: height, alias: at as u32 })
            .collect();
        let (mut low, mut high): (Vec<usize>, Vec<usize>) =
            (0..rest.len()).partition(|at| rest[*at] < height);
        while let (Some(poor), Some(rich)) = (low.pop(), high.last().copied()) {
            columns[poor] = AliasColumn { threshold: rest[poor], alias: rich as u32 };
            rest[rich] -= height - rest[poor];
            if rest[rich] < height {
                high.pop();
                low.push(rich);
            }
        }
        AliasTable { columns, height, is_uniform: even }
    }

    /// A position, in proportion to its weight; 0 if the table is empty.
    #[inline]
    pub fn draw(&self, rng: &mut Rng) -> usize {
        let at = rng.below(self.columns.len() as u64) as usize;
        match self.columns.get(at) {
            Some(column) if !self.is_uniform && rng.below(self.height) >= column.threshold => {
                column.alias as usize
            }
            _ => at,
        }
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.columns.len()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{AliasTable, Rng};

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn areas_are_exactly_the_weights(weights in prop::collection::vec(1u16..=256, 1..40)) {
            let table = AliasTable::new(&weights);
            let mut area = vec![0u64; weights.len()];
            for (at, column) in table.columns.iter().enumerate() {
                prop_assert!(column.threshold <= table.height);
                area[at] += column.threshold;
                area[column.alias as usize] += table.height - column.threshold;
            }
            for (area, weight) in area.iter().zip(&weights) {
                prop_assert_eq!(*area, u64::from(*weight) * weights.len() as u64);
            }
        }
    }

    #[test]
    fn draws_follow_the_areas() {
        let table = AliasTable::new(&[1, 2, 5]);
        let mut rng = Rng::new(3);
        let mut seen = [0u32; 3];
        for _ in 0..80_000 {
            seen[table.draw(&mut rng)] += 1;
        }
        for (seen, ideal) in seen.iter().zip([10_000u32, 20_000, 50_000]) {
            assert!(seen.abs_diff(ideal) < 600, "{seen} for {ideal}");
        }
        assert_eq!(AliasTable::new(&[]).draw(&mut rng), 0);
    }
}
