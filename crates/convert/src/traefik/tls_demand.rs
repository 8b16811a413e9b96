//! What the routers of an entry point require of its TLS.

use super::option_tree::OptionNode;

/// What one router asks of TLS.
#[derive(Clone, Debug)]
pub struct TlsDemand<'t> {
    /// The names in the router's rule.
    pub names: Vec<String>,
    /// The rule takes nothing but these names.
    pub is_bound: bool,
    /// The table of options that holds for the router.
    pub options: Option<&'t OptionNode>,
    /// `tls` of the router or of the entry point.
    pub node: Option<&'t OptionNode>,
}

/// The demands of an entry point's routers, in their order.
#[derive(Default)]
pub struct TlsDemands<'t> {
    demands: Vec<TlsDemand<'t>>,
    /// What the first that asks clients for certificates wants of them.
    client: Option<ClientAuthKind>,
}

/// What a client has to show.
#[derive(Debug, PartialEq, Eq)]
struct ClientAuthKind {
    kind: String,
    files: Vec<String>,
}

impl<'t> TlsDemands<'t> {
    pub fn push(&mut self, demand: TlsDemand<'t>) {
        self.client = self.client.take().or_else(|| demand.options.and_then(client_kind));
        self.demands.push(demand);
    }

    pub fn as_slice(&self) -> &[TlsDemand<'t>] {
        &self.demands
    }

    /// Whether clients of a router with these options show certificates of the same authorities, in the same manner, as
    /// those of the routers before. Options that ask for none agree with all.
    pub fn agrees_about_clients(&self, options: Option<&OptionNode>) -> bool {
        let Some(known) = &self.client else { return true };
        options.and_then(client_kind).is_none_or(|other| other == *known)
    }
}

fn client_kind(options: &OptionNode) -> Option<ClientAuthKind> {
    let client = client_table(options)?;
    let files = client.texts_of("caFiles").into_iter().map(|one| one.text).collect();
    Some(ClientAuthKind { kind: client.text_of("clientAuthType")?.to_owned(), files })
}

/// `clientAuth` that verifies or requires a certificate.
pub fn client_table(options: &OptionNode) -> Option<&OptionNode> {
    let client = options.get("clientAuth")?;
    let kind = client.text_of("clientAuthType").unwrap_or("NoClientCert");
    (!matches!(kind, "NoClientCert" | "RequestClientCert" | "")).then_some(client)
}
