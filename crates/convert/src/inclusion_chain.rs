//! What includes what: files, snippets and macros on the way to the text at hand. It finds those that include themselves.

/// The names from the first one to the text at hand.
#[derive(Debug, Default)]
pub struct InclusionChain {
    steps: Vec<InclusionStep>,
}

#[derive(Debug)]
struct InclusionStep {
    name: String,
    /// The line of the step before at which it is included.
    included_at: u32,
}

impl InclusionChain {
    pub fn enter(&mut self, name: &str, included_at: u32) {
        self.steps.push(InclusionStep { name: name.to_owned(), included_at });
    }

    pub fn leave(&mut self) {
        self.steps.pop();
    }

    /// The number of steps.
    pub fn depth(&self) -> usize {
        self.steps.len()
    }

    /// What is wrong with one more inclusion, at this line of the last step, of names that fit: the circle with its lines.
    /// `None`: it has an end.
    pub fn circle(&self, line: u32, fits: impl Fn(&str) -> bool) -> Option<String> {
        let first = self.steps.iter().position(|step| fits(&step.name))?;
        let steps = self.steps.get(first..)?;
        let lines = steps.iter().skip(1).map(|step| step.included_at).chain([line]);
        let mut text = String::from("the inclusion has no end: ");
        for (step, line) in steps.iter().zip(lines) {
            text.push_str(&format!("{}, line {line}, includes ", step.name));
        }
        text.push_str(&steps.first()?.name);
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_circle_is_told_from_its_first_name_on() {
        let mut chain = InclusionChain::default();
        chain.enter("main", 0);
        chain.enter("a", 7);
        chain.enter("b", 3);
        assert_eq!(chain.circle(9, |name| name == "c"), None);
        let told = chain.circle(9, |name| name == "a").unwrap_or_default();
        assert_eq!(told, "the inclusion has no end: a, line 3, includes b, line 9, includes a");
        chain.leave();
        assert_eq!(chain.circle(9, |name| name == "b"), None);
        assert_eq!(chain.depth(), 2);
    }
}
