//! Keywords of `server` lines that are not carried over, each with its consequence.

use crate::notes::ConversionNotes;
use crate::source::SourcePlace;

/// Keywords with a value that are reported here.
pub const VALUED: [&str; 46] = [
    "id",
    "init-addr",
    "init-state",
    "resolve-net",
    "resolve-opts",
    "downinter",
    "maxqueue",
    "pool-max-conn",
    "pool-purge-delay",
    "pool-low-conn",
    "pool-conn-name",
    "max-reuse",
    "idle-ping",
    "minconn",
    "error-limit",
    "observe",
    "on-error",
    "on-marked-up",
    "log-proto",
    "log-bufsize",
    "ciphers",
    "ciphersuites",
    "curves",
    "sigalgs",
    "client-sigalgs",
    "npn",
    "ssl-max-ver",
    "hash-key",
    "check-alpn",
    "check-proto",
    "check-pool-conn-name",
    "healthcheck",
    "proxy-v2-options",
    "set-proxy-v2-tlv-fmt",
    "track",
    "redir",
    "source",
    "addr",
    "usesrc",
    "interface",
    "shard",
    "ws",
    "socks4",
    "namespace",
    "tcp-md5sig",
    "guid",
];
/// Keywords with a value that concern HAProxy itself.
const INTERNAL: [&str; 4] = ["cc", "quic-cc-algo", "ktls", "tcp-ut"];
/// Keywords without a value that concern HAProxy itself.
const ALONE: [&str; 7] = [
    "no-tfo",
    "strict-maxconn",
    "check-reuse-pool",
    "no-check-reuse-pool",
    "no-check-sni-auto",
    "no-renegotiate",
    "non-stick",
];

/// Whether a value follows the keyword.
pub fn has_value(word: &str) -> bool {
    let name = word.split('(').next().unwrap_or(word);
    VALUED.contains(&name) || INTERNAL.contains(&name)
}

/// Whether requests go elsewhere than to the server's address: such a server gets none.
pub fn leads_elsewhere(word: &str) -> bool {
    ["redir", "socks4"].contains(&word)
}

/// Reports a keyword that is not carried over. `text`: the whole line.
pub fn note_keyword(word: &str, source: SourcePlace, text: &str, notes: &mut ConversionNotes) {
    match word.split('(').next().unwrap_or(word) {
        "observe" | "on-error" | "error-limit" => {
            let reason = "failed connections put a server out in any case, and observed answers for as long as its checks would";
            notes.changed(source, text, reason, "`eject`");
        }
        "check-send-proxy" | "no-check-send-proxy" => {
            let reason = "a check begins with a header where it goes to the server's own port";
            notes.changed(source, text, reason, "");
        }
        "minconn" | "maxqueue" => {
            let reason = format!("a server has no `{word}`");
            notes.left_out(source, text, &reason, "`connections` and `limit.queue`");
        }
        "ciphers" | "ciphersuites" | "curves" | "sigalgs" | "client-sigalgs" | "ssl-max-ver"
        | "ssl-reuse" | "no-ssl-reuse" | "tls-tickets" | "ktls" | "force-tlsv12" | "no-tlsv13"
        | "no-tls-tickets" | "renegotiate" | "npn" => {
            let reason =
                format!("`{word}`: versions, ciphers and tickets are those of the TLS library");
            notes.changed(source, text, &reason, "`tls.minimum` of the pool");
        }
        "no-verifyhost" => {
            let reason = "the name in a server's certificate is verified where the certificate is";
            notes.changed(source, text, reason, "`tls.name` of the pool");
        }
        "sni-auto" | "no-sni-auto" | "check-sni-auto" => {
            let reason = "the name that is asked for is the server's own";
            notes.changed(source, text, reason, "`tls = { name = … }`");
        }
        "check-alpn" | "check-proto" | "hash-key" | "stick" | "tfo" | "tcp-ut" | "ws" => {
            let reason = format!("`{word}` of a server has no effect here");
            notes.changed(source, text, &reason, "");
        }
        "no-sslv3" | "no-tlsv10" | "no-tlsv11" => {
            notes.not_needed(source, text, "these versions of TLS are never spoken");
        }
        "force-sslv3" | "force-tlsv10" | "force-tlsv11" => {
            let reason = "TLS before version 1.2 is not spoken: a server that speaks nothing newer is not reached";
            notes.left_out(source, text, reason, "a newer TLS at the server");
        }
        "allow-0rtt" => {
            let reason = "no request is taken from early data of TLS";
            notes.changed(source, text, reason, "");
        }
        "init-state" => {
            let reason = "a server that is checked takes work when a check has succeeded, or while no other is up";
            notes.changed(source, text, reason, "`initial` of the pool");
        }
        "proxy-v2-options" | "set-proxy-v2-tlv-fmt" => {
            let reason = "the header names the client's addresses alone: the server does not learn of its TLS or certificate";
            notes.left_out(source, text, reason, "fields of requests with `tls.client.headers`");
        }
        known if note_way(known, source, text, notes) => {}
        known if has_value(known) || ALONE.contains(&known) => {
            let reason = format!("`{word}` concerns HAProxy itself, or how it keeps connections");
            notes.not_needed(source, text, &reason);
        }
        other => {
            let reason = format!("`{other}` of a server is not known");
            notes.left_out(source, text, &reason, "");
        }
    }
}

/// Reports a keyword about the way to the server and its state. Returns false for any other keyword.
fn note_way(word: &str, source: SourcePlace, text: &str, notes: &mut ConversionNotes) -> bool {
    match word {
        "source" | "usesrc" | "interface" | "namespace" => {
            let reason = format!("`{word}`: the server sees the address that the kernel chooses");
            notes.left_out(source, text, &reason, "`source` or `socket` of a pool of its own");
        }
        "addr" => {
            let reason = "the server is checked at its own address";
            notes.left_out(source, text, reason, "`probe.port`, or `probe.program`");
        }
        "track" => {
            let reason = "a server is not checked through another one: it counts as up";
            notes.left_out(source, text, reason, "`probe` of the server");
        }
        "redir" => {
            let reason = "clients are not sent to the server: it gets no requests";
            notes.left_out(source, text, reason, "a rule with `redirect`");
        }
        "on-marked-up" => {
            let reason = "connections to backups stay open when the server is up again";
            notes.left_out(source, text, reason, "");
        }
        "socks4" => {
            let reason = "no proxy leads to a server: it gets no requests";
            notes.left_out(source, text, reason, "the server's own address");
        }
        "check-via-socks4" | "shard" | "healthcheck" | "tcp-md5sig" => {
            let reason = format!("a server has no `{word}`");
            notes.left_out(source, text, &reason, "");
        }
        _ => return false,
    }
    true
}
