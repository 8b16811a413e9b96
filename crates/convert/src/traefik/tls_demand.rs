//! What one router requires of the TLS of its entry point.

use super::option_tree::OptionNode;

/// What one router asks of TLS.
#[derive(Clone, Debug)]
pub struct TlsDemand<'t> {
    /// The names in the router's rule.
    pub names: Vec<String>,
    /// The table of options that holds for the router.
    pub options: Option<&'t OptionNode>,
    /// `tls` of the router or of the entry point.
    pub node: Option<&'t OptionNode>,
}
