//! `docs/SUMMARY.md`, the list of the site's pages: it names every page below `docs/` once, its pages link to no page that
//! it lacks, an anchor in a link names a heading of the page that the link leads to, and pictures have a text.
//!
//! `site/build` makes the site. That a link's file exists is checked in [`crate::links`].

use std::collections::{HashMap, HashSet};

use crate::links::{PageLink, links_of, resolve};
use crate::tree::{RuleBreach, SourceFile, SourceTree};

/// The list of pages.
pub const SUMMARY: &str = "docs/SUMMARY.md";

/// Pages that are missing in the list or named twice, links to pages outside it, anchors that name no heading, and
/// pictures without a text.
pub fn offences(tree: &SourceTree) -> Vec<RuleBreach> {
    let Some(summary) = tree.file(SUMMARY) else {
        return vec![RuleBreach::new(SUMMARY, 0, "the list of the site's pages is missing")];
    };
    let mut out = Vec::new();
    let mut pages: HashSet<String> = HashSet::new();
    for link in links_of(&summary.text) {
        let path = resolve(SUMMARY, link.path);
        if !pages.insert(path.clone()) {
            let text = format!("`{path}` is named twice");
            out.push(RuleBreach::new(SUMMARY, link.line, text));
        }
    }
    for file in pages_below_docs(tree).filter(|file| !pages.contains(&file.path)) {
        let text = format!("`{SUMMARY}` does not name this page: add it in its part");
        out.push(RuleBreach::new(&file.path, 0, text));
    }
    let headings: HashMap<&str, HashSet<String>> = pages
        .iter()
        .filter_map(|path| tree.file(path))
        .map(|file| (file.path.as_str(), heading_anchors(&file.text)))
        .collect();
    for file in pages.iter().filter_map(|path| tree.file(path)) {
        for link in links_of(&file.text) {
            let trouble = describe_trouble(tree, &file.path, &link, &headings);
            out.extend(trouble.map(|text| RuleBreach::new(&file.path, link.line, text)));
        }
        for (at, _) in file.text.lines().enumerate().filter(|(_, line)| line.contains("![](")) {
            let text = "this picture has no text for readers who do not see it";
            out.push(RuleBreach::new(&file.path, at + 1, text));
        }
    }
    out
}

fn pages_below_docs(tree: &SourceTree) -> impl Iterator<Item = &SourceFile> {
    let page = |file: &&SourceFile| file.path.starts_with("docs/") && file.path.ends_with(".md");
    tree.files.iter().filter(page).filter(|file| file.path != SUMMARY)
}

fn describe_trouble(
    tree: &SourceTree,
    page: &str,
    link: &PageLink<'_>,
    headings: &HashMap<&str, HashSet<String>>,
) -> Option<String> {
    let path = if link.path.is_empty() { page.to_owned() } else { resolve(page, link.path) };
    let readme = format!("{path}/README.md");
    let path = if tree.file(&readme).is_some() { readme } else { path };
    if !path.ends_with(".md") || tree.file(&path).is_none() {
        return None;
    }
    let Some(anchors) = headings.get(path.as_str()) else {
        return Some(format!("`{path}` is linked to, and `{SUMMARY}` does not name it"));
    };
    let anchor = link.anchor?;
    (!anchors.contains(anchor)).then(|| format!("`{path}` has no heading `#{anchor}`"))
}

/// The anchors of a page's headings, as GitHub and mdBook make them.
pub fn heading_anchors(page: &str) -> HashSet<String> {
    let mut out = HashSet::new();
    let mut is_code = false;
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        }
        let level = line.bytes().take_while(|byte| *byte == b'#').count();
        let Some(heading) = line[level..].strip_prefix(' ').filter(|_| level > 0 && !is_code)
        else {
            continue;
        };
        let anchor = anchor_of(heading.trim());
        let numbered = (1..).map(|n| format!("{anchor}-{n}"));
        let free = std::iter::once(anchor.clone()).chain(numbered).find(|it| !out.contains(it));
        out.extend(free);
    }
    out
}

/// The anchor of a heading, as GitHub and mdBook make it.
pub fn anchor_of(heading: &str) -> String {
    let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    let text = heading_text(heading);
    text.chars()
        .filter(kept)
        .map(|c| if c == ' ' { '-' } else { c })
        .collect::<String>()
        .to_lowercase()
}

/// A heading as it is read: of a link its text alone.
fn heading_text(heading: &str) -> String {
    let mut out = String::new();
    let mut rest = heading;
    while let Some((before, after)) = rest.split_once("](") {
        out.push_str(before);
        rest = after.split_once(')').map_or("", |(_, after)| after);
    }
    out + rest
}
