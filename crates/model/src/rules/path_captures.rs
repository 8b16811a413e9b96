//! What the condition of a rule captured of a request's path.

/// Parts of the path that a rewrite or a redirect can name.
#[derive(Clone, Copy, Debug)]
pub struct PathCaptures<'p> {
    /// What the last `*` of the rule's path stood for.
    pub rest: &'p [u8],
    /// Groups of the rule's expression, from the first on.
    pub groups: [&'p [u8]; 9],
}
