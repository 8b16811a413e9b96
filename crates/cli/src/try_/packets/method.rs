//! The methods that are shown, and their order. It carries none of them out.

/// How a service is reached, in the order in which it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Without a balancer: the client asks a server itself.
    Direct,
    /// Direct return on the same subnet.
    Mac,
    /// Both directions translated.
    Nat,
    /// Direct return across routers.
    Tunnel,
    /// Proxied requests.
    Http,
}

impl Method {
    /// All of them.
    pub const ALL: [Method; 5] =
        [Method::Direct, Method::Mac, Method::Nat, Method::Tunnel, Method::Http];

    /// The word of the configuration; `direct` is none.
    pub fn name(self) -> &'static str {
        match self {
            Method::Direct => "direct",
            Method::Mac => "mac",
            Method::Nat => "nat",
            Method::Tunnel => "tunnel",
            Method::Http => "http",
        }
    }
}
