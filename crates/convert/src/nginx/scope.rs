//! Directives in force at a place: the innermost level that has one counts.

use super::tree::Directive;

/// Levels from the outermost to the innermost.
#[derive(Clone, Debug, Default)]
pub struct DirectiveScope<'t> {
    levels: Vec<&'t [Directive]>,
}

impl<'t> DirectiveScope<'t> {
    /// One level further in.
    pub fn nested(&self, level: &'t [Directive]) -> DirectiveScope<'t> {
        let mut levels = self.levels.clone();
        levels.push(level);
        DirectiveScope { levels }
    }

    /// The directive in force.
    pub fn get(&self, name: &str) -> Option<&'t Directive> {
        self.all(name).pop()
    }

    /// All of a name, of the innermost level that has any.
    pub fn all(&self, name: &str) -> Vec<&'t Directive> {
        self.all_of(&[name])
    }

    /// All of these names in their order, of the innermost level that has any.
    pub fn all_of(&self, names: &[&str]) -> Vec<&'t Directive> {
        let of = |level: &&'t [Directive]| -> Vec<&'t Directive> {
            level.iter().filter(|one| names.contains(&one.name.as_str())).collect()
        };
        self.levels.iter().rev().map(of).find(|found| !found.is_empty()).unwrap_or_default()
    }

    /// A time in milliseconds; bare numbers are seconds.
    pub fn time(&self, name: &str) -> Option<(u64, u32)> {
        let directive = self.get(name)?;
        let ms = crate::duration::parse_duration(directive.word(0), 1_000)?;
        (ms > 0).then_some((ms, directive.line))
    }
}
