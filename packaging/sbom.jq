# From `cargo metadata`: the crates that reach the program, with their checksums by Cargo.lock, and who needs whom.
(.packages | map({key: .id, value: .}) | from_entries) as $packages
| (.resolve.nodes | map({key: .id, value: [
    .deps[] | select(any(.dep_kinds[]; .kind == null)) | .pkg
]}) | from_entries) as $needs
| ($packages | to_entries[] | select(.value.name == "steelyard") | .key) as $root
| (
    {seen: {($root): true}, new: [$root]}
    | until(.new | length == 0;
        .seen as $seen
        | ([.new[] | $needs[.][]] | unique | map(select($seen[.] | not))) as $more
        | .seen += ($more | map({key: ., value: true}) | from_entries)
        | .new = $more)
    | .seen | keys
) as $reached
| def purl: "pkg:cargo/\(.name)@\(.version)";
{
    crates: [
        $reached[] | $packages[.] | select(.name != "steelyard") | {
            name, version, purl: purl,
            license: (.license // "NOASSERTION" | gsub("/"; " OR ") | gsub(" +"; " ")),
            folder: (.manifest_path | sub("/Cargo.toml$"; "")),
            download: (
                if .source == null then "NOASSERTION"
                else "https://static.crates.io/crates/\(.name)/\(.name)-\(.version).crate"
                end
            ),
            checksum: $checksums[0]["\(.name) \(.version)"]
        }
    ] | sort_by(.name, .version),
    edges: [
        $reached[] as $from
        | {
            from: (if $from == $root then "steelyard" else $packages[$from] | purl end),
            to: [$needs[$from][] | $packages[.] | purl] | unique
        }
    ] | sort_by(.from)
}
