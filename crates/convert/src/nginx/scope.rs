//! Directives in effect at a place: the innermost level that has a directive applies.

use crate::duration::{self, TimeSetting};
use std::cell::OnceCell;
use std::collections::HashMap;
use std::rc::Rc;

use super::tree::Directive;

/// Levels from the outermost to the innermost.
#[derive(Clone, Debug, Default)]
pub struct DirectiveScope<'t> {
    levels: Vec<Rc<ScopeLevel<'t>>>,
}

/// A level with an index of its directives by name. Without the index, a level with thousands of servers would be
/// scanned for each of them.
#[derive(Debug)]
struct ScopeLevel<'t> {
    directives: &'t [Directive],
    places: HashMap<&'t str, Vec<usize>>,
    /// The places of directives that guard, once they were asked for.
    guards: OnceCell<Vec<usize>>,
}

impl<'t> ScopeLevel<'t> {
    fn new(directives: &'t [Directive]) -> ScopeLevel<'t> {
        let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
        for (at, directive) in directives.iter().enumerate() {
            places.entry(&directive.name).or_default().push(at);
        }
        ScopeLevel { directives, places, guards: OnceCell::new() }
    }

    fn all_of(&self, names: &[&str]) -> Vec<&'t Directive> {
        let found = names.iter().filter_map(|name| self.places.get(name));
        let mut places: Vec<usize> = found.flatten().copied().collect();
        places.sort_unstable();
        places.into_iter().map(|at| &self.directives[at]).collect()
    }
}

impl<'t> DirectiveScope<'t> {
    /// This scope with one more inner level.
    pub fn nested(&self, level: &'t [Directive]) -> DirectiveScope<'t> {
        let mut levels = self.levels.clone();
        levels.push(Rc::new(ScopeLevel::new(level)));
        DirectiveScope { levels }
    }

    /// The scope of the server around a location: the levels `http` and `server`.
    pub fn server_level(&self) -> DirectiveScope<'t> {
        DirectiveScope { levels: self.levels.iter().take(2).cloned().collect() }
    }

    /// Whether the client's address comes from a field of the request.
    pub fn has_real_ip(&self) -> bool {
        let field = self.get("real_ip_header").map_or("X-Real-IP", |one| one.peek(0));
        self.get("set_real_ip_from").is_some() && field != "proxy_protocol"
    }

    /// Names of directives that guard, sorted. Each level is looked through once, since many locations share it.
    /// `is_guard` is also told whether a directive stands around all servers.
    pub fn guards(&self, is_guard: fn(&Directive, bool) -> bool) -> Vec<&'t str> {
        let mut out: Vec<&'t str> = Vec::new();
        for (at, level) in self.levels.iter().enumerate() {
            let found = level.guards.get_or_init(|| {
                let all = level.directives.iter().enumerate();
                all.filter(|(_, one)| is_guard(one, at == 0)).map(|(place, _)| place).collect()
            });
            out.extend(found.iter().map(|place| level.directives[*place].name.as_str()));
        }
        out.sort_unstable();
        out.dedup();
        out
    }

    /// The directive in effect, which is the last one of its level.
    pub fn get(&self, name: &str) -> Option<&'t Directive> {
        self.all(name).pop()
    }

    /// All directives of this name, from the innermost level that has any.
    pub fn all(&self, name: &str) -> Vec<&'t Directive> {
        self.all_of(&[name])
    }

    /// All directives of these names in file order, from the innermost level that has any.
    pub fn all_of(&self, names: &[&str]) -> Vec<&'t Directive> {
        let levels = self.levels.iter().rev();
        levels.map(|level| level.all_of(names)).find(|found| !found.is_empty()).unwrap_or_default()
    }

    /// All directives of these names, of the outermost level first.
    pub fn every(&self, names: &[&str]) -> Vec<&'t Directive> {
        self.levels.iter().flat_map(|level| level.all_of(names)).collect()
    }

    /// A time. A number without a unit counts as seconds. `None` for a time of 0.
    pub fn time(&self, name: &str) -> Option<TimeSetting> {
        let directive = self.get(name)?;
        let ms = duration::parse_duration(directive.word(0), 1_000)?;
        (ms > 0).then_some(TimeSetting { ms, source: directive.source })
    }
}
