//! The listeners of a proxy together: what one of them needs of another, and which of them one service has.

use crate::document::TomlTable;
use crate::notes::ConversionNotes;
use crate::value;

use super::bind::{BindLine, FileBases, read};
use super::lex::ConfigLine;

/// Reads all `bind` lines of a proxy. HTTP/3 is spoken beside TLS over TCP alone.
pub fn read_all(
    lines: &[ConfigLine],
    bases: &FileBases,
    notes: &mut ConversionNotes,
) -> Vec<BindLine> {
    let mut binds: Vec<BindLine> =
        lines.iter().filter_map(|line| read(line, bases, notes)).collect();
    let beside: Vec<String> = binds
        .iter()
        .filter(|bind| bind.tls && !bind.quic)
        .flat_map(|bind| bind.listen.clone())
        .collect();
    binds.retain(|bind| {
        let stays = !bind.quic || bind.listen.iter().all(|one| beside.contains(one));
        if !stays && let Some(line) = lines.iter().find(|line| line.source == bind.source) {
            let reason = "HTTP/3 is spoken beside TLS over TCP at the same address and port";
            let instead = "`http3 = \"on\"` in a service with `tls`";
            notes.left_out(line.source, &line.text(), reason, instead);
        }
        stays
    });
    binds
}

/// Listeners that one service has, since nothing but their addresses differs.
pub struct ListenerGroup<'a> {
    pub tls: bool,
    pub binds: Vec<&'a BindLine>,
}

/// The listeners of a proxy by services, those without TLS and without a header first.
pub fn group_alike(binds: &[BindLine]) -> Vec<ListenerGroup<'_>> {
    let mut groups: Vec<ListenerGroup<'_>> = Vec::new();
    let mut sorted: Vec<&BindLine> = binds.iter().filter(|bind| !bind.quic).collect();
    sorted.sort_by_key(|bind| (bind.header, bind.tls));
    for bind in sorted {
        match groups.iter_mut().find(|group| is_alike(group.binds[0], bind)) {
            Some(group) => group.binds.push(bind),
            None => groups.push(ListenerGroup { tls: bind.tls, binds: vec![bind] }),
        }
    }
    for quic in binds.iter().filter(|bind| bind.quic) {
        let shares = |bind: &&BindLine| bind.listen.iter().any(|one| quic.listen.contains(one));
        if let Some(group) = groups.iter_mut().find(|group| group.binds.iter().any(shares)) {
            group.binds.push(quic);
        }
    }
    groups
}

fn is_alike(one: &BindLine, other: &BindLine) -> bool {
    one.tls == other.tls
        && one.header == other.header
        && one.certificates == other.certificates
        && one.client == other.client
        && one.strict_names == other.strict_names
        && one.minimum == other.minimum
        && one.http2 == other.http2
        && one.socket == other.socket
}

/// Writes the versions of HTTP that listeners of one service speak.
pub fn write_versions(service: &mut TomlTable, binds: &[&BindLine]) {
    if let Some(offer) = binds.iter().find_map(|bind| bind.http2) {
        service.set("http2", value::quote(offer), binds[0].source);
    }
    if let Some(quic) = binds.iter().find(|bind| bind.quic) {
        service.set("http3", value::quote("on"), quic.source);
    }
}
