//! The rules about the site of the documentation, each with its bad example: its list of pages, and the terms that its
//! search must find.
//!
//! The site itself is built and searched by `tests/prove site`.

use std::collections::BTreeMap;

use serde_json::Value;
use tests::site_pages::{self, SUMMARY};
use tests::tree::{SourceTree, top};

use super::{finds, holds};

/// Bytes of a picture below `docs/images/` at most.
const PICTURE_BYTES: u64 = 150 * 1024;
/// Terms that the table of the search has at least.
const TERMS: usize = 60;

#[test]
fn the_site_names_every_page_once_and_its_links_lead_to_headings() {
    holds(site_pages::offences);
}

#[test]
fn a_page_that_the_site_lacks_and_an_anchor_without_a_heading_are_found() {
    let page = "# A `b` and C/D\n\n## Twice\n\n## Twice\n\n```\n# no heading\n```\n[x](../e.md) [y](#a-b-and-cd) [z](#twice-1)\n";
    let summary = "[A](a.md)\n- [E](../e.md)\n";
    let good = [("docs/a.md", page), (SUMMARY, summary), ("e.md", "")];
    finds(
        site_pages::offences,
        &[(SUMMARY, summary), good[0], good[2], ("docs/f.md", "")],
        "does not name this page",
        &good,
    );
    finds(
        site_pages::offences,
        &[(SUMMARY, "[A](a.md)\n"), good[0], good[2]],
        "does not name it",
        &good,
    );
    let twice = [summary, "[A](a.md)\n"].concat();
    finds(site_pages::offences, &[(SUMMARY, &twice), good[0], good[2]], "named twice", &good);
    let anchor = page.replace("#twice-1", "#no-heading");
    finds(
        site_pages::offences,
        &[(SUMMARY, summary), ("docs/a.md", &anchor), good[2]],
        "has no heading",
        &good,
    );
    let picture = [page, "![](a.svg)\n"].concat();
    let pictured = page.replace("## Twice\n", "![what it shows](a.svg)\n## Twice\n");
    let good = [("docs/a.md", pictured.as_str()), good[1], good[2]];
    finds(site_pages::offences, &[good[1], ("docs/a.md", &picture), good[2]], "has no text", &good);
    finds(site_pages::offences, &[], "is missing", &good);
}

#[test]
fn the_terms_of_the_search_lead_to_pages_of_the_site() {
    let text = std::fs::read_to_string(top().join("site/test/terms.json")).unwrap();
    let terms: BTreeMap<String, String> = serde_json::from_str(&text).unwrap();
    assert!(terms.len() >= TERMS, "{} terms", terms.len());
    let tree = SourceTree::read_repository().unwrap();
    let summary = &tree.file(SUMMARY).unwrap().text;
    for (term, page) in terms {
        let source = page.replace(".html", ".md").replace("index.md", "README.md");
        assert!(summary.contains(&format!("]({source})")), "{term}: no page {page}");
    }
}

#[test]
fn pictures_are_small() {
    let folder = std::fs::read_dir(top().join("docs/images")).unwrap();
    let mut seen = 0;
    for file in folder.map(|file| file.unwrap()) {
        let bytes = file.metadata().unwrap().len();
        assert!(bytes <= PICTURE_BYTES, "{}: {bytes} bytes", file.path().display());
        seen += 1;
    }
    assert!(seen > 0, "there is no picture");
}

#[test]
fn packages_that_look_at_the_site_are_named_with_their_digests_and_come_from_the_public_registry() {
    let text = std::fs::read_to_string(top().join("site/package-lock.json")).unwrap();
    let lock: Value = serde_json::from_str(&text).unwrap();
    let packages = lock["packages"].as_object().unwrap();
    for (name, package) in packages.iter().filter(|(name, _)| !name.is_empty()) {
        let from = package["resolved"].as_str().unwrap_or_default();
        assert!(from.starts_with("https://registry.npmjs.org/"), "{name}: {from}");
        let digest = package["integrity"].as_str().unwrap_or_default();
        assert!(digest.starts_with("sha512-"), "{name}: {digest}");
    }
    assert!(packages.len() > 2);
}
