//! Whose address the matchers `remote_ip` and `client_ip` see, beside that which rules see.

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClientAddressView {
    /// All see the address of the connection.
    #[default]
    Connection,
    /// Rules and `client_ip` see the client that trusted proxies name, `remote_ip` sees the proxy.
    Named,
    /// `client_ip` sees a client that proxies name in a way that is not written, the others see the proxy.
    Unknown,
}
