//! The senders whose PROXY protocol headers are trusted.

use crate::value::{self, KeyValue};

use super::scope::DirectiveScope;

/// The block in which a listener stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyPlane {
    Http,
    Stream,
}

/// `accept-proxy`: the networks of `set_real_ip_from` if nginx takes the client's address from the PROXY protocol
/// header. Otherwise all networks.
pub fn accept_proxy(scope: &DirectiveScope<'_>, plane: ProxyPlane) -> String {
    let believed = scope.all_of(&["real_ip_header", "set_real_ip_from"]);
    believed.iter().for_each(|one| one.mark_converted());
    let mut networks = senders(scope, plane);
    if networks.is_empty() {
        networks = vec!["0.0.0.0/0", "::/0"];
    }
    value::table(&[KeyValue::new("from", value::quote_all(&networks))])
}

/// Whether nginx takes the client's address from the header.
pub fn is_believed(scope: &DirectiveScope<'_>, plane: ProxyPlane) -> bool {
    !senders(scope, plane).is_empty()
}

/// The networks whose headers nginx takes the client's address from. In `stream` there is no other source.
fn senders<'t>(scope: &DirectiveScope<'t>, plane: ProxyPlane) -> Vec<&'t str> {
    let named = scope.get("real_ip_header").is_some_and(|one| one.word(0) == "proxy_protocol");
    let by_header = named || plane == ProxyPlane::Stream;
    let networks = scope.all("set_real_ip_from").into_iter().map(|one| one.word(0));
    networks.filter(|network| by_header && !network.starts_with("unix")).collect()
}
