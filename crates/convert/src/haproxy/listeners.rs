//! The listeners of a proxy together: what one of them needs of another.

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

/// Writes the versions of HTTP that listeners of one service speak.
pub fn write_versions(service: &mut TomlTable, binds: &[&BindLine]) {
    if let Some(offer) = binds.iter().find_map(|bind| bind.http2) {
        service.set("http2", value::quote(offer), binds[0].source);
    }
    if let Some(quic) = binds.iter().find(|bind| bind.quic) {
        service.set("http3", value::quote("on"), quic.source);
    }
}
