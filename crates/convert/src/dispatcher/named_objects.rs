//! Objects by name, in the order of the commands that added them.

use std::collections::{BTreeSet, HashMap};

/// Objects that commands look up, add and remove by name.
#[derive(Debug)]
pub struct NamedObjects<T> {
    /// Removed objects leave an empty place.
    places: Vec<Option<T>>,
    by_name: HashMap<String, usize>,
}

impl<T> Default for NamedObjects<T> {
    fn default() -> NamedObjects<T> {
        NamedObjects { places: Vec::new(), by_name: HashMap::new() }
    }
}

impl<T> NamedObjects<T> {
    /// The object of this name, made if there is none.
    pub fn get_or_add(&mut self, name: &str, make: impl FnOnce() -> T) -> Option<&mut T> {
        let at = match self.by_name.get(name) {
            Some(at) => *at,
            None => {
                self.places.push(Some(make()));
                self.by_name.insert(name.to_owned(), self.places.len() - 1);
                self.places.len() - 1
            }
        };
        self.places.get_mut(at).and_then(Option::as_mut)
    }

    pub fn remove(&mut self, name: &str) {
        if let Some(place) = self.by_name.remove(name).and_then(|at| self.places.get_mut(at)) {
            *place = None;
        }
    }

    /// The objects of these names, in their own order.
    pub fn among(&self, names: &[String]) -> Vec<&T> {
        let places: BTreeSet<&usize> =
            names.iter().filter_map(|name| self.by_name.get(name)).collect();
        places.into_iter().filter_map(|at| self.places.get(*at)?.as_ref()).collect()
    }

    /// The objects in their order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.places.iter().flatten()
    }
}
