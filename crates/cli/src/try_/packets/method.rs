//! The methods that are shown, and their order. It carries none of them out.

/// How a service is reached, in the order in which it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DemoMethod {
    /// Without a balancer: the client connects to a server directly.
    Direct,
    /// Direct return on the same subnet.
    Mac,
    /// Both directions translated.
    Nat,
    /// Direct server return across routers.
    Tunnel,
    /// Proxied requests.
    Http,
}

impl DemoMethod {
    pub const ALL: [DemoMethod; 5] = [
        DemoMethod::Direct,
        DemoMethod::Mac,
        DemoMethod::Nat,
        DemoMethod::Tunnel,
        DemoMethod::Http,
    ];

    /// The value in the configuration; `direct` has none.
    pub fn name(self) -> &'static str {
        match self {
            DemoMethod::Direct => "direct",
            DemoMethod::Mac => "mac",
            DemoMethod::Nat => "nat",
            DemoMethod::Tunnel => "tunnel",
            DemoMethod::Http => "http",
        }
    }
}
