//! URLs of `ProxyPass` and of members of balancers.

/// A URL that requests are forwarded to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxyPassUrl {
    /// `http`, `https`, `h2`, `h2c` or `balancer`; `ws` and `wss` are `http` and `https`.
    pub scheme: String,
    /// Host and port as they are written; `unix:` and a path for a socket.
    pub authority: String,
    /// The Host that the server is asked for, without the usual port.
    pub host: String,
    /// The path, or an empty text.
    pub path: String,
}

impl ProxyPassUrl {
    /// Reads a URL. `None`: it is none, or of a protocol that is not spoken.
    pub fn read(text: &str) -> Option<ProxyPassUrl> {
        if let Some(socket) = text.strip_prefix("unix:") {
            let parts = socket.split_once('|')?;
            let inner = ProxyPassUrl::read(parts.1)?;
            let authority = format!("unix:{}", parts.0);
            return (inner.scheme == "http").then_some(ProxyPassUrl { authority, ..inner });
        }
        let parts = text.split_once("://")?;
        let scheme = match parts.0.to_ascii_lowercase().as_str() {
            "http" | "ws" => "http",
            "https" | "wss" => "https",
            "h2" => "h2",
            "h2c" => "h2c",
            "balancer" => "balancer",
            _ => return None,
        };
        let end = parts.1.find('/').unwrap_or(parts.1.len());
        let authority = parts.1[..end].to_ascii_lowercase();
        let path = &parts.1[end..];
        let bad = |text: &str| text.contains(['$', '{', '%', '@', '?', '#', '*']);
        if authority.is_empty() || bad(&authority) {
            return None;
        }
        let usual = if matches!(scheme, "https" | "h2") { ":443" } else { ":80" };
        let host = authority.strip_suffix(usual).unwrap_or(&authority).to_owned();
        Some(ProxyPassUrl { scheme: scheme.to_owned(), authority, host, path: path.to_owned() })
    }

    pub fn is_tls(&self) -> bool {
        matches!(self.scheme.as_str(), "https" | "h2")
    }

    /// The address with its port.
    pub fn address(&self) -> String {
        if self.authority.starts_with("unix:") {
            return self.authority.clone();
        }
        let host_end = self.authority.rfind(']').unwrap_or(0);
        match self.authority[host_end..].contains(':') {
            true => self.authority.clone(),
            false => format!("{}:{}", self.authority, if self.is_tls() { 443 } else { 80 }),
        }
    }
}
