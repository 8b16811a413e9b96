//! The parts of a request's path that the condition of a rule captured.

/// Parts of the path that a rewrite or a redirect can name.
#[derive(Clone, Copy, Debug)]
pub struct PathCaptures<'p> {
    /// The text that the last `*` of the rule's path matched.
    pub rest: &'p [u8],
    /// Groups of the rule's expression, from the first on.
    pub groups: [&'p [u8]; 9],
}
