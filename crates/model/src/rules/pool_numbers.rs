//! Numbers the pools that the rules of a service name, in the order in which they are first named.

use std::collections::HashMap;

/// The pools so far. The first one is the service's own.
#[derive(Debug)]
pub struct PoolNumbers {
    names: Vec<String>,
    numbers: HashMap<String, usize>,
}

impl PoolNumbers {
    pub fn new(own: &str) -> PoolNumbers {
        let mut pools = PoolNumbers { names: Vec::new(), numbers: HashMap::new() };
        pools.number(own);
        pools
    }

    /// The number of a pool, a new one for a pool that was not named yet.
    pub fn number(&mut self, name: &str) -> usize {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = self.names.len();
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        number
    }

    /// The names by their numbers.
    pub fn into_names(self) -> Vec<String> {
        self.names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_keeps_its_first_number() {
        let mut pools = PoolNumbers::new("own");
        let numbers = ["a", "own", "b", "a"].map(|name| pools.number(name));
        assert_eq!(numbers, [1, 0, 2, 1]);
        assert_eq!(pools.into_names(), ["own", "a", "b"]);
    }
}
