//! Files larger than a part of the reader: read in parts, and read as a whole, they mean the same.

use std::fmt::Write as _;

use model::config::{explain, load};

/// A valid file of this many pools, larger than one part of the reader from about 2,000 on.
fn large_file(pools: usize) -> String {
    let mut text = String::from(
        "# generated\n[global]\nworkers = 2\n\n[service.web]\nlisten = \":80\"\nforward = \"http\"\npool = \"p0\"\n",
    );
    for at in 0..pools {
        let to = pools - 1 - at;
        writeln!(
            text,
            "\n[[service.web.rule]]\nwhen = {{ host = \"h{at}.example.com\" }}\npool = \"p{to}\""
        )
        .unwrap();
    }
    // Not in the order of their names.
    for at in (0..pools).rev() {
        writeln!(
            text,
            "\n[pool.p{at}]\nprobe = {{ http = \"/health\" }}\nservers = [\n  \"10.0.{}.{}:80\",\n  {{ address = \
             \"10.1.{}.{}:80\", weight = 3 }},\n]",
            at / 250, at % 250 + 1, at / 250, at % 250 + 1
        )
        .unwrap();
    }
    text
}

/// The same file with a mark in a comment that the reader in parts leaves alone.
fn as_a_whole(text: &str) -> String {
    format!("{text}# '''\n")
}

#[test]
fn a_large_file_means_the_same_in_parts() {
    let text = large_file(3_500);
    assert!(text.len() > 512 * 1_024, "{} bytes", text.len());
    let parts = load(&text, "x").unwrap();
    let whole = load(&as_a_whole(&text), "x").unwrap();
    assert_eq!(explain(&parts), explain(&whole));
    assert_eq!(format!("{:?}", parts.config), format!("{:?}", whole.config));
    assert_eq!(parts.warnings, whole.warnings);
}

#[test]
fn mistakes_of_a_large_file_are_the_same_in_parts() {
    let good = large_file(1_500);
    assert!(good.len() > 256 * 1_024, "{} bytes", good.len());
    for (place, instead) in [
        ("weight = 3", "weight = \"many\""),
        ("[pool.p7]", "[pool.p8]"),
        ("[pool.p7]", "[pool.\"p8\"]"),
        ("[pool.p7]", "[global]"),
        ("[pool.p7]", "[pol.p7]"),
        ("[pool.p7]", "[pool.p7"),
        ("[pool.p7]", "[[pool.p7]]"),
        ("[pool.p7]", "[pool]\nx = 1\n[pool.p7]"),
        ("[pool.p7]", "[service.web.rule]\n[pool.p7]"),
        ("[pool.p7]", "pool.p7.x = 3\n[pool.p7]"),
        ("# generated", "pool = { p7 = { servers = [] } }"),
        ("[pool.p7]", "[[pool.p9.servers]]\naddress = \"10.9.9.9:80\"\n\n[pool.p7]"),
        ("[pool.p7]", "[pool.p7] # again\n[ pool.p8 ]"),
        ("# generated", "x = [\n[pool.p1],\n]"),
        ("\"10.0.0.9:80\",", "\"10.0.0.9:80\""),
        ("pool = \"p0\"", "pool = \"nobody\""),
    ] {
        let bad = good.replacen(place, instead, 1);
        assert_ne!(bad, good, "{place}");
        let parts = load(&bad, "x").map(|checked| explain(&checked));
        let whole = load(&as_a_whole(&bad), "x").map(|checked| explain(&checked));
        assert_eq!(format!("{parts:?}"), format!("{whole:?}"), "{instead}");
    }
}
