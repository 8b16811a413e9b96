//! `compression` as `compress` of a service.

use crate::document::TomlTable;
use crate::notes::ConversionNotes;
use crate::value::{self, KeyValue};

use super::pools::BackendPools;
use super::settings::ProxySettings;

/// Writes the compression of the frontend, or of its backends if all of them have compression.
pub fn write(
    service: &mut TomlTable,
    settings: &ProxySettings,
    used: &[String],
    pools: &BackendPools,
    notes: &mut ConversionNotes,
) {
    let backends = || used.iter().filter_map(|name| pools.settings(name));
    let on = |one: &&ProxySettings| one.single.contains_key("compression algo");
    let all = !used.is_empty() && backends().all(|one| on(&one));
    let from = std::iter::once(settings).chain(backends()).find(on);
    let Some(from) = from.filter(|_| settings.http) else { return };
    let Some(line) = from.single.get("compression algo") else { return };
    let instead = "`compress = true` in the service";
    if !on(&settings) && !all {
        let reason = "a service compresses, not a pool, and only some of its pools did";
        return notes.left_out(line.source, &line.text(), reason, instead);
    }
    if !line.has_word("gzip") {
        let reason = "answers are compressed with gzip, brotli or zstd";
        return notes.left_out(line.source, &line.text(), reason, instead);
    }
    let mut pairs = vec![KeyValue::new("codings", value::quote("gzip"))];
    let types = from.single.get("compression type").map(|types| value::quote_all(types.rest(2)));
    pairs.extend(types.map(|types| KeyValue::new("types", types)));
    service.set("compress", value::table(&pairs), line.source);
    let types = from.single.get("compression type").map(|types| types.source);
    service.add_sources("compress", &types.into_iter().collect::<Vec<_>>());
    let reason =
        "answers of less than 1 KiB are left as they are, and media types that are packed already";
    notes.changed(line.source, &line.text(), reason, "`compress.min`, `compress.types`");
}
