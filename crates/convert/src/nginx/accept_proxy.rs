//! The senders whose PROXY protocol headers are trusted.

use crate::value::{self, KeyValue};

use super::scope::DirectiveScope;

/// `accept-proxy`: the networks of `set_real_ip_from` if nginx takes the client's address from the PROXY protocol
/// header. Otherwise all networks.
pub fn accept_proxy(scope: &DirectiveScope<'_>) -> String {
    let believed = scope.all_of(&["real_ip_header", "set_real_ip_from"]);
    believed.iter().for_each(|one| one.mark_converted());
    let by_header = scope.get("real_ip_header").is_some_and(|one| one.word(0) == "proxy_protocol");
    let mut networks: Vec<&str> =
        scope.all("set_real_ip_from").iter().map(|one| one.word(0)).collect();
    networks.retain(|network| by_header && !network.starts_with("unix"));
    if networks.is_empty() {
        networks = vec!["0.0.0.0/0", "::/0"];
    }
    value::table(&[KeyValue::new("from", value::quote_all(&networks))])
}
